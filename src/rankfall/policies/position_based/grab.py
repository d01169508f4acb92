"""GRAB: compares the best list so far with its neighbours, under a position bias that is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rankfall.arrays import FloatArray, IntArray, fill
from rankfall.kernels import item_bounds
from rankfall.policies.position_based.policy import PositionPolicy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, count


@dataclass(frozen=True)
class GRABSettings(PolicySettings):
    """Settings of :class:`GRAB`."""

    k: int = count(10)
    steps: int = count(10_000, low=2)
    period: int | None = count(None)


class GRAB(PositionPolicy):
    """Learns which list is best, and how likely positions are examined, by trying lists next to the best one so far.

    Gauthier, Gaudel, Fromont, Lompo: Parametric Graph for Unimodal Ranking Bandit, ICML 2021. In their symbols, with
    ``mu_il = S_il / N_il`` the share of clicks on item i at position l (0 if it was never shown there)::

        for all t = 1, ..., T:
            the leader = the list a that maximises sum_l mu_{a_l, l}               (an assignment of items to positions)
            pi = the positions in decreasing order of mu_{a_l, l} of the leader: who looks where, as far as it is known
            neighbours = the leader with the items at pi_1 and pi_2 exchanged, or at pi_2 and pi_3, ..., or at pi_K-1
                         and pi_K; or with the item at pi_K replaced by one that is not in it       (L - 1 lists in all)
            if the leader has led a multiple of gamma times: show it
            else: show the leader or the neighbour with the largest sum_l b_{a_l, l}
            N_il += 1 and S_il += 1{clicked} for each item i shown, at its position l

        b_il = max{q in [mu_il, 1] : N_il D_KL(mu_il || q) <= log T},   1 if item i was never shown at position l

    Expected clicks have no local maximum among such neighbours if the positions are in the right order: a list that is
    not best has a neighbour that is better. So L - 1 lists have to be told apart from the leader, and not all there
    are, and neither the bias nor its order need be known: positions may be anywhere on a page.

    The algorithm is that of the authors' public code (``ranking_bandits``), with its log T (from memory, the paper has
    the logarithm of how often the leader has led). gamma is L here: once for the leader and once for each neighbour; it
    is 10 in the code's experiments on 10 items. Where ours differs: initialisation and ties, as said in
    :mod:`rankfall.policies.position_based`, without the code's random first leader; with ``candidates`` and ``exclude``
    the leader is the best list of what may be shown.

    Parameters
    ----------
    catalog : the items, or how many there are.
    k : positions to learn.
    steps : the horizon T.
    period : gamma; by default the number of items.

    >>> policy = GRAB(4, k=2, steps=100)
    >>> policy.update(policy.rank(2), [])
    >>> policy.rank(2)  # neither item was clicked: bounds of others are higher
    Ranking(1, 0)
    """

    Settings = GRABSettings
    summary = "tries lists next to the best one so far, where position bias is not known"
    paper = "Gauthier et al.: Parametric Graph for Unimodal Ranking Bandit, ICML 2021"
    why_not_fixed = "it compares lists that differ in one item or in the order of two"

    settings: GRABSettings

    def prepare(self) -> None:
        """The budget of the bounds, and how often the leader is shown."""
        self.k = min(self.settings.k, self.n_items)
        self.period = self.n_items if self.settings.period is None else self.settings.period
        self._budget = math.log(self.settings.steps)

    def begin(self) -> None:
        """Counts, and how often each list has led; bounds follow from the counts."""
        super().begin()
        self._led: dict[tuple[int, ...], int] = {}
        self._bounds: FloatArray = np.ones((self.n_items, self.k))

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:  # noqa: ARG002 - nothing is drawn
        """The leader, or its neighbour with the highest bounds."""
        rows = request.rows
        means = self._means(rows, min(self.k, request.k))
        leader = self._leader(rows, means)
        items = leader
        if self._led.get(tuple(leader.tolist()), 0) % self.period > 0:
            items = self._most_hopeful(leader, rows)
        if request.k > len(items):
            rest = rows[~np.isin(rows, items)]
            items = np.append(items, rest[: request.k - len(items)])
        return Ranking.trusted(items, tuple(leader.tolist()), self.catalog)

    def _means(self, rows: IntArray, k: int) -> FloatArray:
        shown, clicked = self.arrays["shown"][rows, :k], self.arrays["clicked"][rows, :k]
        means: FloatArray = np.divide(clicked, shown, out=np.zeros_like(shown), where=shown > 0)
        return means

    def _leader(self, rows: IntArray, means: FloatArray) -> IntArray:
        """The rows that maximise the sum of means, one for each position."""
        chosen, positions = linear_sum_assignment(means, maximize=True)
        leader = np.empty(means.shape[1], dtype=np.int64)
        leader[positions] = rows[chosen]
        return leader

    def _most_hopeful(self, leader: IntArray, rows: IntArray) -> IntArray:
        """Of the leader and its neighbours the one with the largest sum of bounds, the leader among equals."""
        places, bounds = np.arange(len(leader)), self._bounds
        seen = self._means(leader, len(leader))[places, places]
        order = np.argsort(-seen, kind="stable")
        own = bounds[leader, places]
        one, other = order[:-1], order[1:]
        gains = bounds[leader[one], other] + bounds[leader[other], one] - own[one] - own[other]
        last = order[-1]
        outside = rows[~np.isin(rows, leader)]
        gains = np.append(gains, bounds[outside, last] - own[last])
        best = leader.copy()
        if len(gains) and gains.max() > 0.0:
            at = int(gains.argmax())
            if at < len(one):
                best[[one[at], other[at]]] = leader[[other[at], one[at]]]
            else:
                best[last] = outside[at - len(one)]
        return best

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Count what was shown and clicked where, and that the list's leader has led once more."""
        leader = ranking.note
        if not isinstance(leader, tuple) or not 0 < len(leader) <= min(self.k, len(ranking)):
            raise self.foreign(ranking)
        super().learn(ranking, clicks)
        self._led[leader] = self._led.get(leader, 0) + 1
        rows = ranking.items[: self.k]
        self._bound(rows, np.arange(len(rows)))

    def _bound(self, rows: IntArray, positions: IntArray) -> None:
        """Bring the bounds of these items at these positions, which were shown there, up to date."""
        bounds = np.empty(len(rows))
        shown, clicked = self.arrays["shown"][rows, positions], self.arrays["clicked"][rows, positions]
        item_bounds.kl_bounds(shown, clicked, self._budget, bounds)
        self._bounds[rows, positions] = bounds

    # State: beside the counts, the lists that have led and how often.

    def state(self) -> dict[str, NDArray[Any]]:
        """Counts; ``leaders`` (n, k): lists that have led, shorter ones filled up with -1; ``led`` (n,): how often."""
        leaders = sorted(self._led)
        rows = np.full((len(leaders), self.k), -1, dtype=np.int64)
        for row, leader in zip(rows, leaders, strict=True):
            row[: len(leader)] = leader
        led = np.array([self._led[leader] for leader in leaders], dtype=np.int64)
        return {**super().state(), "leaders": rows, "led": led}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        given = dict(arrays)
        leaders, led = (given.pop(name, np.empty(0)) for name in ("leaders", "led"))
        if leaders.ndim != 2 or leaders.shape[1] != self.k or led.shape != leaders.shape[:1]:
            raise ValueError(f"leaders of shape {leaders.shape} with {len(led)} counts, for lists of {self.k}")
        if leaders.dtype != np.int64 or led.dtype != np.int64 or (leaders >= self.n_items).any():
            raise ValueError("leaders have items that are not there")
        own = super().state()
        if given.keys() != own.keys():
            raise ValueError(f"GRAB needs the arrays {', '.join(self.state())}; got {', '.join(arrays)}")
        for name, array in own.items():
            fill(array, name, given[name])
        self._n_updates = int(own.pop("n_updates"))
        self.arrays = own
        self._led = {tuple(row[row >= 0].tolist()): times for row, times in zip(leaders, led.tolist(), strict=True)}
        self._bounds = np.ones((self.n_items, self.k))
        self._bound(*np.nonzero(self.arrays["shown"]))
