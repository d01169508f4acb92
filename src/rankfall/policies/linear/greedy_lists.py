"""Greedy lists of a linear model: what is chosen from, and what is remembered from list to list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.kernels import greedy, in_background, ruled_greedy, ruled_shortlists, shortlists
from rankfall.kernels.epochs import PREPARED, SCORED, SHORT, Shortlists, new_shortlists, room_for
from rankfall.kernels.item_scores import Items
from rankfall.kernels.item_vectors import ItemVectors, vectors_of
from rankfall.kernels.linear_bounds import Bounds, new_bounds
from rankfall.kernels.ridge import State
from rankfall.policies.linear.candidate_features import spread
from rankfall.policies.linear.columns import Layout, some_with
from rankfall.policies.list_rules import NO_RULES, ListRules, RulesKept
from rankfall.policies.request import Request


@dataclass(frozen=True, eq=False)
class Shelf:
    """The items that one list is chosen from, by rows of their own where a request has features of candidates.

    Attributes
    ----------
    layout : the items as the kernels know them.
    items : (k,) rows of the list, -1 where the choice is free; it is filled.
    some : rows to choose from; None for all without those ``barred``.
    barred : rows that may not be chosen.
    free : whether there is anything to choose.
    everything : whether it is chosen from all items of the catalog.
    at : the row of the catalog for each row here; None if they are the same.
    """

    layout: Items
    items: IntArray
    some: IntArray | None
    barred: IntArray
    free: bool
    everything: bool
    at: IntArray | None

    @classmethod
    def of(cls, request: Request, items: IntArray, layout: Layout) -> Shelf:
        """All items, or those of a request with features of its own; ``items`` is the list so far."""
        free = -1 in items
        if request.features is None:
            everything = request.everything and free
            return cls(layout.items, items, request.candidates, request.barred, free, everything, None)
        held, rows = items >= 0, request.rows
        at = np.unique(np.concatenate([rows, items[held]]))
        items[held] = np.searchsorted(at, items[held])
        own = some_with(layout.items, at, spread(request.features, at))
        return cls(own, items, np.searchsorted(at, rows), rows[:0], free, False, at)

    def in_catalog(self, rows: IntArray) -> IntArray:
        """Rows of the catalog for rows here; -1 stays."""
        return rows if self.at is None else np.where(rows >= 0, self.at[rows], -1)


class GreedyLists:
    """Makes the lists of one model. Shortlists, which it keeps from list to list, save time and change no list.

    Parameters
    ----------
    layout : the items.
    columns : how many columns the model has at one request.

    Attributes
    ----------
    shortlists : of lists without rules; None until they are used.
    under_rules : the rules of the last list, and shortlists under them, if any were made.
    """

    def __init__(self, layout: Layout, columns: int) -> None:
        self._layout, self._columns = layout, columns
        self.shortlists: Shortlists | None = None
        self.under_rules: tuple[ListRules, Shortlists | None] | None = None
        self._counted: int = 0
        self._lists = 0  # made in a way that may use shortlists

    @property
    def scored(self) -> int:
        """Items whose score was computed exactly."""
        return self._counted + (0 if self.shortlists is None else int(self.shortlists.counts[SCORED]))

    def count(self, scored: int) -> None:
        """Add items scored elsewhere."""
        self._counted += scored

    def without_shortlists(self) -> GreedyLists:
        """The same with nothing remembered, as for another gamma: shortlists hold bounds for the old one."""
        made = GreedyLists(self._layout, self._columns)
        made.count(self.scored)
        return made

    def shortlists_for(self, k: int) -> Shortlists:
        """Shortlists with room for lists of ``k`` items."""
        if self.shortlists is None or room_for(self.shortlists) < k:
            self._counted = self.scored
            self.shortlists = new_shortlists(self._layout.items, self._layout.vectors, self._columns, k)
        return self.shortlists

    def describe(self, shelf: Shelf, state: State, features: FloatArray, means: FloatArray, widths: FloatArray) -> None:
        """Fill in what a model makes of a list in which nothing is free."""
        self._counted += greedy.describe(shelf.layout, state, shelf.items, features, means, widths)

    def fill(
        self,
        shelf: Shelf,
        rules: ListRules | None,
        state: State,
        bonus: float,
        features: FloatArray,
        means: FloatArray,
        widths: FloatArray,
        *,
        lasting: bool,
    ) -> RulesKept:
        """Fill the list with the best at each position, under rules; what came of them.

        Shortlists are for a ``lasting`` model, whose widths only shrink. They are much to compile, and a model ranks
        plainly at first anyway.
        """
        quick = lasting and shelf.everything and self._is_time()
        if rules is not None:
            return self._fill_under(rules, shelf, state, bonus, features, means, widths, quick)
        items = shelf.items
        if quick:
            lists = self.shortlists_for(len(items))
            vectors = self._layout.vectors
            if shortlists.rank(shelf.layout, vectors, state, bonus, lists, items, features, means, widths):
                return NO_RULES
            items[:] = -1
        vectors, blocked, bounds = self._to_choose_from(shelf)
        room = greedy.new_room(shelf.layout, vectors, self._columns, len(items))
        self._counted += greedy.rank_in(
            room, shelf.layout, vectors, blocked, state, bonus, bounds, items, features, means, widths
        )
        return NO_RULES

    def _is_time(self) -> bool:
        """Whether enough lists were made for shortlists to be worth it; counts this one."""
        self._lists += 1
        return self._lists > SHORT and not in_background.working()

    def _fill_under(
        self,
        rules: ListRules,
        shelf: Shelf,
        state: State,
        bonus: float,
        features: FloatArray,
        means: FloatArray,
        widths: FloatArray,
        quick: bool,
    ) -> RulesKept:
        items, k = shelf.items, len(shelf.items)
        held, held_by, held_scores = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64), np.zeros(k)
        broken = np.empty((k, len(rules)), dtype=bool)
        made = items, features, means, widths, held, held_by, held_scores, broken
        lists = self._shortlists_under(rules, k) if quick else None
        if lists is not None:
            vectors = self._layout.vectors
            if ruled_shortlists.rank_under_rules(shelf.layout, vectors, state, bonus, lists, rules.for_all(k), *made):
                return rules.kept(broken, held, held_by, held_scores)
            items[:] = -1
        vectors, blocked, bounds = self._to_choose_from(shelf)
        self._counted += ruled_greedy.rank_under_rules(
            greedy.new_room(shelf.layout, vectors, self._columns, k), shelf.layout, vectors, blocked, state, bonus,
            bounds, rules.arrays(k, shelf.at), *made,
        )  # fmt: skip
        return rules.kept(broken, shelf.in_catalog(held), held_by, held_scores)

    def _shortlists_under(self, rules: ListRules, k: int) -> Shortlists | None:
        """Shortlists under these very rules, if the last list was made under them; those of others are let go."""
        last, made = self.under_rules, None
        if last is not None and last[0] is rules:
            made = last[1]
            if made is None or room_for(made) < k:
                layout = self._layout
                made = ruled_shortlists.new_ruled_shortlists(layout.items, layout.vectors, self._columns, k)
        self.under_rules = rules, made
        return made

    def _to_choose_from(self, shelf: Shelf) -> tuple[ItemVectors, IntArray, Bounds]:
        """Items laid out, the indices of those among them that are not allowed, and room for their bounds."""
        some, n_items = shelf.some, len(self._layout.items.dense)
        if some is not None and (shelf.at is not None or 2 * len(some) < n_items):
            few = vectors_of(shelf.layout, some)
            return few, some[:0], new_bounds(few)
        blocked, vectors = shelf.barred, self._layout.vectors
        if some is not None:
            others = np.ones(n_items, dtype=bool)
            others[some] = False
            blocked = np.flatnonzero(others)
        if self.shortlists is None:
            return vectors, blocked, new_bounds(vectors)
        self.shortlists.counts[PREPARED] = 0  # the bounds will be those of the model of today, not of the epoch's
        return vectors, blocked, self.shortlists.bounds
