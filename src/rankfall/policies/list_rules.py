"""Rules of lists over the items of a catalog, and what came of them in a list."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray
from rankfall.attributes import Attribute, as_number, key_of, kind_of
from rankfall.catalog import Catalog
from rankfall.errors import RankError, short
from rankfall.item_names import Id
from rankfall.kernels import list_rules as kernel
from rankfall.kernels.list_rules import APART, EACH, LEAST, MOST, ONLY
from rankfall.wire.rules import RULES, Apart, AtLeast, AtMost, Only, Rule, seconds_of, timed

_WHOLE = 2**31
"""Positions of a list of any length."""
_ORDERED = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


@dataclass(frozen=True)
class Relaxed:
    """A rule that does not hold at a 0-based position of a list, because nothing there could keep it, or by a pin.

    A quota that is not met shows at the last of its positions.
    """

    rule: Rule
    position: int

    def __str__(self) -> str:
        return f"{self.rule} (position {self.position + 1})"


@dataclass(frozen=True)
class HeldBack:
    """The best item that a rule did not allow at a 0-based position, where it would have been chosen without."""

    position: int
    row: int
    id: Id
    rule: Rule
    score: float


class RulesKept:
    """What came of rules in a list. Few look at ``held_back``, so it is put together when somebody does."""

    def __init__(
        self, relaxed: tuple[Relaxed, ...] = (), held_back: Callable[[], tuple[HeldBack, ...]] = tuple
    ) -> None:
        self.relaxed, self._held_back = relaxed, held_back

    @cached_property
    def held_back(self) -> tuple[HeldBack, ...]:
        """The best items that rules did not allow, from the top of the list down."""
        return self._held_back()

    def held_at(self, position: int) -> HeldBack | None:
        """Who was held back at a position."""
        return next((one for one in self.held_back if one.position == position), None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RulesKept):
            return NotImplemented
        return (self.relaxed, self.held_back) == (other.relaxed, other.held_back)

    def __hash__(self) -> int:
        return hash(self.relaxed)


NO_RULES = RulesKept()


class ListRules:
    """Rules over the items of one catalog at one moment, as the kernels take them. Read-only: they may be used again.

    Parameters
    ----------
    rules : in order of importance, the most important first.
    catalog : whose items have the attributes.
    now : seconds since 1970, needed where a rule says ``newer_than``.
    checked : whether an attribute that no item has, or has in no such kind, is an error. If not, no item fits it.

    >>> catalog = Catalog(ids=["a", "b", "c"], attributes={"brand": ["Lego", "Lego", None]})
    >>> ListRules([AtMost(n=1, attribute="brand")], catalog).in_order([0, 1, 2], k=2).rows
    array([0, 2])
    >>> ListRules([AtMost(n=1, attribute="brnd")], catalog)
    Traceback (most recent call last):
    rankfall.errors.RankError: no item has the attribute 'brnd'; there are brand
    """

    def __init__(
        self, rules: Iterable[Rule], catalog: Catalog, now: float | None = None, *, checked: bool = True
    ) -> None:
        self.rules = checked_rules(rules)
        self.catalog = catalog
        if checked:
            for rule in self.rules:
                check_rule(rule, catalog)
        columns = {rule.attribute: catalog.attributes.column(rule.attribute) for rule in self.rules}
        place = {name: i for i, name in enumerate(columns)}
        self._columns = [columns[rule.attribute] for rule in self.rules]
        self._start = np.cumsum([0, *(1 + len(column.levels) for column in self._columns)])[:-1].astype(np.int64)
        self._look_at_clock(now)
        self._kind = np.array([_kind(rule) for rule in self.rules], dtype=np.int64)
        self._attribute = np.array([place[rule.attribute] for rule in self.rules], dtype=np.int64)
        self._n = np.array([rule.within if isinstance(rule, Apart) else getattr(rule, "n", 0) for rule in self.rules])
        self._n = self._n.astype(np.int64)
        first = [getattr(rule, "first", None) or _WHOLE for rule in self.rules]
        self._first = np.array(first, dtype=np.int64)
        self._codes = np.array([column.codes for column in columns.values()], dtype=np.int32)
        self._codes = self._codes.reshape(len(columns), len(catalog))
        self._quotas = any(isinstance(rule, AtLeast) for rule in self.rules)

    @classmethod
    def over(
        cls, catalog: Catalog, rules: Iterable[Rule] | ListRules, now: float | None, last: ListRules | None
    ) -> ListRules:
        """Rules over the items of a catalog; the ``last`` ones, if they are the same and it is no later."""
        if isinstance(rules, ListRules):
            if rules.catalog is not catalog:
                raise RankError("the rules are over another catalog than the policy ranks")
            return rules
        wanted = checked_rules(rules)
        if last is None or last.catalog is not catalog or last.rules != wanted:
            return cls(wanted, catalog, now)
        if not timed(wanted):
            return last
        return cls(wanted, catalog, now) if now is None else last.at(now)

    def _look_at_clock(self, now: float | None) -> None:
        if timed(self.rules) and (now is None or not math.isfinite(now)):
            raise RankError(f"a rule looks at the time; say what time it is: now=time.time(), got now={now!r}")
        self.now = now
        tables = [_table(rule, column, now) for rule, column in zip(self.rules, self._columns, strict=True)]
        self._fits: BoolArray = np.concatenate([*tables, np.empty(0, dtype=bool)])

    def at(self, now: float) -> ListRules:
        """The same rules at another moment."""
        if not timed(self.rules) or now == self.now:
            return self
        later = copy.copy(self)
        for name in ("admitted", "_servers"):
            later.__dict__.pop(name, None)
        later._look_at_clock(now)
        return later

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def filters(self) -> bool:
        """Whether some of them are filters."""
        return any(isinstance(rule, Only) for rule in self.rules)

    @property
    def only_filters(self) -> bool:
        """Whether all of them are filters."""
        return all(isinstance(rule, Only) for rule in self.rules)

    @cached_property
    def admitted(self) -> BoolArray:
        """Which items the filters allow: (n_items,)."""
        mask = np.ones(len(self.catalog), dtype=bool)
        for r in np.flatnonzero(self._kind == ONLY).tolist():
            mask &= self._fits[self._start[r] + 1 + self._codes[self._attribute[r]]]
        return mask

    def arrays(self, k: int, rows: IntArray | None = None, servers: IntArray | None = None) -> kernel.Rules:
        """What the kernels take for one list of ``k`` items, over all items or over these rows.

        ``servers`` are the rows that may serve a quota, if they are known; or else there is room for them.
        """
        if servers is None:
            servers = np.empty(
                (len(self.catalog) if rows is None else len(rows)) if self._quotas else 0, dtype=np.int64
            )
        codes = self._codes if rows is None else np.ascontiguousarray(self._codes[:, rows])
        n_items = codes.shape[1]
        return kernel.Rules(
            kind=self._kind,
            attribute=self._attribute,
            n=self._n,
            first=self._first,
            start=self._start,
            fits=self._fits,
            codes=codes,
            counts=np.zeros(len(self._fits), dtype=np.int64),
            on=np.empty(len(self), dtype=bool),
            needed=np.empty(len(self), dtype=np.int64),
            servers=servers,
            picked=np.empty(k, dtype=np.int64),
            taken=np.zeros(n_items, dtype=bool),
            target=np.empty(1, dtype=np.int64),
        )

    def for_all(self, k: int) -> kernel.Rules:
        """What kernels take that choose from all items: the rows that may serve a quota are listed already."""
        return self.arrays(k, servers=self._servers)

    @cached_property
    def _servers(self) -> IntArray:
        """The rows that fit a quota and that the filters allow."""
        serves = np.zeros(len(self.catalog), dtype=bool)
        for r in np.flatnonzero(self._kind == LEAST).tolist():
            serves |= self._fits[self._start[r] + 1 + self._codes[self._attribute[r]]]
        return np.flatnonzero(serves & self.admitted)

    def in_order(self, order: Sequence[int] | IntArray, k: int, items: IntArray | None = None) -> InOrder:
        """A list of ``k`` rows: at each position the first of ``order`` that the rules allow there.

        ``items`` may hold rows at some of the positions, and -1 elsewhere; it is filled.
        """
        rows = np.ascontiguousarray(order, dtype=np.int64)
        out = np.full(k, -1, dtype=np.int64) if items is None else items
        held, held_by = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
        broken = np.empty((k, len(self)), dtype=bool)
        kernel.fill_in_order(self.arrays(k), rows, out, held, held_by, broken)
        return InOrder(out, held, held_by, broken)

    def at_random(self, pool: Sequence[int] | IntArray, items: IntArray, rng: np.random.Generator) -> Drawn:
        """A list drawn at random: at each free position (-1) of ``items`` all rows that are allowed are equally likely.

        >>> catalog = Catalog(ids=range(3), attributes={"brand": ["Lego", "Lego", None]})
        >>> one_each = ListRules([AtMost(n=1, attribute="brand")], catalog)
        >>> one_each.at_random([0, 1, 2], np.array([-1, 2]), np.random.default_rng(0)).chance
        0.5
        """
        nothing = np.full(len(items), -1, dtype=np.int64)
        return self._drawn(pool, rng.random(len(items)), nothing, np.array(items))

    def chances_of(self, rows: IntArray, pool: Sequence[int] | IntArray, items: IntArray) -> Drawn:
        """How likely :meth:`at_random` gives this list, and each row of it given those above."""
        return self._drawn(pool, np.zeros(len(rows)), np.array(rows), np.array(items))

    def _drawn(self, pool: Sequence[int] | IntArray, coins: FloatArray, given: IntArray, out: IntArray) -> Drawn:
        broken = np.empty((len(out), len(self)), dtype=bool)
        rows = np.ascontiguousarray(pool, dtype=np.int64)
        chances = np.empty(len(out))
        chance = kernel.draw(self.arrays(len(out)), rows, coins, given, out, broken, chances)
        return Drawn(out, chance, chances, self.relaxed(broken))

    def told_of(self, rows: IntArray) -> RulesKept:
        """Which of the rules a list keeps that someone else has made."""
        return RulesKept(self.relaxed(self.in_order((), len(rows), np.array(rows)).broken))

    def relaxed(self, broken: BoolArray) -> tuple[Relaxed, ...]:
        """The rules that do not hold, from the top of the list down: ``broken`` (k, rules)."""
        if not broken.any():
            return ()
        return tuple(Relaxed(self.rules[r], position) for position, r in np.argwhere(broken).tolist())

    def kept(self, broken: BoolArray, held: IntArray, held_by: IntArray, scores: FloatArray) -> RulesKept:
        """What came of the rules, as the kernels tell it: rows held back, by which rules, and their scores."""

        def held_back() -> tuple[HeldBack, ...]:
            told = enumerate(zip(held.tolist(), held_by.tolist(), scores.tolist(), strict=True))
            return tuple(
                HeldBack(position, row, self.catalog.ids[row], self.rules[rule], score)
                for position, (row, rule, score) in told
                if row >= 0
            )

        return RulesKept(self.relaxed(broken), held_back)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A list drawn at random, how likely it was, and how likely each row was, given those above (k)."""

    rows: IntArray
    chance: float
    given_above: FloatArray
    relaxed: tuple[Relaxed, ...]


@dataclass(frozen=True, eq=False)
class InOrder:
    """A list made from an order under rules.

    ``held`` (k) has the index to the order of the first row that was passed over at a position, or -1, and
    ``held_by`` the index of the rule.
    """

    rows: IntArray
    held: IntArray
    held_by: IntArray
    broken: BoolArray

    def kept(self, rules: ListRules, order: IntArray, scores: FloatArray) -> RulesKept:
        """What came of the rules, where the order is by these scores (n_items,)."""
        if not len(order):
            return rules.kept(self.broken, self.held, self.held_by, np.zeros(len(self.rows)))
        held = np.where(self.held >= 0, order[self.held], -1)
        return rules.kept(self.broken, held, self.held_by, scores[held])


def checked_rules(rules: Any) -> tuple[Rule, ...]:
    """Rules as a tuple; raises :class:`RankError` for anything else."""
    if isinstance(rules, RULES) or not isinstance(rules, Iterable) or isinstance(rules, str):
        raise RankError(f"rules must be a sequence of rules, got {short(rules)}")
    made = tuple(rules)
    for rule in made:
        if not isinstance(rule, RULES):
            names = ", ".join(kind.__name__ for kind in RULES)
            raise RankError(f"a rule must be one of {names}, got {short(rule)}")
    return made


def check_rule(rule: Rule, catalog: Catalog) -> None:
    """Raise unless some item has the attribute of a rule, with values that it can be compared with."""
    attributes = catalog.attributes
    if rule.attribute not in attributes:
        names = ", ".join(attributes) or "no attributes at all"
        raise RankError(f"no item has the attribute {short(rule.attribute)}; there are {names}")
    if isinstance(rule, Apart) or rule.value is None:
        return
    column = attributes.column(rule.attribute)
    if rule.op in ("=", "!=", "in"):
        given = {kind_of(one) for one in (rule.value if isinstance(rule.value, tuple) else (rule.value,))}
        if not given & column.kinds:
            raise RankError(
                f"the rule {rule} compares {' and '.join(sorted(given))} with {short(rule.attribute)}, "
                f"which is {' and '.join(sorted(column.kinds))}"
            )
    elif bool(np.isnan(column.numbers).all()):
        raise RankError(
            f"the rule {rule} needs numbers, dates or moments, and no {short(rule.attribute)} of an item is one"
        )


def _kind(rule: Rule) -> int:
    if isinstance(rule, AtMost):
        return EACH if rule.of_each else MOST
    return {AtLeast: LEAST, Apart: APART, Only: ONLY}[type(rule)]


def _table(rule: Rule, column: Attribute, now: float | None) -> BoolArray:
    """Whether each value of the attribute fits, after one place for items that have none: they never do."""
    table = np.zeros(1 + len(column.levels), dtype=bool)
    if isinstance(rule, Apart) or rule.value is None:
        return table
    fits = table[1:]
    if rule.op in ("=", "!=", "in"):
        wanted = rule.value if isinstance(rule.value, tuple) else (rule.value,)
        codes = [column.code_of[key_of(one)] for one in wanted if key_of(one) in column.code_of]
        fits[codes] = True
        if rule.op == "!=":
            np.logical_not(fits, out=fits)
    elif rule.op == "newer_than":
        assert now is not None
        fits[:] = column.numbers >= now - (seconds_of(rule.value) or 0.0)
    else:
        assert not isinstance(rule.value, tuple)
        fits[:] = _ORDERED[rule.op](column.numbers, as_number(rule.value))  # NaN fits nothing
    return table
