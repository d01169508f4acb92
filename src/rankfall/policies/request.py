"""A checked request for a list: how long, which rows may be shown, which are fixed where, and under which rules."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray, rows, whole
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, RankError
from rankfall.policies.list_rules import ListRules, RulesKept

_NONE: IntArray = np.empty(0, dtype=np.int64)


class Request:
    """What :meth:`rankfall.Policy.rank` was asked for, after all checks. Read-only: it may be used again.

    What it takes to make one grows with the rows that were named, and not with the items there are.

    Attributes
    ----------
    k : how many items the list has.
    fixed : rows by 0-based position.
    n_items : how many items there are in all.
    candidates : (n,) the rows to choose from where nothing is fixed, ascending; or None for all but those barred.
    barred : (m,) the rows that may not be chosen, where there are no candidates.
    n_rows : how many rows there are to choose from: enough of them.
    everything : whether every item may be chosen, and none is fixed.
    rules : what else the list must keep, if anything.
    context : the numbers of its context, for policies that have one.
    features : values of features that items have in this request: of which rows (n,), and their values (n, features).
    """

    rules: ListRules | None = None
    context: FloatArray | None = None
    features: tuple[IntArray, FloatArray] | None = None

    def __init__(
        self, k: int, fixed: Mapping[int, int], n_items: int, candidates: IntArray | None, barred: IntArray
    ) -> None:
        self.k, self.fixed, self.n_items = k, fixed, n_items
        self.candidates, self.barred = candidates, barred
        self.n_rows = n_items - len(barred) if candidates is None else len(candidates)
        self.everything = self.n_rows == n_items

    @cached_property
    def rows(self) -> IntArray:
        """The rows to choose from where nothing is fixed, ascending; none of them is fixed."""
        if self.candidates is not None:
            return self.candidates
        return np.arange(self.n_items) if self.everything else np.flatnonzero(self.allowed)

    def under(self, rules: ListRules) -> Request:
        """The same request under rules."""
        request = copy.copy(self)
        request.rules = rules
        return request

    def within(self, context: FloatArray | None, features: tuple[IntArray, FloatArray] | None) -> Request:
        """The same request in a context, with features that items have in it alone."""
        request = copy.copy(self)
        request.context, request.features = context, features
        return request

    @cached_property
    def allowed(self) -> BoolArray:
        """Which items may be chosen: (n_items,)."""
        mask = np.full(self.n_items, self.candidates is None)
        mask[self.barred if self.candidates is None else self.candidates] = self.candidates is not None
        return mask

    @cached_property
    def _held(self) -> IntArray:
        items = np.full(self.k, -1, dtype=np.int64)
        for position, row in self.fixed.items():
            items[position] = row
        return items

    def empty_list(self) -> IntArray:
        """The rows of the list: those that are fixed, and -1 where the choice is free; a copy to fill."""
        return self._held.copy()

    def best(self, scores: FloatArray) -> IntArray:
        """The rows with the highest of these scores (n_items,), equals by the lower row, around those that are fixed.

        Under rules: at each position the highest of those that the rules allow there.

        >>> check_request(3, 5, fixed={1: 0}).best(np.array([9.0, 0.1, 0.7, 0.7, 0.2]))
        array([2, 0, 3])
        """
        if self.rules is not None:
            return self.ruled(self.rules, scores)[0]
        items = self.empty_list()
        free = items < 0
        items[free] = self.rows[np.argsort(-scores[self.rows], kind="stable")[: np.count_nonzero(free)]]
        return items

    def ruled(self, rules: ListRules, scores: FloatArray) -> tuple[IntArray, RulesKept]:
        """The list of :meth:`best` under rules, and what came of them."""
        order = self.rows[np.argsort(-scores[self.rows], kind="stable")]
        made = rules.in_order(order, self.k, self.empty_list())
        return made.rows, made.kept(rules, order, scores)


def check_request(
    k: int,
    n_items: int,
    candidates: Iterable[int] | None = None,
    exclude: Iterable[int] | None = None,
    fixed: Mapping[int, int] | None = None,
) -> Request:
    """The request, if a list can be made for it; otherwise a :class:`RankError` says why not.

    A fixed row stands at its position, whether it is a candidate or not.

    >>> check_request(2, 5, [4, 1, 0], [1]).rows
    array([0, 4])
    >>> check_request(2, 5, [4, 1, 0], [1], fixed={1: 4}).rows
    array([0])
    """
    k = whole("k", k, RankError, low=1)
    held = _fixed_rows(fixed, k, n_items)
    wanted = None if candidates is None else np.sort(rows("candidates", candidates, n_items, RankError))
    barred = held
    if exclude is not None:
        barred = rows("exclude", exclude, n_items, RankError)
        if len(held):
            barred = np.union1d(held, barred)
    if len(held) == k:  # nothing to choose
        wanted = _NONE
    elif wanted is not None and len(barred):
        wanted = _without(wanted, barred)
    request = Request(k, fixed or {}, n_items, wanted, barred)
    most = len(held) + request.n_rows
    if k > most:
        raise RankError(f"k is {k} and only {most} of {n_items} items may be shown; ask for at most that many")
    return request


def rows_named(catalog: Catalog, named: Iterable[int] | Iterable[str] | None) -> Iterable[int] | None:
    """Rows as they are, and those of ids that are text.

    >>> rows_named(Catalog(ids=["a", "b"]), ["b"]).tolist(), rows_named(Catalog(ids=["a", "b"]), [0])
    ([1], [0])
    """
    if named is None or (isinstance(named, np.ndarray) and named.dtype.kind in "iu"):
        return named
    if not isinstance(named, Iterable):
        return named  # check_request says what it is of
    listed: Any = named if isinstance(named, list | tuple) else list(named)
    if listed and isinstance(listed[0], str):
        try:
            return catalog.rows(listed)
        except CatalogError as problem:
            raise RankError(str(problem)) from None
    return listed  # type: ignore[no-any-return]


def _without(ascending: IntArray, barred: IntArray) -> IntArray:
    """Rows in ascending order without some others, which need not be among them."""
    at = np.searchsorted(ascending, barred)
    keep = np.ones(len(ascending) + 1, dtype=bool)  # one more for those that come after all of them
    keep[at[np.append(ascending, -1)[at] == barred]] = False
    return ascending[keep[:-1]]


def _fixed_rows(fixed: Mapping[int, int] | None, k: int, n_items: int) -> IntArray:
    """The rows that are fixed, if each has its own position below ``k``."""
    if fixed is None:
        return _NONE
    if not isinstance(fixed, Mapping):
        raise RankError(f"fixed must map positions to rows, got {type(fixed).__name__}")
    for position in fixed:
        whole("a position in fixed", position, RankError, low=0, high=k - 1)
    return rows("fixed", fixed.values(), n_items, RankError)
