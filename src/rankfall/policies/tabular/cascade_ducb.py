"""CascadeDUCB: UCB1 whose counts fade."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import IntArray, fill
from rankfall.errors import ProblemError
from rankfall.item_names import Id
from rankfall.kernels import item_bounds, tabular
from rankfall.policies.forgetting import Discount
from rankfall.policies.settings import PolicySettings, count, real
from rankfall.policies.tabular.counts import ItemCounts
from rankfall.policies.tabular.policy import Rng
from rankfall.policies.tabular.widths import WidthPolicy


@dataclass(frozen=True)
class CascadeDUCBSettings(PolicySettings):
    """Settings of :class:`CascadeDUCB`."""

    steps: int | None = count(None)
    discount: float | None = real(None, low=0.0, high=1.0)
    epsilon: float = real(0.5, low=0.0)

    def check(self) -> None:
        """The discount is given, or follows from the horizon; it lies between 0 and 1."""
        if self.discount is None and self.steps is None:
            raise ProblemError("CascadeDUCB needs steps, the horizon its paper sets discount by, or discount itself")
        if self.discount is not None and not 0.0 < self.discount < 1.0:
            raise ProblemError(f"discount must lie between 0 and 1, got {self.discount!r}; CascadeUCB1 forgets nothing")


class FadingCounts(ItemCounts):
    """Counts of which all count ``discount`` times what they did with every list; ``total`` (1) is the sum of lists."""

    meaning = "counts of first clicks that fade"

    def __init__(self, first: Mapping[Id, int], discount: float) -> None:
        super().__init__(first)
        self.discount = discount
        self.total = np.zeros(1)

    @property
    def weight(self) -> float:
        """The sum of lists."""
        return float(self.total[0])

    def learn(self, rows: IntArray, clicks: list[int]) -> None:
        """Fade, then count."""
        item_bounds.fade(self.discount, self.observed, self.clicked)
        self.total[0] = self.discount * self.weight + 1.0
        super().learn(rows, clicks)

    def more_arrays(self, order: IntArray) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """The sum of lists."""
        return {"weight": np.array(self.weight)}

    def restore_more(self, given: dict[str, NDArray[Any]], rows: IntArray) -> None:  # noqa: ARG002
        """Take it back."""
        weight = np.array(0.0)
        fill(weight, "weight", given.pop("weight", np.empty(0)))
        self.total[0] = weight


class CascadeDUCB(WidthPolicy):
    """Orders items by discounted UCB: follows users who change.

    Li, de Rijke: Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI
    2019, CascadeDUCB, after the discounted UCB of Garivier and Moulines (2011); with ``o_s(e)`` for "e was observed at
    step s" and ``r_s(e)`` for "and clicked"::

        for all t = 1, ..., n:
            for all items e:
                N_t(e) = sum_{s < t} gamma^(t - 1 - s) o_s(e)
                X_t(e) = sum_{s < t} gamma^(t - 1 - s) r_s(e) / N_t(e)
                c_t(e) = 2 sqrt(epsilon log(N_t) / N_t(e)),   N_t = (1 - gamma^(t - 1)) / (1 - gamma)
                U_t(e) = X_t(e) + c_t(e)
            A_t = the K items with the largest U_t(e), in decreasing order
            show A_t, observe the click; items down to the first click are observed

    With their ``gamma = 1 - 1 / (4 sqrt(n))`` and ``epsilon = 0.5``. The form of c_t and N_t was written down from
    memory of the paper and agrees with Garivier and Moulines, but for their ``N_t = sum_e N_t(e)``.

    Where ours differs: initialisation and ties, as said in :mod:`rankfall.policies.tabular`; sums are
    carried on from step to step (``N = gamma N + o``), which is the same number. Feedback counts from when
    it is learned, not from when its list was shown.

    Parameters
    ----------
    catalog : the items, or how many there are.
    steps : the horizon n, for the paper's discount.
    discount : gamma in (0, 1), if not the paper's.
    epsilon : exploration.

    >>> CascadeDUCB(4, steps=10_000).discount
    0.9975
    """

    Settings = CascadeDUCBSettings
    summary = "UCB1 that forgets by discounting"
    paper = "Li, de Rijke: Cascading Non-Stationary Bandits, IJCAI 2019"
    counts_kind = FadingCounts
    forgets = Discount

    settings: CascadeDUCBSettings
    _counts: FadingCounts

    @property
    def discount(self) -> float:
        """Gamma of the paper: the setting, or what follows from the horizon."""
        given, steps = self.settings.discount, self.settings.steps
        return 1.0 - 1.0 / (4.0 * math.sqrt(steps or 1)) if given is None else given

    def new_counts(self, first: Mapping[Id, int]) -> FadingCounts:
        """Counts of nothing, which fade by the discount."""
        return FadingCounts(first, self.discount)

    @property
    def budget(self) -> float:
        """What is under the root, over how often an item was observed."""
        return 4.0 * self.settings.epsilon * math.log(max(self._counts.weight, 1.0))

    def steps(self, counts: tabular.Counts, rng: Rng) -> tabular.FadingSteps:  # noqa: ARG002
        """Discounted bounds."""
        return tabular.FadingSteps(counts, self.settings.epsilon, self.discount, self._counts.total)
