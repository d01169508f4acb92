"""Rules of lists, as values and as JSON: which items may stand where, by their attributes. docs/rules.md explains them.

A rule says by ``kind`` what it asks, and by ``attribute``, ``op`` and ``value`` of which items.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from rankfall.errors import RankError, short
from rankfall.wire.decoding import convert
from rankfall.wire.fields import FieldError, Name, check_printable

Value: TypeAlias = Annotated[str, Meta(max_length=1000)] | int | float | bool
Op: TypeAlias = Literal["=", "!=", "in", "<", "<=", ">", ">=", "newer_than"]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_LONGEST_LIST = 1000


class RuleError(FieldError, RankError):
    """A rule that makes no sense."""


def seconds_of(duration: object) -> float | None:
    """A duration such as ``"90s"``, ``"30m"``, ``"36h"``, ``"7d"`` or ``"2w"`` in seconds; None for anything else.

    >>> seconds_of("7d"), seconds_of("1.5h"), seconds_of("soon")
    (604800.0, 5400.0, None)
    """
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) and len(duration) < 20 else None
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def is_moment(value: object) -> bool:
    """Whether it is text that says a date or a moment.

    >>> is_moment("2026-11-18"), is_moment("2026-11-18T08:00:00Z"), is_moment("Lego")
    (True, True, False)
    """
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


class _Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"):
    """What rules have in common."""

    attribute: Name

    def __post_init__(self) -> None:
        _need(isinstance(self.attribute, str) and 0 < len(self.attribute) <= 200, "attribute", self.attribute, "a name")
        check_printable("attribute", self.attribute)
        self._check()

    def _check(self) -> None:
        """Raise what is wrong with the rest."""


class _Condition(_Rule, frozen=True, kw_only=True):
    """A rule of the items whose attribute fits: ``attribute op value``.

    ``=`` and ``!=`` take any value, ``in`` several; ``<``, ``<=``, ``>`` and ``>=`` a number, or a date or moment as
    ISO 8601 has it; ``newer_than`` a duration before the request, such as ``"7d"``. An item without the attribute fits
    nothing.
    """

    op: Op = "="
    value: Value | tuple[Value, ...] | None = None

    def __str__(self) -> str:
        return f"{self.attribute} {self.op} {msgspec.json.encode(self.value).decode()}"

    def _check(self) -> None:
        if isinstance(self.value, list):
            msgspec.structs.force_setattr(self, "value", tuple(self.value))
        value = self.value
        _need(self.op in _OPS, "op", self.op, f"one of {', '.join(_OPS)}")
        if self.op == "in":
            several = isinstance(value, tuple) and 0 < len(value) <= 1000 and all(_plain(one) for one in value)
            _need(several, "value", value, "a list of 1 to 1000 texts, numbers, true or false")
        elif self.op in ("=", "!="):
            _need(_plain(value), "value", value, "text, a finite number, true or false")
        elif self.op == "newer_than":
            _need(seconds_of(value) is not None, "value", value, 'a duration such as "36h" or "7d"')
        else:
            ordered = (_plain(value) and not isinstance(value, bool | str)) or is_moment(value)
            _need(ordered, "value", value, f"a finite number, or a date or moment in ISO 8601, after {self.op}")


class AtMost(_Condition, frozen=True, kw_only=True, tag="at_most"):
    """At most ``n`` items that fit among the first ``first`` positions (all); without a value: of each value.

    >>> AtMost(n=2, attribute="brand", first=10)
    AtMost(attribute='brand', op='=', value=None, n=2, first=10)
    >>> AtMost(n=0, attribute="brand")
    Traceback (most recent call last):
    rankfall.wire.rules.RuleError: n must be a whole number from 1 on, where each value counts for itself; got 0
    """

    n: Annotated[int, Meta(ge=0, le=_LONGEST_LIST)]
    first: Annotated[int, Meta(ge=1, le=_LONGEST_LIST)] | None = None

    @property
    def of_each(self) -> bool:
        """Whether it is of each value of the attribute, and not of the items that fit."""
        return self.value is None

    def __str__(self) -> str:
        what = f"of each {self.attribute}" if self.of_each else f"with {super().__str__()}"
        return f"at most {self.n} {what}{_among(self.first)}"

    def _check(self) -> None:
        if self.of_each:
            _need(self.op == "=", "value", self.value, f"a value after {self.op}")
        else:
            super()._check()
        low = 1 if self.of_each else 0
        words = f"a whole number from {low} on" + (", where each value counts for itself" if self.of_each else "")
        _need(_whole(self.n) and low <= self.n <= _LONGEST_LIST, "n", self.n, words)
        _check_first(self.first)


class AtLeast(_Condition, frozen=True, kw_only=True, tag="at_least"):
    """At least ``n`` items that fit among the first ``first`` positions (all).

    >>> AtLeast(n=2, attribute="published_at", op="newer_than", value="7d", first=10).n
    2
    >>> AtLeast(n=3, attribute="own", value=True, first=2)
    Traceback (most recent call last):
    rankfall.wire.rules.RuleError: n must be a whole number from 1 to the first 2 positions; got 3
    """

    n: Annotated[int, Meta(ge=1, le=_LONGEST_LIST)]
    first: Annotated[int, Meta(ge=1, le=_LONGEST_LIST)] | None = None

    def __str__(self) -> str:
        return f"at least {self.n} with {super().__str__()}{_among(self.first)}"

    def _check(self) -> None:
        super()._check()
        _check_first(self.first)
        most = _LONGEST_LIST if self.first is None else self.first
        words = "on" if self.first is None else f"to the first {self.first} positions"
        _need(_whole(self.n) and 1 <= self.n <= most, "n", self.n, f"a whole number from 1 {words}")


class Apart(_Rule, frozen=True, kw_only=True, tag="apart"):
    """No two items with the same value of the attribute among any ``within`` positions in a row; 2 is no neighbours.

    >>> str(Apart(attribute="brand", within=3))
    'no two of one brand within 3 positions'
    """

    within: Annotated[int, Meta(ge=2, le=_LONGEST_LIST)]

    def __str__(self) -> str:
        return f"no two of one {self.attribute} within {self.within} positions"

    def _check(self) -> None:
        fine = _whole(self.within) and 2 <= self.within <= _LONGEST_LIST
        _need(fine, "within", self.within, f"a whole number from 2 to {_LONGEST_LIST}")


class Only(_Condition, frozen=True, kw_only=True, tag="only"):
    """Only items that fit.

    >>> str(Only(attribute="in_stock", value=True))
    'only in_stock = true'
    """

    def __str__(self) -> str:
        return f"only {super().__str__()}"


Rule: TypeAlias = AtMost | AtLeast | Apart | Only
RULES: tuple[type[Rule], ...] = (AtMost, AtLeast, Apart, Only)
_OPS: tuple[str, ...] = Op.__args__  # type: ignore[attr-defined]

MOST_RULES = 100
Rules: TypeAlias = Annotated[
    list[Rule], Meta(max_length=MOST_RULES, description="which items may stand where in a list")
]


def rule_from_json(value: Any) -> Rule:
    """A rule from the mapping that JSON or TOML has for it.

    >>> rule_from_json({"kind": "at_most", "n": 2, "attribute": "brand"})
    AtMost(attribute='brand', op='=', value=None, n=2, first=None)
    """
    return convert(Rule, value, "rule")  # type: ignore[arg-type]


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """The mapping that JSON or TOML has for a rule.

    >>> rule_to_json(Only(attribute="in_stock", value=True))
    {'kind': 'only', 'attribute': 'in_stock', 'value': True}
    """
    plain: dict[str, Any] = msgspec.to_builtins(rule)
    return plain


def timed(rules: Iterable[Rule]) -> bool:
    """Whether what the rules ask depends on when they are asked.

    >>> timed([AtLeast(n=1, attribute="published_at", op="newer_than", value="7d")])
    True
    """
    return any(isinstance(rule, _Condition) and rule.op == "newer_than" for rule in rules)


def _among(first: int | None) -> str:
    return "" if first is None else f" among the first {first}"


def _plain(value: object) -> bool:
    return isinstance(value, str | bool) or (isinstance(value, int | float) and math.isfinite(value))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_first(first: object) -> None:
    fine = first is None or (isinstance(first, int) and _whole(first) and 1 <= first <= _LONGEST_LIST)
    _need(fine, "first", first, f"a whole number from 1 to {_LONGEST_LIST}, or None for the whole list")


def _need(fine: bool, field: str, value: object, expected: str) -> None:
    if not fine:
        raise RuleError(field, f"{field} must be {expected}; got {short(value)}")
