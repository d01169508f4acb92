"""The kinds of factors that the context of a request may have, and how each becomes numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np

from rankfall.arrays import number, whole
from rankfall.errors import ProblemError, RankError, short


@dataclass(frozen=True)
class Number:
    """A number, as it stands between ``centre - limit * scale`` and ``centre + limit * scale``; beyond, as the end.

    >>> Number(centre=20, scale=10).encode(45.0), Number(centre=20, scale=10).encode(1e9)
    ([2.5], [3.0])
    """

    kind: ClassVar[str] = "number"
    centre: float = 0.0
    scale: float = 1.0
    limit: float = 3.0

    def __post_init__(self) -> None:
        number("centre", self.centre, ProblemError)
        if number("scale", self.scale, ProblemError, low=0.0) == 0.0:
            raise ProblemError("scale must be above 0, got 0")
        if number("limit", self.limit, ProblemError, low=0.0, high=100.0) == 0.0:
            raise ProblemError("limit must be above 0, got 0")

    def columns(self, name: str) -> list[str]:
        """One, called as the factor."""
        return [name]

    def encode(self, value: Any) -> list[float]:
        """How many scales the number is above the centre, within the limit."""
        scaled = (number("a number", value, RankError) - self.centre) / self.scale
        return [min(max(scaled, -self.limit), self.limit)]


@dataclass(frozen=True)
class Category:
    """One of a few levels, each with a column of its own. Every other value is "other", and has none of them.

    >>> Category(["mobile", "desktop"]).encode("desktop"), Category(["mobile", "desktop"]).encode("watch")
    ([0.0, 1.0], [0.0, 0.0])
    """

    kind: ClassVar[str] = "category"
    levels: tuple[str, ...]

    def __init__(self, levels: Iterable[str]) -> None:
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise ProblemError(f"levels must be a list of texts, got {levels!r}")
        listed = tuple(levels)
        for level in listed:
            if not isinstance(level, str):
                raise ProblemError(f"levels must be texts, got {level!r}")
        if not listed or len(set(listed)) < len(listed):
            raise ProblemError(f"levels must be different texts, at least one, got {list(listed)}")
        object.__setattr__(self, "levels", listed)

    def columns(self, name: str) -> list[str]:
        """One for each level: ``device=mobile``."""
        return [f"{name}={level}" for level in self.levels]

    def encode(self, value: Any) -> list[float]:
        """1 for its level, and 0 for the others; true and whole numbers are taken for their text."""
        if isinstance(value, bool | np.bool_):
            value = str(bool(value)).lower()
        if isinstance(value, int | np.integer):
            value = str(int(value))
        if not isinstance(value, str):
            raise RankError(f"a category must be a text, got {short(value)}")
        return [float(value == level) for level in self.levels]


@dataclass(frozen=True)
class _Cyclic:
    """A number that begins anew after a period: sines and cosines of it, so that 23:59 is next to 0:00."""

    kind: ClassVar[str] = ""
    period: ClassVar[float] = 1.0
    harmonics: int = 1

    def __post_init__(self) -> None:
        whole("harmonics", self.harmonics, ProblemError, low=1, high=6)

    def columns(self, name: str) -> list[str]:
        """Sine and cosine, once for each harmonic."""
        turns = ["" if h == 1 else f" {h}x" for h in range(1, self.harmonics + 1)]
        return [f"{name} {wave}{turn}" for turn in turns for wave in ("sin", "cos")]

    def encode(self, value: Any) -> list[float]:
        """Where it stands on the circle, for each harmonic on one that turns faster."""
        at = number(f"an {self.kind}" if self.kind == "hour" else f"a {self.kind}", value, RankError, low=0.0)
        if at > self.period:
            raise RankError(f"{self.kind} must be from 0 to {self.period:g}, got {short(value)}")
        angles = [2.0 * math.pi * h * at / self.period for h in range(1, self.harmonics + 1)]
        return [wave(angle) for angle in angles for wave in (math.sin, math.cos)]


@dataclass(frozen=True)
class Hour(_Cyclic):
    """The hour of the day, from 0 to 24, fractions too; 24 is 0.

    >>> [round(value, 3) for value in Hour().encode(6)]
    [1.0, 0.0]
    """

    kind = "hour"
    period = 24.0


@dataclass(frozen=True)
class Weekday(_Cyclic):
    """The day of the week, from 0 to 7; 7 is 0. Which day is 0 does not matter, if it is always the same."""

    kind = "weekday"
    period = 7.0


Factor: TypeAlias = Number | Category | Hour | Weekday
KINDS: Mapping[str, type[Factor]] = {one.kind: one for one in (Number, Category, Hour, Weekday)}


def factor_of(plain: Any) -> Factor:
    """A factor as JSON has it, such as ``{"kind": "category", "levels": ["mobile", "desktop"]}``.

    >>> factor_of({"kind": "hour"})
    Hour(harmonics=1)
    >>> factor_of({"kind": "hour", "levels": []})
    Traceback (most recent call last):
    rankfall.errors.ProblemError: a factor of kind hour has no 'levels'; it has harmonics
    """
    if isinstance(plain, Number | Category | Hour | Weekday):
        return plain
    if not isinstance(plain, Mapping) or plain.get("kind") not in KINDS:
        raise ProblemError(f"a factor has a kind, one of {', '.join(KINDS)}, and its settings; got {short(plain)}")
    kind = KINDS[plain["kind"]]
    known = [each.name for each in fields(kind)]
    given = {name: value for name, value in plain.items() if name != "kind"}
    for name in given:
        if name not in known:
            raise ProblemError(f"a factor of kind {plain['kind']} has no {name!r}; it has {', '.join(known)}")
    if kind is Category and not given:
        raise ProblemError("a factor of kind category needs levels")
    made: Factor = kind(**given)
    return made


def factor_to_json(factor: Factor) -> dict[str, Any]:
    """As plain JSON, without what has its default.

    >>> factor_to_json(Number(scale=10.0))
    {'kind': 'number', 'scale': 10.0}
    """
    plain: dict[str, Any] = {"kind": factor.kind}
    for each in fields(factor):
        value = getattr(factor, each.name)
        if value != each.default:
            plain[each.name] = list(value) if isinstance(value, tuple) else value
    return plain
