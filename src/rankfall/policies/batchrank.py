"""BatchRank: learns the best list under cascade, position-based and other click models by eliminating and splitting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray, IntArray, frozen, number, whole
from rankfall.errors import ProblemError
from rankfall.kernels import batches
from rankfall.policies.base import BasePolicy, Size, as_shown
from rankfall.policies.kinds import Kind
from rankfall.policies.ranking import Ranking, generator


class BatchRank(BasePolicy):
    """Zoghi, Tunys, Ghavamzadeh, Kveton et al.: Online Learning to Rank in Stochastic Click Models, ICML 2017.

    A *batch* b has a run of positions ``I_b`` and items ``B_b``, at least as many as positions. It explores them in
    stages l = 0, 1, ...: in stage l each item is shown ``n_l = ceil(16 D_l^-2 log T)`` times, ``D_l = 2^-l``. At first
    there is one batch, of all positions and all items.

    - **DisplayBatch.** The ``len(b)`` items of the batch least shown in this stage, equals at random, are put on the
      positions of the batch in random order.
    - **CollectClicks.** For each item shown whose count ``n(d)`` equals ``n_min``, the lowest in its batch: ``n(d) +=
      1``, and ``c(d) += 1`` if it was clicked. So counts in a batch differ by one at most.
    - **UpdateBatch**, once every item has been shown ``n_l`` times: KL bounds ``L(d) <= c(d) / n_l <= U(d)``, the
      outermost q with ``n_l KL(c(d) / n_l, q) <= log T + 3 log log T``. Let ``d_1, d_2, ...`` be in order of L, highest
      first, and s the highest k < len(b) with ``L(d_k) > max U(d)`` over the items after ``d_k``.
      If there is one, the batch *splits* in two that start at stage 0: ``d_1 .. d_s`` on its first s positions, and all
      the others on the rest. If not, items with ``U(d) < L(d_len(b))`` are *eliminated*, and stage l + 1 begins.

    Where this form differs:

    - A batch with as many items as positions and nothing to split goes on to its next stage, too. (As we remember the
      paper's line it asks for more items than positions; taken literally such a batch would never be ordered.)
    - Answers may come late. Each list notes the stage each item was shown in; what comes for a stage that is over is
      ignored, and the least shown are told by the counts at the time the answer comes. If clicks come sooner than the
      news that there was none, those who answer first count for more.
    - With ``candidates`` or ``exclude`` a batch shows what it may. Positions it cannot fill show other rows, in row
      order, and nothing is learned there. An item that may never be shown keeps the stage of its batch from ending.
    - With fewer positions than ``k`` the list is cut; with more it is filled up in row order, and nothing is learned
      there.

    Parameters
    ----------
    items : how many items there are, or a catalog of them.
    k : positions to learn, the paper's K.
    steps : the horizon T.
    samples : the constant in ``n_l``; 16 in the paper.

    >>> policy = BatchRank(6, k=2, steps=1000)
    >>> len(policy.rank(2))
    2
    >>> policy.batches
    (((0, 1), (0, 1, 2, 3, 4, 5)),)
    """

    def __init__(self, items: Size, *, k: int = 10, steps: int = 10_000, samples: float = 16.0) -> None:
        super().__init__(items)
        self.k = min(whole("k", k, ProblemError, low=1), self._n_items)
        self.steps = whole("steps", steps, ProblemError, low=2)
        self.samples = number("samples", samples, ProblemError, low=1e-9)
        log = math.log(self.steps)
        self.budget = log + 3.0 * max(math.log(log), 0.0)
        self._batch_of: IntArray = np.zeros(self._n_items, dtype=np.int64)
        self._shown: IntArray = np.zeros(self._n_items, dtype=np.int64)
        self._clicked: IntArray = np.zeros(self._n_items, dtype=np.int64)
        self._first, self._last = np.array([0]), np.array([self.k - 1])
        self._stage, self._serial = np.array([0]), np.array([0])
        self._target = np.array([self.stage_length(0)])
        self._serials = 1

    def __repr__(self) -> str:
        return f"BatchRank({self.n_items}, k={self.k}, steps={self.steps})"

    @property
    def batches(self) -> tuple[tuple[tuple[int, int], tuple[int, ...]], ...]:
        """For each batch, from the top: its first and last position, and its items."""
        return tuple(
            ((int(first), int(last)), tuple(np.flatnonzero(self._batch_of == b).tolist()))
            for b, (first, last) in enumerate(zip(self._first, self._last, strict=True))
        )

    def stage_length(self, stage: int) -> int:
        """How often each item is shown in a stage: ``n_l``."""
        return max(1, math.ceil(self.samples * 4.0**stage * math.log(self.steps)))

    def arrays(self) -> dict[str, Any]:
        """Everything that was learned: by item its batch and counts; by batch its positions, stage and its serial."""
        return {
            "batch_of": self._batch_of.copy(),
            "shown": self._shown.copy(),
            "clicked": self._clicked.copy(),
            "first": self._first.copy(),
            "last": self._last.copy(),
            "stage": self._stage.copy(),
            "serial": self._serial.copy(),
            "serials": self._serials,
        }

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:
        """Show what every batch wants to explore, on its positions."""
        items, serials = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
        coins = generator(rng).random(self._n_items + self.k)
        known = self._first, self._last, self._serial, self._batch_of, self._shown
        batches.display(*known, self._mask(rows), coins, items, serials)
        return as_shown(items, frozen(serials))

    def _learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Count the clicks of stages that are still going on, and end those that have seen enough."""
        items, serials = ranking.items, ranking.note
        if not isinstance(serials, np.ndarray) or serials.shape != items.shape or serials.dtype != np.int64:
            raise self._not_ours(ranking)
        clicked = np.zeros(len(items), dtype=bool)
        for position in clicks:
            clicked[position] = True
        done = batches.collect(
            items, serials, clicked, self._serial, self._target, self._batch_of, self._shown, self._clicked
        )
        if done >= 0:
            self._end_stages()

    def bounds(self, batch: int) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the items of a batch, from what was counted in its stage so far; each in [0, 1]."""
        rows = np.flatnonzero(self._batch_of == batch)
        shown = self._shown[rows].astype(float)
        if not shown.all():
            return np.zeros(len(rows)), np.ones(len(rows))
        lower, upper = batches.bounds(self._clicked[rows].astype(float), shown, self.budget)
        return lower, upper

    def _end_stages(self) -> None:
        """UpdateBatch for every batch whose stage has ended; from the last one up, as a split moves those below."""
        for b in range(len(self._first) - 1, -1, -1):
            rows = np.flatnonzero(self._batch_of == b)
            if self._shown[rows].min() >= self._target[b]:
                self._end_stage(b, rows)

    def _end_stage(self, b: int, rows: IntArray) -> None:
        lower, upper = self.bounds(b)
        order = np.argsort(-lower, kind="stable")
        length = int(self._last[b] - self._first[b]) + 1
        split = 0
        for s in range(1, length):
            if lower[order[s - 1]] > upper[order[s:]].max():
                split = s
        if split:
            self._batch_of[self._batch_of > b] += 1
            self._batch_of[rows[order[split:]]] = b + 1
            middle = int(self._first[b]) + split
            self._first = np.insert(self._first, b + 1, middle)
            self._last = np.insert(self._last, b, middle - 1)
            self._stage[b] = 0
            self._stage = np.insert(self._stage, b + 1, 0)
            self._serial[b] = self._serials
            self._serial = np.insert(self._serial, b + 1, self._serials + 1)
            self._serials += 2
        else:
            self._batch_of[rows[upper < lower[order[length - 1]]]] = -1
            self._stage[b] += 1
            self._serial[b] = self._serials
            self._serials += 1
        self._shown[rows] = 0
        self._clicked[rows] = 0
        self._target = np.array([self.stage_length(stage) for stage in self._stage.tolist()])


KINDS: tuple[Kind, ...] = (
    Kind(
        "BatchRank",
        summary="eliminates and splits batches of items, for cascade, position-based and other click models",
        paper="Zoghi et al.: Online Learning to Rank in Stochastic Click Models, ICML 2017",
        build=BatchRank,
        needs=frozenset({"k", "steps"}),
    ),
)
