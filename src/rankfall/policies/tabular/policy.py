"""What tabular policies share: counts by item, and lists of those with the highest bounds or samples."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray
from rankfall.catalog import Catalog
from rankfall.errors import FeedbackError, ProblemError
from rankfall.item_names import Id
from rankfall.kernels import tabular
from rankfall.policies.clicks import Click, all_clicks
from rankfall.policies.explanation import Explanation, Weight
from rankfall.policies.forgetting import Discount, Forgetting, Window
from rankfall.policies.list_rules import NO_RULES
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.tabular.counts import ItemCounts

Table: TypeAlias = tuple[FloatArray, FloatArray]
"""How often each item of a catalog was observed and clicked."""

Rng: TypeAlias = np.random.Generator

MOST_TOLD = 50
"""Items that :meth:`TabularPolicy.learned` names: those observed most."""


class TabularPolicy(Policy):
    """Counts by item, and lists of the items with the highest bounds or samples.

    A policy says by :meth:`place` which of the rows make the list, and by ``counts_kind`` what clicks mean. What is
    known of an item goes by its id: it stays when the item leaves the catalog, and counts again when it comes back.
    """

    counts_kind: ClassVar[type[ItemCounts]] = ItemCounts
    forgets: ClassVar[type[Discount] | type[Window] | None] = None
    why_not_served = None
    why_not_ruled: ClassVar[str | None] = None
    why_not_rewarded = "it counts clicks, and its bounds hold for shares between 0 and 1"

    def prepare(self) -> None:
        """Have a row for each item of the catalog from the start."""
        self._row_of = self.catalog.row_of

    def begin(self) -> None:
        """Counts of nothing."""
        self._on(self._new_counts())

    def _new_counts(self) -> ItemCounts:
        return self.new_counts({} if self.compact else self._row_of)

    def new_counts(self, first: Mapping[Id, int]) -> ItemCounts:
        """Counts of nothing, with rows for these items."""
        return self.counts_kind(first)

    def _on(self, counts: ItemCounts) -> None:
        """Rank by these counts from now on, and learn into them."""
        self._counts = counts
        self._here: IntArray = np.empty(0, dtype=np.int64)  # the row of the catalog for each row of the counts, or -1

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items, {self.n_updates} updates)"

    @property
    def n_updates(self) -> int:
        """How many lists it has learned from."""
        return self._counts.n_updates

    @property
    def gamma(self) -> float:
        """Always 1: these policies explore by their own settings."""
        return 1.0

    @property
    def observed(self) -> FloatArray:
        """How often each item of the catalog was observed: a copy."""
        with self._counts.lock:
            return self._table()[0].copy()

    @property
    def clicked(self) -> FloatArray:
        """How often each item of the catalog was clicked: a copy."""
        with self._counts.lock:
            return self._table()[1].copy()

    def _table(self) -> Table:
        """How often each item of the catalog was observed and clicked: views or copies. Hold the lock."""
        counts, n_items = self._counts, self.n_items
        if counts.first is self._row_of:
            observed, clicked = counts.observed, counts.clicked
            return (observed, clicked) if len(observed) == n_items else (observed[:n_items], clicked[:n_items])
        if len(counts) > len(self._here):
            met = islice(counts.ids, len(self._here), None)
            self._here = np.append(self._here, [self._row_of.get(item, -1) for item in met]).astype(np.int64)
        there = np.flatnonzero(self._here >= 0)
        table = np.zeros((2, n_items))
        table[0, self._here[there]] = counts.observed[there]
        table[1, self._here[there]] = counts.clicked[there]
        return table[0], table[1]

    @abstractmethod
    def place(self, table: Table, rows: IntArray, items: IntArray, scores: FloatArray, rng: Rng) -> None:
        """Fill ``items`` with the best of ``rows``, equals in their order, and ``scores`` with what orders them."""

    def choose(self, request: Request, rng: Rng) -> Ranking:
        """The items with the highest bounds or samples; ties go to the lowest row."""
        items, scores = np.empty(request.k, dtype=np.int64), np.empty(request.k)
        kept = NO_RULES
        with self._counts.lock:
            table = observed, clicked = self._table()
            if request.rules is not None:
                bounds = self.judge(table, rng)
                items, kept = request.ruled(request.rules, bounds)
                scores = bounds[items]
            elif request.fixed:
                self._choose_around(request, table, items, scores, rng)
            else:
                self.place(table, request.rows, items, scores, rng)
            known = observed[items], clicked[items]
        return Ranking.trusted(items, known, self.catalog, scores, kept=kept)

    def judge(self, table: Table, rng: Rng) -> FloatArray:
        """What :meth:`place` orders by, of every item (n_items,)."""
        rows, scores, judged = np.empty(self.n_items, dtype=np.int64), np.empty(self.n_items), np.empty(self.n_items)
        self.place(table, np.arange(self.n_items), rows, scores, rng)
        judged[rows] = scores
        return judged

    def _choose_around(self, request: Request, table: Table, items: IntArray, scores: FloatArray, rng: Rng) -> None:
        """The best rows where the choice is free; a fixed row has the score it would have anywhere."""
        positions = sorted(request.fixed)
        held = np.zeros(request.k, dtype=bool)
        held[positions] = True
        for where, rows in (
            (np.flatnonzero(~held), request.rows),
            (np.array(positions), np.array([request.fixed[position] for position in positions])),
        ):
            best, bounds = np.empty(len(where), dtype=np.int64), np.empty(len(where))
            if len(where):
                self.place(table, rows, best, bounds, rng)
            items[where], scores[where] = best, bounds
        bound_of = dict(zip(items[held].tolist(), scores[held].tolist(), strict=True))
        for position, row in request.fixed.items():
            items[position], scores[position] = row, bound_of[row]

    # Learning.

    def refuse(self, ranking: Ranking) -> None:
        """Refuse rows that are not there, unless the ranking says by id what they were in an earlier catalog."""
        if ranking.catalog is self.catalog or not ranking.ids:
            super().refuse(ranking)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Count what was observed and clicked; the items may have left since."""
        counts = self._counts
        if ranking.catalog is self.catalog and counts.first is self._row_of:
            with counts.lock:
                counts.learn(ranking.items, clicks)
            return
        ids = ranking.ids or self._ids_of(ranking.items)
        if len(ids) != len(ranking):
            raise FeedbackError(f"the ranking has {len(ranking)} items and {len(ids)} ids")
        with counts.lock:
            counts.learn(counts.rows(ids), clicks)

    # Compiled steps.

    def compiled_state(self, k: int, rng: Rng) -> Any:
        """Its steps on the live counts, where the rows of the counts are those of the catalog."""
        if self._counts.first is not self._row_of:
            return None
        return self.steps(self._counts.steps(self._table(), k), rng)

    def steps(self, counts: tabular.Counts, rng: Rng) -> Any:  # noqa: ARG002
        """Its compiled steps on these counts; None, if it has none."""
        return None

    def after_compiled(self, lists: int) -> None:
        """Count the lists."""
        super().after_compiled(lists)
        self._counts.n_updates += lists

    def _ids_of(self, rows: IntArray) -> list[Id]:
        return [self.catalog.ids[row] for row in rows.tolist()]

    # State.

    def state(self) -> dict[str, NDArray[Any]]:
        """Counts by id; see :class:`rankfall.policies.tabular.counts.ItemCounts`."""
        with self._counts.lock:
            return self._counts.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        counts = self._new_counts()
        counts.restore(arrays)
        self._on(counts)

    def with_catalog(self, catalog: Catalog) -> Self:
        """A policy over a newer catalog that knows all this one has learned, also of items that are not in it."""
        return type(self)(catalog, self.settings).with_state(self.state())

    # Serving.

    @classmethod
    def learns(cls, feedback: str | None = None) -> str:  # noqa: ARG003 - it has its own
        """What its state means; policies that say the same can take over from each other."""
        return cls.counts_kind.meaning

    @classmethod
    def served_settings(cls, gamma: float, forgetting: Forgetting | None, feedback: str | None) -> dict[str, Any]:
        """How it forgets, where it does; it explores and counts clicks in its own way.

        >>> from rankfall import CascadeKLUCB
        >>> CascadeKLUCB.serve(Catalog(ids=["a"]), gamma=0.5)
        Traceback (most recent call last):
        rankfall.errors.ProblemError: CascadeKLUCB has no gamma; leave it at 1, got 0.5
        """
        name = cls.__name__
        if feedback is not None:
            raise ProblemError(f"{name} learns from {cls.learns()}; feedback {feedback!r} is for linear policies")
        if cls.forgets is None and forgetting is not None:
            raise ProblemError(f"{name} does not forget; CascadeDUCB takes a discount, CascadeSWUCB a window")
        if cls.forgets is not None and not isinstance(forgetting, cls.forgets):
            raise ProblemError(f"{name} needs forgetting with a {cls.forgets.__name__.lower()}, got {forgetting!r}")
        if gamma != 1.0:
            raise ProblemError(f"{name} has no gamma; leave it at 1, got {gamma:g}")
        if isinstance(forgetting, Discount):
            return {"discount": forgetting.rho}
        return {} if forgetting is None else {"window": forgetting.lists}

    def sharing(self, other: Policy) -> Self:
        """The same policy on the counts of another one; the two share them from now on."""
        if not isinstance(other, TabularPolicy) or type(other._counts) is not self.counts_kind:
            raise ProblemError(f"{self!r} cannot share the state of {other!r}: it counts something else")
        twin = copy.copy(self)
        twin._on(other._counts)
        return twin

    def record(self, ranking: Ranking) -> bytes:
        """The ids of the list."""
        return json.dumps(ranking.ids).encode()

    def records(self, lists: IntArray) -> list[bytes]:
        """What :meth:`record` gives for each of these lists (n, k) of rows."""
        return [json.dumps(self._ids_of(rows)).encode() for rows in lists]

    def widened(self, arrays: Mapping[str, NDArray[Any]], topics: Collection[int]) -> Mapping[str, NDArray[Any]]:  # noqa: ARG002
        """The state as it is: it knows nothing of topics."""
        return arrays

    def learn_record(
        self,
        record: bytes,
        click: Click,
        topics: int | None = None,  # noqa: ARG002 - it knows nothing of them
        rewards: Mapping[int, float] | None = None,
    ) -> None:
        """Learn from the clicks on a list of which these ids were kept."""
        if rewards is not None:
            raise self.not_rewarded()
        ids: list[Id] = json.loads(record)
        clicks = all_clicks(click, len(ids))
        if ids:
            with self._counts.lock:
                self._counts.learn(self._counts.rows(ids), clicks)

    def explain(self, ranking: Ranking) -> list[Explanation]:
        """Where each score came from when the list was made: the share of clicks, and the rest for exploration."""
        if not isinstance(ranking.note, tuple) or len(ranking.note) != 2:
            raise self.foreign(ranking)
        means, _ = _shares(*ranking.note)
        return [
            Explanation(
                item,
                self.catalog.title_of(item),
                float(mean),
                {},
                float(score - mean),
                float(score),
                held_back=ranking.kept.held_at(i),
            )
            for i, (item, mean, score) in enumerate(zip(ranking.ids, means, ranking.scores, strict=True))
        ]

    def learned(self) -> list[Weight]:
        """The share of clicks of the items observed most, with its standard deviation."""
        with self._counts.lock:
            observed, clicked = (array.copy() for array in self._table())
        most = np.argsort(-observed, kind="stable")[:MOST_TOLD]
        most = most[observed[most] > 0]
        means, widths = _shares(observed[most], clicked[most])
        return [
            Weight(self.catalog.label(row), "item", float(mean), float(width))
            for row, mean, width in zip(most.tolist(), means, widths, strict=True)
        ]


def _shares(observed: FloatArray, clicked: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of clicks, and its standard deviation as if one more click and one more miss had been seen."""
    share = (clicked + 1.0) / (observed + 2.0)
    return clicked / np.maximum(observed, 1e-300), np.sqrt(share * (1.0 - share) / (observed + 3.0))
