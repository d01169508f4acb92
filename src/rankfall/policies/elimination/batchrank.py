"""BatchRank: learns the best list under cascade, position-based and other click models by eliminating and splitting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, frozen
from rankfall.kernels import batchrank
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, count, one_of, real


@dataclass(frozen=True)
class BatchRankSettings(PolicySettings):
    """Settings of :class:`BatchRank`."""

    k: int = count(10)
    steps: int = count(10_000, low=2)
    samples: float = real(16.0, low=1e-9)
    form: Literal["paper", "code"] = one_of("paper", "paper", "code")


class BatchRank(Policy):
    """Eliminates and splits batches of items, for cascade, position-based and other click models.

    Zoghi, Tunys, Ghavamzadeh, Kveton et al.: Online Learning to Rank in Stochastic Click Models, ICML 2017.

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

    The authors' public code (``RealMergeRankAlgorithm`` of PyClickLambdas, which ran the paper's experiments) does
    otherwise, and loses far less (docs/field.md). ``form="code"`` is like it:

    - Stages are shorter: ``n_l = ceil(4^(l + 1) log(L T))``, with no ``samples``.
    - Every item shown counts. Counts go on from one stage to the next, and begin anew only when the batch changes.
    - KL bounds have ``log(L T)`` in place of ``log T + 3 log log T``.
    - UpdateBatch first eliminates, then splits at every k at which it can, and a batch that lost items begins at stage
      0.

    That code also shows any items of a batch, and not those least shown; this form does not.

    Where this form differs:

    - A batch with as many items as positions and nothing to split goes on to its next stage, too. (As we remember the
      paper's line it asks for more items than positions; taken literally such a batch would never be ordered.)
    - Feedback may come late. Each list notes the stage each item was shown in; feedback on a stage that is over is
      ignored, and which items were shown least is decided by the counts at the time the feedback comes. If clicks are
      reported sooner than lists without a click, those that are reported first count for more.
    - With ``candidates`` or ``exclude`` a batch shows what it may. Positions it cannot fill show other rows, in row
      order, and nothing is learned there. An item that may never be shown keeps the stage of its batch from ending.
    - With fewer positions than ``k`` the list is cut; with more it is filled up in row order, and nothing is learned
      there.

    Parameters
    ----------
    catalog : the items, or how many there are.
    k : positions to learn, the paper's K.
    steps : the horizon T.
    samples : the constant in ``n_l``; 16 in the paper.
    form : ``"paper"``, or ``"code"`` as above.

    >>> policy = BatchRank(6, k=2, steps=1000)
    >>> len(policy.rank(2))
    2
    >>> policy.batches
    (((0, 1), (0, 1, 2, 3, 4, 5)),)
    """

    Settings = BatchRankSettings
    summary = "eliminates and splits batches of items, for cascade, position-based and other click models"
    paper = "Zoghi et al.: Online Learning to Rank in Stochastic Click Models, ICML 2017"
    randomised = True
    why_not_served = "its stages compare items on lists it made itself, from one set of items"
    why_not_fixed = "its batches fill every position"

    settings: BatchRankSettings

    def prepare(self) -> None:
        """The budget of its confidence bounds."""
        self.k = min(self.settings.k, self.n_items)
        log = math.log(self.settings.steps)
        self._as_code = self.settings.form == "code"
        self.budget = log + 3.0 * max(math.log(log), 0.0)
        if self._as_code:
            self.budget = log + math.log(self.n_items)

    def begin(self) -> None:
        """One batch of all items on all positions.

        By item: ``batch_of``, ``shown`` and ``clicked`` in the present stage. By batch, from the top: its ``first`` and
        ``last`` position, its ``stage``, and the ``serial`` number of that stage; ``serials`` is the next one.
        """
        self.arrays = {
            **{name: np.zeros(self.n_items, dtype=np.int64) for name in ("batch_of", "shown", "clicked")},
            "first": np.array([0]),
            "last": np.array([self.k - 1]),
            "stage": np.array([0]),
            "serial": np.array([0]),
            "serials": np.array(1),
        }
        self._set_targets()

    def _set_targets(self) -> None:
        self._target = np.array([self.stage_length(stage) for stage in self.arrays["stage"].tolist()])

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        twin = self.fresh()
        n_batches = len(arrays["first"]) if "first" in arrays else 0
        for name in ("first", "last", "stage", "serial"):
            twin.arrays[name] = np.zeros(n_batches, dtype=np.int64)
        super(BatchRank, twin).restore(arrays)
        known = twin.arrays
        ends = np.append(known["first"][1:] - 1, self.k - 1)
        if not n_batches or known["first"][0] != 0 or (known["last"] != ends).any():
            raise ValueError(f"batches on positions {known['first']} to {known['last']} do not fill {self.k} positions")
        if known["batch_of"].max() >= n_batches or min(array.min() for array in known.values()) < -1:
            raise ValueError("items in batches that are not there, or counts below 0")
        self.arrays, self._n_updates = known, twin._n_updates
        self._set_targets()

    def __repr__(self) -> str:
        return f"BatchRank({self.n_items} items, k={self.k}, steps={self.settings.steps})"

    @property
    def batches(self) -> tuple[tuple[tuple[int, int], tuple[int, ...]], ...]:
        """For each batch, from the top: its first and last position, and its items."""
        return tuple(
            ((int(first), int(last)), tuple(np.flatnonzero(self.arrays["batch_of"] == b).tolist()))
            for b, (first, last) in enumerate(zip(self.arrays["first"], self.arrays["last"], strict=True))
        )

    def stage_length(self, stage: int) -> int:
        """How often each item is shown in a stage, ``n_l``; as the code has it, in all stages up to this one."""
        if self._as_code:
            return max(1, math.ceil(4.0 ** (stage + 1) * self.budget))
        return max(1, math.ceil(self.settings.samples * 4.0**stage * math.log(self.settings.steps)))

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """Show what every batch wants to explore, on its positions."""
        items, serials = np.empty(request.k, dtype=np.int64), np.empty(request.k, dtype=np.int64)
        coins = rng.random(self.n_items + self.k)
        known = self.arrays
        batchrank.display(
            known["first"],
            known["last"],
            known["serial"],
            known["batch_of"],
            known["shown"],
            request.allowed,
            coins,
            items,
            serials,
        )
        return Ranking.trusted(items, frozen(serials), self.catalog)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Count the clicks of stages that are still going on, and end those that have seen enough."""
        items, serials = ranking.items, ranking.note
        if not isinstance(serials, np.ndarray) or serials.shape != items.shape or serials.dtype != np.int64:
            raise self.foreign(ranking)
        clicked = np.zeros(len(items), dtype=bool)
        for position in clicks:
            clicked[position] = True
        known = self.arrays
        done = batchrank.collect(
            items,
            serials,
            clicked,
            known["serial"],
            self._target,
            known["batch_of"],
            known["shown"],
            known["clicked"],
            self._as_code,
        )
        if done >= 0:
            self._end_stages()

    def compiled_state(self, k: int, rng: np.random.Generator) -> batchrank.BatchRankSteps:  # noqa: ARG002
        """Display and collect, until a stage ends."""
        known = self.arrays
        return batchrank.BatchRankSteps(
            known["first"],
            known["last"],
            known["serial"],
            self._target,
            known["batch_of"],
            known["shown"],
            known["clicked"],
            self._as_code,
            np.ones(self.n_items, dtype=bool),
            np.empty(k, dtype=np.int64),
            np.empty(self.k, dtype=np.int64),
            np.empty(len(self._target), dtype=np.int64),
        )

    def numbers_drawn(self, k: int) -> int:  # noqa: ARG002
        """One for each item, and for each position it learns."""
        return self.n_items + self.k

    def after_compiled(self, lists: int) -> None:
        """End the stages that have seen enough."""
        super().after_compiled(lists)
        self._end_stages()

    def bounds(self, batch: int) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the items of a batch, from what was counted in its stage so far; each in [0, 1]."""
        rows = np.flatnonzero(self.arrays["batch_of"] == batch)
        shown = self.arrays["shown"][rows].astype(float)
        if not shown.all():
            return np.zeros(len(rows)), np.ones(len(rows))
        lower, upper = batchrank.bounds(self.arrays["clicked"][rows].astype(float), shown, self.budget)
        return lower, upper

    def _end_stages(self) -> None:
        """UpdateBatch for every batch whose stage has ended; from the last one up, as a split moves those below."""
        for b in range(len(self.arrays["first"]) - 1, -1, -1):
            rows = np.flatnonzero(self.arrays["batch_of"] == b)
            if self.arrays["shown"][rows].min() >= self._target[b]:
                self._end_stage(b, rows)

    def _end_stage(self, b: int, rows: IntArray) -> None:
        known = self.arrays
        lower, upper = self.bounds(b)
        order = np.argsort(-lower, kind="stable")
        length = int(known["last"][b] - known["first"][b]) + 1
        if self._as_code:
            self._end_stage_as_code(b, rows[order], lower[order], upper[order], length)
            return
        split = 0
        for s in range(1, length):
            if lower[order[s - 1]] > upper[order[s:]].max():
                split = s
        if split:
            self._split(b, int(known["first"][b]) + split, rows[order[split:]])
        else:
            known["batch_of"][rows[upper < lower[order[length - 1]]]] = -1
            known["stage"][b] += 1
            known["serial"][b] = known["serials"]
            known["serials"] += 1
        known["shown"][rows] = 0
        known["clicked"][rows] = 0
        self._set_targets()

    def _end_stage_as_code(self, b: int, rows: IntArray, lower: FloatArray, upper: FloatArray, length: int) -> None:
        """UpdateBatch of the authors' code, with the items of the batch in order of their lower bounds."""
        known = self.arrays
        stays = (np.arange(len(rows)) < length) | (upper >= lower[length - 1])
        known["batch_of"][rows[~stays]] = -1
        left, lower, upper = rows[stays], lower[stays], upper[stays]
        splits = [s for s in range(1, length) if lower[s - 1] > upper[s:].max()]
        first = int(known["first"][b])
        for s in reversed(splits):
            self._split(b, first + s, left[s:][known["batch_of"][left[s:]] == b])
        if splits or not stays.all():
            known["stage"][b] = 0
            known["shown"][rows] = 0
            known["clicked"][rows] = 0
        else:
            known["stage"][b] += 1
        known["serial"][b] = known["serials"]
        known["serials"] += 1
        self._set_targets()

    def _split(self, b: int, middle: int, lower_rows: IntArray) -> None:
        """Two batches instead of batch b: these rows form the lower one, from position ``middle`` on."""
        known = self.arrays
        known["batch_of"][known["batch_of"] > b] += 1
        known["batch_of"][lower_rows] = b + 1
        known["first"] = np.insert(known["first"], b + 1, middle)
        known["last"] = np.insert(known["last"], b, middle - 1)
        known["stage"][b] = 0
        known["stage"] = np.insert(known["stage"], b + 1, 0)
        known["serial"][b] = known["serials"]
        known["serial"] = np.insert(known["serial"], b + 1, known["serials"] + 1)
        known["serials"] += 2
