"""RecurRank: ranking with features under any click model in which position and item part ways."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import whole
from rankfall.errors import FeedbackError, ProblemError
from rankfall.kernels import recurrank
from rankfall.policies.elimination.blocks import Block, Drops, Instance, split
from rankfall.policies.elimination.g_optimal import g_optimal, in_span
from rankfall.policies.plain_features import plain_features
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, count, flag, one_of, real


@dataclass(frozen=True)
class RecurRankSettings(PolicySettings):
    """Settings of :class:`RecurRank`."""

    k: int = count(10)
    steps: int = count(100_000)
    delta: float | None = real(None, low=1e-300, high=1.0)
    effort: float = real(0.5, low=1e-9)
    coverage: bool = flag(False)
    tolerance: float = real(0.01, low=1e-6, high=1.0)
    drops: Drops = one_of("below_last", "below_last", "below_gap")


class RecurRank(Policy):
    """Splits positions and items into ever finer blocks; each explores at its first position alone.

    Li, Lattimore, Szepesvari: Online Learning to Rank with Features, ICML 2019: their Algorithm 1, but for step 5, in
    which the authors' public code differs from it and is followed by default. A click happens with probability
    ``chi * <theta, a>``, where ``chi``, the examination of the position, may depend on the items above but
    not on ``a``: so in the cascade, the position-based and the document-based model. Nothing of ``chi`` is known or
    estimated: within a block all estimates come from one position, and so share one ``chi``.

    An instance with phase l, items A (the best known first) and positions k, ..., k + m - 1 does this:

    1. A G-optimal design pi over A (:func:`rankfall.policies.elimination.g_optimal.g_optimal`).
    2. ``Delta_l = 2 ** -l``, ``delta_l = delta / (K l (l + 1))``, and
       ``T(a) = ceil(d pi(a) / (2 Delta_l**2) * log(|A| / delta_l))``.
    3. Shows each item a ``T(a)`` times at position k, and the first of the other items of A, in order, at the
       positions k + 1, ..., k + m - 1.
    4. ``theta_hat``: least squares on the items shown at position k in this phase, and whether they were clicked.
    5. Orders A by ``<theta_hat, a>``; drops the items that are ``2 Delta_l`` or more below the m-th
       (``drops="below_last"``, as the authors' code does), or only those below two neighbours, not above the m-th, that
       are ``2 Delta_l`` or more apart (``drops="below_gap"``, as Algorithm 1 does).
    6. Splits between two neighbours among the first m that are ``2 Delta_l`` or more apart; every part goes on as an
       instance of phase l + 1, with its items and as many of the positions.

    It begins with one instance: l = 1, all items in row order, all K positions.

    Where this form differs:

    - ``rank`` changes nothing, so what is shown next cannot follow a schedule kept by ``rank``. The item at a block's
      first position is drawn from ``rng`` among those that have not had ``T(a)`` times *feedback* yet, in proportion to
      what they lack: with prompt feedback, the paper's schedule in random order. With late feedback some items may be
      shown, and counted, more than ``T(a)`` times; that makes estimates better, not worse. Lists without feedback do
      not count.
    - Feedback on a block whose phase is over is ignored: its examination may differ from that of the blocks it was
      split into. Of one list, some blocks may be over and others not.
    - In ``T(a)``, ``d`` is the largest ``a' V(pi)^-1 a`` of the design, within ``tolerance`` of the rank of A's
      features. It is d when they span all dimensions, and makes the widths right when the design is not exact.
    - An instance with one item, or whose items all have the same features of length zero, has nothing to learn and
      rests.
    - With ``candidates`` or ``exclude`` blocks are short of items; the list closes up, then goes on with other items
      in row order. What a block shows is then counted as long as all blocks above it could fill their positions.

    Constants: the ``1/2`` in ``T(a)`` (``effort``), ``delta = 1 / sqrt(steps)``, ``delta_l`` and ``2 Delta_l`` are what
    we remember of Algorithm 1; its text was not at hand, and we are not sure of the ``1/2``. That step 5 of Algorithm 1
    looks at neighbours only is from memory, too; the items of a close field then all stay, which costs much regret
    (docs/field.md). The authors' public code (shuaili8/OnlineLearningToRank) tries
    ``d / Delta_l**2 * log(2 |A| / delta_l)`` lists a phase (``effort=1`` comes near), the items of an approximate
    design equally often, keeps the feedback of earlier phases, drops items as in 5, and never splits: the sign in its
    test for a split is reversed.

    Parameters
    ----------
    catalog : its relevance features are used; also its coverage if ``coverage``.
    k : positions, the paper's K. Shorter lists show the first of them, longer ones go on in row order.
    steps : horizon, for the default of ``delta``.
    delta : probability of failure; None for ``1 / sqrt(steps)``.
    effort : the factor before ``d / Delta_l**2``.
    tolerance : how far from optimal a design may be.
    drops : which items step 5 drops.

    >>> from rankfall import Catalog
    >>> policy = RecurRank(Catalog(relevance=[[1.0, 0.0], [0.6, 0.4], [0.0, 1.0]]), k=2, steps=1000)
    >>> policy.rank(2, rng=np.random.default_rng(1))
    Ranking(2, 0)
    >>> policy.blocks
    (Block(first=0, positions=2, phase=1, items=array([0, 1, 2])),)

    It learns at the first position of a block, and splits the block once it knows enough:

    >>> rng = np.random.default_rng(0)
    >>> for _ in range(1000):
    ...     shown = policy.rank(2, rng=rng)
    ...     policy.update(shown, 0 if shown.items[0] == 0 else None)
    >>> policy.blocks[0].items
    array([0])
    """

    Settings = RecurRankSettings
    summary = "features under general click models: blocks that explore by optimal design"
    paper = "Li, Lattimore, Szepesvari: Online Learning to Rank with Features, ICML 2019, and its public code"
    needs = frozenset({"relevance"})
    randomised = True
    why_not_served = "its blocks explore on lists it made itself, from one set of items"
    why_not_fixed = "its blocks fill every position"

    settings: RecurRankSettings

    def prepare(self) -> None:
        """The features, and the probability of failure."""
        self._features = plain_features("RecurRank", self.catalog, coverage=self.settings.coverage)
        self.k = whole("k", self.settings.k, ProblemError, low=1, high=self.n_items)
        given = self.settings.delta
        self.delta = 1 / math.sqrt(self.settings.steps) if given is None else given

    def begin(self) -> None:
        """One block of all items on all positions."""
        self._serial = 0
        self._running: dict[int, Instance] = {}
        self._order: list[Instance] = []
        self._start([Block(0, self.k, 1, np.arange(self.n_items))])

    def __repr__(self) -> str:
        return f"RecurRank({self.n_items} items, k={self.k}, {len(self._order)} blocks)"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks from the top: their positions follow each other, and no item is in two."""
        return tuple(instance.block for instance in self._order)

    def state(self) -> dict[str, NDArray[Any]]:
        """Its blocks and their trials.

        ``blocks``: first, positions, phase and number of items of each; ``items`` of all blocks, one after the other;
        ``serials``: the number of each block, and ``serial`` the last one given; ``designs``: how many items each block
        wants to try; ``trials``: of each of these row, T(a), times tried, clicks.
        """
        blocks = [(b.first, b.positions, b.phase, len(b.items)) for b in self.blocks]
        trials = [(a, n, i.tried[a], i.clicks[a]) for i in self._order for a, n in i.wanted.items()]
        return {
            "n_updates": np.array(self._n_updates),
            "blocks": np.array(blocks, dtype=np.int64),
            "items": np.concatenate([b.items for b in self.blocks]),
            "serials": np.array([i.serial for i in self._order], dtype=np.int64),
            "serial": np.array(self._serial),
            "designs": np.array([len(i.wanted) for i in self._order], dtype=np.int64),
            "trials": np.array(trials, dtype=np.int64).reshape(len(trials), 4),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        if arrays.keys() != self.state().keys():
            raise ValueError(f"RecurRank needs the arrays {', '.join(self.state())}; got {', '.join(arrays)}")
        if any(array.dtype != np.int64 for array in arrays.values()):
            raise ValueError("the arrays of RecurRank are whole numbers")
        blocks, items, trials = arrays["blocks"].reshape(-1, 4), arrays["items"], arrays["trials"].reshape(-1, 4)
        ends, designs = np.cumsum(blocks[:, 3]), np.cumsum(arrays["designs"])
        starts = np.cumsum(blocks[:, 1]) - blocks[:, 1]
        if (
            not len(blocks)
            or (blocks[:, 0] != starts).any()
            or blocks[:, 1].sum() != self.k
            or (blocks[:, 1] < 1).any()
            or (blocks[:, 3] < blocks[:, 1]).any()
            or ends[-1] != len(items)
            or len(designs) != len(blocks)
            or designs[-1] != len(trials)
            or len(arrays["serials"]) != len(blocks)
            or not set(items.tolist()) <= set(range(self.n_items))
        ):
            raise ValueError(f"the blocks of RecurRank do not fill {self.k} positions with items that are there")
        order = []
        for number, (first, positions, phase, size) in enumerate(blocks.tolist()):
            block = Block(first, positions, phase, items[ends[number] - size : ends[number]].copy())
            begin = designs[number] - arrays["designs"][number]
            rows = trials[begin : designs[number]].tolist()
            instance = Instance(int(arrays["serials"][number]), block, {a: wanted for a, wanted, _, _ in rows})
            instance.resume({a: tried for a, _, tried, _ in rows}, {a: clicks for a, _, _, clicks in rows})
            order.append(instance)
        self._order = order
        self._running = {instance.serial: instance for instance in order}
        self._serial, self._n_updates = int(arrays["serial"]), int(arrays["n_updates"])

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """Every block in turn: an item it wants to try, then its best ones."""
        k, rows = request.k, request.rows
        barred = None if request.everything else frozenset(range(self.n_items)).difference(rows.tolist())
        items: list[int] = []
        counted: list[int] = []
        for instance in self._order:
            if len(items) >= k:
                break
            block = instance.block
            tried = instance.draw(rng, barred)
            if tried is not None:
                if len(items) == block.first:
                    counted.append(instance.serial)
                items.append(tried)
            wanted = block.positions - (tried is not None)
            known = instance.shown if barred is None else (a for a in block.items.tolist() if a not in barred)
            for a in known:
                if not wanted:
                    break
                if a != tried:
                    items.append(a)
                    wanted -= 1
        if len(items) < k:
            shown = set(items)
            items += itertools.islice((a for a in rows.tolist() if a not in shown), k - len(items))
        return Ranking.trusted(np.array(items[:k], dtype=np.int64), tuple(counted), self.catalog)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Count what was tried at the first position of each block that is still in the same phase."""
        for instance, item, position in self._told(ranking):
            instance.record(item, position in clicks)
            if not instance.left:
                self._finish(instance)

    def compiled_state(self, k: int, rng: np.random.Generator) -> recurrank.RecurRankSteps:  # noqa: ARG002
        """Its blocks laid out one after the other, until one has tried enough."""
        known = self._order
        designs = [[(a, i.missing.get(a, 0), i.tried[a], i.clicks[a]) for a in i.wanted] for i in known]
        trials = np.array([row for design in designs for row in design], dtype=np.int64).reshape(-1, 4)
        self._laid_out = recurrank.RecurRankSteps(
            np.array([i.block.first for i in known]),
            np.array([i.block.positions for i in known]),
            np.array([i.left for i in known]),
            np.cumsum([0, *map(len, designs)]),
            trials,
            np.cumsum([0, *(len(i.shown) for i in known)]),
            np.array([a for i in known for a in i.shown]),
            np.full(len(known), -1),
            np.empty(self.n_items, dtype=np.bool_),
            rng,
        )
        return self._laid_out

    def after_compiled(self, lists: int) -> None:
        """Take the results back, and finish blocks that have tried enough."""
        super().after_compiled(lists)
        state, known = self._laid_out, list(self._order)
        for number, instance in enumerate(known):
            rows = state.trials[state.designs[number] : state.designs[number + 1]].tolist()
            instance.resume({a: tried for a, _, tried, _ in rows}, {a: clicks for a, _, _, clicks in rows})
        for instance, drawn in zip(known, state.drawn.tolist(), strict=True):
            if drawn >= 0 and not instance.left:
                self._finish(instance)

    def _told(self, ranking: Ranking) -> list[tuple[Instance, int, int]]:
        """The instances this ranking tells something, with what was tried where."""
        if not isinstance(ranking.note, tuple | list):
            raise self.foreign(ranking)
        if not all(type(serial) is int for serial in ranking.note) or len(set(ranking.note)) < len(ranking.note):
            raise FeedbackError(f"the ranking's note must be numbers of blocks, each once; got {ranking.note!r}")
        told = []
        for serial in ranking.note:
            instance = self._running.get(serial)
            if instance is None:  # its phase is over
                whole("a block in the ranking's note", serial, FeedbackError, low=1, high=self._serial)
                continue
            position = instance.block.first
            item = int(ranking.items[position]) if position < len(ranking) else None
            if item not in instance.wanted:
                raise FeedbackError(f"position {position} shows row {item}, which block {serial} did not want to try")
            told.append((instance, item, position))
        return told

    def _finish(self, instance: Instance) -> None:
        """Steps 4 to 6."""
        items = instance.block.items
        inside = in_span(self._features[items])
        row_of = {a: row for row, a in enumerate(items.tolist())}
        rows = [row_of[a] for a in instance.wanted]
        tried = inside[rows]
        counts = np.array([instance.tried[a] for a in instance.wanted], dtype=np.float64)
        V = (tried * counts[:, None]).T @ tried
        S = tried.T @ np.array([instance.clicks[a] for a in instance.wanted], dtype=np.float64)
        estimates = inside @ np.linalg.solve(V, S)
        parts = split(instance.block, estimates, self.settings.drops)
        del self._running[instance.serial]
        self._order.remove(instance)
        self._start(parts)

    def _start(self, blocks: list[Block]) -> None:
        for block in blocks:
            self._serial += 1
            instance = Instance(self._serial, block, self._trials(block))
            self._running[self._serial] = instance
            self._order.append(instance)
        self._order.sort(key=lambda instance: instance.block.first)

    def _trials(self, block: Block) -> dict[int, int]:
        """Steps 1 and 2: ``T(a)`` of every item in the design."""
        if len(block.items) == 1:
            return {}
        design = g_optimal(self._features[block.items], self.settings.tolerance)
        log = math.log(len(block.items) * self.k * block.phase * (block.phase + 1) / self.delta)
        total = self.settings.effort * design.spread * 4.0**block.phase * log
        wanted = np.ceil(design.shares * total).astype(np.int64)
        return dict(zip(block.items[design.rows].tolist(), wanted.tolist(), strict=True))
