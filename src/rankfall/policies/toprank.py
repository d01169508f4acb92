"""TopRank: sort by noisy comparisons, whatever the click model."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray, number, whole
from rankfall.errors import FeedbackError, ProblemError
from rankfall.kernels import preferences
from rankfall.policies.base import BasePolicy, Size, as_shown
from rankfall.policies.kinds import Kind
from rankfall.policies.ranking import Ranking, generator

C = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))
"""The constant of the confidence bound, about 3.34."""

Blocks: TypeAlias = tuple[tuple[int, ...], ...]


class TopRank(BasePolicy):
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
    items : how many there are, or a catalog of them.
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

    def __init__(self, items: Size, *, steps: int = 10_000, delta: float | None = None) -> None:
        super().__init__(items)
        steps = whole("steps", steps, ProblemError, low=1)
        self.delta = 1.0 / steps if delta is None else number("delta", delta, ProblemError, low=0.0, high=1.0)
        if not self.delta > 0:
            raise ProblemError("delta must be above 0: at 0 no two items are ever told apart")
        self._floor = math.log(C / self.delta)
        shape = (self._n_items, self._n_items)
        self.wins: IntArray = np.zeros(shape, dtype=np.int64)
        self.better: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._above: BoolArray = np.zeros(shape, dtype=np.bool_)  # the transitive closure of ``better``
        self._won: BoolArray = np.zeros(shape, dtype=np.bool_)  # scratch
        # Lists refer to it, so it is replaced, never changed. Floats, because random numbers are added to it.
        self._level: FloatArray = np.zeros(self._n_items)

    def __repr__(self) -> str:
        return f"TopRank({self._n_items} items in {int(self._level.max()) + 1} blocks, delta={self.delta:g})"

    @property
    def level(self) -> IntArray:
        """The block each item is in, from 0."""
        return self._level.astype(np.int64)

    @property
    def blocks(self) -> Blocks:
        """The partition P_t1, P_t2, ...: rows, ascending in each block."""
        count = int(self._level.max()) + 1
        return tuple(tuple(np.flatnonzero(self._level == d).tolist()) for d in range(count))

    def arrays(self) -> dict[str, IntArray | BoolArray]:
        """What it has learned, by name."""
        return {"wins": self.wins, "better": self.better, "level": self.level}

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:
        """The first ``k`` items, block by block, each block in random order (lines 1 and 2)."""
        order = self._level + generator(rng).random(self._n_items)  # sorted uniform numbers: a uniformly random order
        if len(rows) == self._n_items:
            return as_shown(order.argsort()[:k].copy(), self._level)
        level = np.full(self._n_items, -1.0)
        level[rows] = self._level[rows]
        return as_shown(rows[order[rows].argsort()[:k]], level)

    def _learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Compare what was clicked with the rest of its block (lines 3 to 5)."""
        level = ranking.note
        if not isinstance(level, np.ndarray) or level.shape != self._level.shape:
            raise self._not_ours(ranking)
        if not clicks:
            return
        clicked = ranking.items[clicks]
        decided = preferences.compare(level, clicked, self.wins, self._floor, self._above, self._won)
        if decided < 0:
            raise FeedbackError(f"rows {clicked.tolist()} were clicked, and not all of them are in the list's blocks")
        if decided:
            changed = self._level.copy()
            preferences.relate(self._won, self.better, self._above, changed)
            self._level = changed


KINDS: tuple[Kind, ...] = (
    Kind(
        "TopRank",
        summary="sorts by clicks on shuffled blocks, under nearly any click model",
        paper="Lattimore, Kveton, Li, Szepesvari: TopRank: A Practical Algorithm for Online Stochastic Ranking, "
        "NeurIPS 2018, Algorithm 1",
        build=TopRank,
        needs=frozenset({"steps"}),
    ),
)
