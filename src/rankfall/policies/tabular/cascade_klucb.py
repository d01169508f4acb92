"""CascadeKLUCB: KL-UCB bounds of each item's attraction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.kernels import item_bounds, tabular
from rankfall.kernels.kl_order import Intervals
from rankfall.policies.settings import PolicySettings, real
from rankfall.policies.tabular.policy import Rng, Table, TabularPolicy

NONE: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class CascadeKLUCBSettings(PolicySettings):
    """Settings of :class:`CascadeKLUCB`."""

    exploration: float = real(3.0, low=0.0)


class CascadeKLUCB(TabularPolicy):
    """Orders items by KL-UCB bounds of their attraction.

    Kveton, Szepesvári, Wen, Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015, Algorithm 1
    with the bound of CascadeKL-UCB; all lines as in :class:`CascadeUCB1` but for::

            for all items e:  U_t(e) = max{q in [w(e), 1] : T(e) D_KL(w(e) || q) <= log t + 3 log log t}

    D_KL is the divergence of two coins, ``p log(p / q) + (1 - p) log((1 - p) / (1 - q))``: U_t(e) is the largest
    attraction under which what was seen of the item would not yet be too surprising. It is much closer to w(e) than
    UCB1's bound where attraction is small. It is found by Newton's method to the last bits of a double.

    The public code of BatchRank's authors (PyClickLambdas), who compare with it, has ``log t`` alone and counts items
    down to the last click: that is :class:`DCMKLUCB` with ``exploration=0``.

    Where ours differs: initialisation and ties, as said in :mod:`rankfall.policies.tabular`; and
    ``log log t``, which is negative or undefined for t < e, is 0 there.

    Parameters
    ----------
    catalog : the items, or how many there are.
    exploration : the factor 3 of ``log log t``; in practice 0 often does better.

    >>> policy = CascadeKLUCB(4)
    >>> policy.update(policy.rank(2), 1)
    >>> policy.rank(3)
    Ranking(2, 3, 1)
    """

    Settings = CascadeKLUCBSettings
    summary = "attraction by item, KL-UCB bounds"
    paper = "Kveton et al.: Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015"

    settings: CascadeKLUCBSettings

    def upper_bounds(self) -> FloatArray:
        """U_t(e) of every item; infinite if it was never observed."""
        out = np.empty(self.n_items)
        item_bounds.kl_bounds(self.observed, self.clicked, kl_budget(self.n_updates, self.settings.exploration), out)
        return out

    def place(self, table: Table, rows: IntArray, items: IntArray, scores: FloatArray, rng: Rng) -> None:  # noqa: ARG002
        """The highest KL-UCB bounds."""
        budget = kl_budget(self._counts.n_updates, self.settings.exploration)
        item_bounds.kl_list(rows, *table, budget, items, scores)

    def judge(self, table: Table, rng: Rng) -> FloatArray:  # noqa: ARG002
        """The bound of every item."""
        bounds = np.empty(self.n_items)
        item_bounds.kl_bounds(*table, kl_budget(self._counts.n_updates, self.settings.exploration), bounds)
        return bounds

    def steps(self, counts: tabular.Counts, rng: Rng) -> tabular.KLSteps:  # noqa: ARG002
        """KL-UCB bounds, from the top."""
        return kl_steps(counts, self.settings.exploration, to_last=False)


def kl_budget(n_updates: int, exploration: float) -> float:
    """``log t + exploration * log log t`` at ``t = n_updates + 1``."""
    log = math.log(n_updates + 1)
    return log + exploration * math.log(max(log, 1.0))


def kl_steps(counts: tabular.Counts, exploration: float, *, to_last: bool, order: IntArray = NONE) -> tabular.KLSteps:
    """Compiled steps with KL-UCB bounds; ``order`` has the positions in which a list is filled, if not from the top."""
    k, n_items = len(counts.scores), len(counts.rows)
    observed, clicked, budget, low, high, reach = np.full((6, n_items), -1.0)
    solved, bound = np.zeros(n_items, dtype=np.int64), np.empty(n_items)
    intervals = Intervals(observed, clicked, budget, low, high, reach, solved, bound)
    return tabular.KLSteps(counts, exploration, to_last, order, np.empty(k, dtype=np.int64), intervals)
