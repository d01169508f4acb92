"""A checked request for a list: how long, which rows may be shown, which are fixed where, and under which rules."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray, rows, whole
from rankfall.errors import RankError
from rankfall.policies.list_rules import ListRules, RulesKept


class Request:
    """What :meth:`rankfall.Policy.rank` was asked for, after all checks. Read-only: it may be used again.

    Attributes
    ----------
    k : how many items the list has.
    rows : (n,) the rows to choose from where nothing is fixed, ascending; enough of them, and none that is fixed.
    fixed : rows by 0-based position.
    n_items : how many items there are in all.
    everything : whether every item may be chosen, and none is fixed.
    rules : what else the list must keep, if anything.
    context : the numbers of its context, for policies that have one.
    features : values of features that items have in this request: of which rows (n,), and their values (n, features).
    """

    rules: ListRules | None = None
    context: FloatArray | None = None
    features: tuple[IntArray, FloatArray] | None = None

    def __init__(self, k: int, rows: IntArray, fixed: Mapping[int, int], n_items: int) -> None:
        self.k, self.rows, self.fixed, self.n_items = k, rows, fixed, n_items
        self.everything = len(rows) == n_items

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
        mask = np.zeros(self.n_items, dtype=bool)
        mask[self.rows] = True
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
    wanted = None if candidates is None else rows("candidates", candidates, n_items, RankError)
    barred = held if exclude is None else np.concatenate([held, rows("exclude", exclude, n_items, RankError)])
    if len(held) == k:  # nothing to choose
        return Request(k, np.empty(0, dtype=np.int64), fixed or {}, n_items)
    if wanted is None and not len(barred):
        allowed = np.arange(n_items)
    else:
        keep = np.zeros(n_items, dtype=bool)
        keep[slice(None) if wanted is None else wanted] = True
        keep[barred] = False
        allowed = np.flatnonzero(keep)
    most = len(held) + len(allowed)
    if k > most:
        raise RankError(f"k is {k} and only {most} of {n_items} items may be shown; ask for at most that many")
    return Request(k, allowed, fixed or {}, n_items)


def _fixed_rows(fixed: Mapping[int, int] | None, k: int, n_items: int) -> IntArray:
    """The rows that are fixed, if each has its own position below ``k``."""
    if fixed is None:
        return np.empty(0, dtype=np.int64)
    if not isinstance(fixed, Mapping):
        raise RankError(f"fixed must map positions to rows, got {type(fixed).__name__}")
    for position in fixed:
        whole("a position in fixed", position, RankError, low=0, high=k - 1)
    return rows("fixed", fixed.values(), n_items, RankError)
