"""TopRank: sort by noisy comparisons, whatever the click model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, IntArray
from rankfall.errors import FeedbackError, ProblemError
from rankfall.kernels import toprank
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, count, real

C = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))
"""The constant of the confidence bound, about 3.34."""

Blocks: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TopRankSettings(PolicySettings):
    """Settings of :class:`TopRank`."""

    steps: int = count(10_000)
    delta: float | None = real(None, low=0.0, high=1.0)

    def check(self) -> None:
        """Delta is above 0."""
        if self.delta == 0:
            raise ProblemError("delta must be above 0: at 0 no two items are ever told apart")


class TopRank(Policy):
    """Keeps items it cannot tell apart in one block, shows blocks in random order, and splits them by clicks.

    Lattimore, Kveton, Li, Szepesvari: TopRank: A Practical Algorithm for Online Stochastic Ranking, NeurIPS 2018,
    Algorithm 1. In their symbols, at step t, with the relation G_1 = {} and C_ti = 1 if item i was clicked, else 0:

    1. d = 0; while items are left: d += 1; P_td = those left that are worse than none of those left:
       {i : (i, j) not in G_t for every j left}.
    2. Show P_t1 in uniformly random order, below it P_t2, and so on; the user sees the first K.
    3. U_tij = C_ti - C_tj if i and j are in the same block, else 0.
    4. S_tij = sum of U_sij and N_tij = sum of |U_sij| over s <= t.
    5. G_t+1 = G_t and all (j, i) with S_tij >= sqrt(2 N_tij log(c / delta * sqrt(N_tij))) and N_tij > 0.

    (j, i) in G says that j is worse than i. c = 4 sqrt(2 / pi) / erf(sqrt(2)), delta = 1 / n for n steps. Items below
    position K are not seen, and count as not clicked: which items of a block are seen is random, so this is fair.

    It holds for every click model in which swapping a better item upwards never loses clicks, with the cascade, the
    dependent click and the position-based model among them.

    Where this form differs: a list remembers the blocks it was made of (``ranking.note``), so that feedback may come
    late. Late feedback can speak for i over j when j already stands above i; it is counted, and the pair is added
    unless the opposite follows from G. In order this never happens: i and j are then in one block, hence unrelated,
    and G has no cycle. Items that could not be shown (``candidates``, ``exclude``) are compared with none.

    Parameters
    ----------
    catalog : the items, or how many there are.
    steps : the number of steps planned, n; gives ``delta`` if that is not given.
    delta : how likely a wrong order may be, for each pair.

    Attributes
    ----------
    wins : (items, items) how often i was clicked and j, in the same block, was not: S = wins - wins', N = wins + wins'.
    better : (items, items) the relation: whether (j, i) is in G.
    level : (items) the block each item is in, from 0.

    >>> policy = TopRank(3, steps=100)
    >>> policy.blocks
    ((0, 1, 2),)
    >>> for _ in range(30):  # a user who clicks item 1, wherever it stands
    ...     ranking = policy.rank(3)
    ...     policy.update(ranking, ranking.items.tolist().index(1))
    >>> policy.blocks
    ((1,), (0, 2))
    """

    Settings = TopRankSettings
    summary = "sorts by clicks on shuffled blocks, under nearly any click model"
    paper = (
        "Lattimore, Kveton, Li, Szepesvari: TopRank: A Practical Algorithm for Online Stochastic Ranking, "
        "NeurIPS 2018, Algorithm 1"
    )
    randomised = True
    why_not_served = "it compares items of blocks it shuffled itself, from one set of items"
    why_not_fixed = "a comparison is fair only if the order within a block is random"

    settings: TopRankSettings

    def prepare(self) -> None:
        """The constant in the bound."""
        given = self.settings.delta
        self.delta = 1.0 / self.settings.steps if given is None else given
        self._floor = math.log(C / self.delta)

    def begin(self) -> None:
        """One block of all items. Lists refer to ``level``, so it is replaced, never changed."""
        shape = (self.n_items, self.n_items)
        self.arrays = {
            "wins": np.zeros(shape, dtype=np.int64),
            "better": np.zeros(shape, dtype=np.bool_),
            "level": np.zeros(self.n_items),  # floats, because random numbers are added to it
        }
        self._above: BoolArray = np.zeros(shape, dtype=np.bool_)  # the transitive closure of ``better``
        self._won: BoolArray = np.zeros(shape, dtype=np.bool_)  # scratch

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        super().restore(arrays)
        above = self.better.copy()
        for middle in range(self.n_items):
            above |= above[:, middle, None] & above[middle]
        self._above = above

    @property
    def wins(self) -> IntArray:
        """How often i was clicked and j, in the same block, was not: (items, items)."""
        return self.arrays["wins"]

    @property
    def better(self) -> BoolArray:
        """The relation: whether (j, i) is in G; (items, items)."""
        return self.arrays["better"]

    def __repr__(self) -> str:
        return f"TopRank({self.n_items} items in {len(self.blocks)} blocks, delta={self.delta:g})"

    @property
    def level(self) -> IntArray:
        """The block each item is in, from 0."""
        return self.arrays["level"].astype(np.int64)

    @property
    def blocks(self) -> Blocks:
        """The partition P_t1, P_t2, ...: rows, ascending in each block."""
        level = self.level
        return tuple(tuple(np.flatnonzero(level == d).tolist()) for d in range(int(level.max()) + 1))

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """The first ``k`` items, block by block, each block in random order (lines 1 and 2)."""
        known, rows = self.arrays["level"], request.rows
        order = known + rng.random(self.n_items)  # sorted uniform numbers: a uniformly random order
        if request.everything:
            return Ranking.trusted(order.argsort()[: request.k].copy(), known, self.catalog)
        level = np.full(self.n_items, -1.0)
        level[rows] = known[rows]
        return Ranking.trusted(rows[order[rows].argsort()[: request.k]], level, self.catalog)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Compare what was clicked with the rest of its block (lines 3 to 5)."""
        level = ranking.note
        if not isinstance(level, np.ndarray) or level.shape != self.arrays["level"].shape:
            raise self.foreign(ranking)
        if not clicks:
            return
        clicked = ranking.items[clicks]
        decided = toprank.compare(level, clicked, self.wins, self._floor, self._above, self._won)
        if decided < 0:
            raise FeedbackError(f"rows {clicked.tolist()} were clicked, and not all of them are in the list's blocks")
        if decided:
            self._relate()

    def _relate(self) -> None:
        """Add the pairs that were decided to the relation, and find the blocks anew."""
        changed = self.arrays["level"].copy()
        toprank.relate(self._won, self.better, self._above, changed)
        self.arrays["level"] = changed

    def compiled_state(self, k: int, rng: np.random.Generator) -> toprank.TopRankSteps:  # noqa: ARG002
        """Shuffle and compare, until pairs are decided."""
        keys, clicked = np.empty(k), np.empty(k, dtype=np.int64)
        return toprank.TopRankSteps(self.arrays["level"], self.wins, self._floor, self._above, self._won, keys, clicked)

    def numbers_drawn(self, k: int) -> int:  # noqa: ARG002
        """One for each item."""
        return self.n_items

    def after_compiled(self, lists: int) -> None:
        """Relate the pairs that were decided."""
        super().after_compiled(lists)
        if self._won.any():
            self._relate()
