"""Verdicts on a claim: intervals for all its parts, and what they add up to.

Every test is on differences within a user, who met all policies with the same coins. Repeats are averaged first, so
that users are the units, and a mean over users gets a t-interval. A claim that needs m intervals takes each at level
1 - 0.05 / m (Bonferroni), so that all of them are right at once with 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rankfall.arrays import FloatArray
from rankfall.experiments.statistics import LEVEL, interval

Verdict: TypeAlias = Literal["holds", "does not hold", "undecided", "not tested"]
Setting: TypeAlias = tuple[str, float]
"""A sweep of the paper, and a value on its axis."""

SYMBOLS = {"tradeoff": "λ", "topics": "d", "positions": "K"}


@dataclass(frozen=True)
class Part:
    """One interval of a claim, said of one setting or of a trend over several.

    Attributes
    ----------
    sweep, value : the setting; None for a trend over several.
    what : the quantity; the part holds if it is below ``bound``.
    measure : what kind of quantity it is.
    estimate : its mean over users; NaN if it could not be computed.
    low, high : its interval; NaN with fewer than two users.
    users : how many there are.
    """

    sweep: str | None
    value: float | None
    what: str
    measure: str
    bound: float
    estimate: float
    low: float
    high: float
    users: int

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval is below the bound, or above it."""
        if not self.users:
            return "not tested"
        if self.high < self.bound:
            return "holds"
        return "does not hold" if self.low > self.bound else "undecided"

    @property
    def _distance(self) -> float:
        """How far above the bound, in half widths of the interval."""
        above, half = self.estimate - self.bound, (self.high - self.low) / 2
        return above / half if half > 0 else math.copysign(math.inf, above) if half == 0 and above else 0.0


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and what the runs say of it.

    Attributes
    ----------
    verdict : holds if all parts hold; does not hold if any part does not; not tested if there are no runs for any
        part; otherwise undecided.
    estimate, low, high : of the part that is furthest from holding.
    detail : what was found, in words.
    measure : what they measure, and what they must stay below.
    parts : all intervals, also those that are not tested.
    """

    name: str
    statement: str
    verdict: Verdict
    estimate: float
    low: float
    high: float
    detail: str
    measure: str = ""
    parts: tuple[Part, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class Question:
    """A quantity with a value for each user, said to be below ``bound`` on average."""

    setting: Setting | None
    what: str
    values: FloatArray
    measure: str = "difference in final regret"
    bound: float = 0.0


def setting_name(setting: Setting) -> str:
    """As the paper writes it: λ = 0.5."""
    return f"{SYMBOLS[setting[0]]} = {setting[1]:g}"


def judge(name: str, statement: str, questions: Sequence[Question], words: Sequence[str] = ()) -> Claim:
    """Intervals for all questions, and the verdict they add up to."""
    level = 1 - (1 - LEVEL) / max(1, len(questions))
    parts = tuple(_part(question, level) for question in questions)
    worst = max(parts, key=lambda part: (bool(part.users), _RANK[part.verdict], part._distance), default=None)
    if worst is None or not worst.users:
        nothing = "; ".join(["no runs for it", *words]) + "."
        return Claim(name, statement, "not tested", math.nan, math.nan, math.nan, nothing, parts=parts)
    detail = "; ".join([*_found(parts, worst), *words]) + "."
    measure = f"{worst.measure}; holds below {worst.bound:g}"
    return Claim(name, statement, _together(parts), worst.estimate, worst.low, worst.high, detail, measure, parts)


def _part(question: Question, level: float) -> Part:
    sweep, value = question.setting or (None, None)
    what = question.what if question.setting is None else f"{question.what}, {setting_name(question.setting)}"
    numbers = interval(question.values, level)
    return Part(sweep, value, what, question.measure, question.bound, *numbers, len(question.values))


_RANK: dict[Verdict, int] = {"holds": 0, "not tested": 1, "undecided": 2, "does not hold": 3}


def _together(parts: Iterable[Part]) -> Verdict:
    """All hold, or one does not, or it is open."""
    verdicts = {part.verdict for part in parts}
    if len(verdicts) == 1:
        return verdicts.pop()
    return "does not hold" if "does not hold" in verdicts else "undecided"


def _found(parts: Sequence[Part], worst: Part) -> Iterator[str]:
    """What the parts say, in words: at which settings the claim holds, and at which not."""
    if len(parts) > 1:
        yield f"{sum(part.verdict == 'holds' for part in parts)} of {len(parts)} comparisons hold"
        settings: dict[Setting, list[Part]] = {}
        for part in parts:
            if part.sweep is not None and part.value is not None:
                settings.setdefault((part.sweep, part.value), []).append(part)
        verdicts = {setting: _together(some) for setting, some in settings.items()}
        if len(verdicts) > 2:
            for verdict in _RANK:
                if at := [setting for setting, found in verdicts.items() if found == verdict]:
                    yield f"{verdict} at {_names(at)}"
        yield f"furthest from holding: {worst.what}"
    counts = [part.users for part in parts if part.users]
    fewest, most = min(counts), max(counts)
    yield (f"{fewest} to {most} users" if fewest != most else f"{most} user{'s' if most > 1 else ''}")
    if fewest < 2:
        yield "an interval needs at least two users"


def _names(settings: Sequence[Setting]) -> str:
    """Settings of the same sweep together: λ = 0, 0.1 and d = 5."""
    sweeps = dict.fromkeys(sweep for sweep, _ in settings)
    lists = {sweep: ", ".join(f"{value:g}" for other, value in settings if other == sweep) for sweep in sweeps}
    return " and ".join(f"{SYMBOLS[sweep]} = {values}" for sweep, values in lists.items())
