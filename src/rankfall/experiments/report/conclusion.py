"""What a study found, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

from rankfall.experiments.expansion import WORDS, axis_columns, axis_text, value_text
from rankfall.experiments.plan import Plan
from rankfall.experiments.report.numbers import short
from rankfall.experiments.statistics import final

Remark: TypeAlias = Callable[[Mapping[str, Any], str], str]
"""What to add where a case is ahead of the leader: from the values of the axes, by path, and the case."""


@dataclass(frozen=True)
class _Winner:
    """The case with the lowest mean regret among those on the same users, at a point of a sweep."""

    sweep: str
    point: int
    case: str


def conclusion(
    plan: Plan, means: pl.DataFrame, *, named: Mapping[str, str] | None = None, remark: Remark | None = None
) -> str:
    """Which case had the lowest mean regret, where, and which others were ahead where it had not.

    Parameters
    ----------
    named : what to call the points of a sweep, by its name, such as ``tradeoffs``.
    remark : what to add to a case that is ahead of the leader.
    """
    last = {
        (sweep, point, case): regret
        for sweep, point, case, regret in final(means).select("sweep", "point", "case", "regret").iter_rows()
    }
    winners, groups = [], _groups(plan)
    for group in groups:
        there = [place for place in group if place in last]
        if len(there) > 1:
            winners.append(_Winner(*min(there, key=lambda place: last[place])))
    if not winners:
        return _alone(plan, [place for group in groups for place in group if place in last], last)
    if not plan.study.sweeps:
        return _without_sweeps(plan, last, groups)
    leader = Counter(winner.case for winner in winners).most_common(1)[0][0]
    counts = []
    for sweep in plan.study.sweeps:
        here = [winner for winner in winners if winner.sweep == sweep.name]
        if here:
            won = sum(winner.case == leader for winner in here)
            counts.append(f"{won} of {len(here)} {(named or {}).get(sweep.name) or f'points of {sweep.name}'}")
    said = f"{leader} had the lowest mean regret in {_and(counts)}"
    return "; ".join([said, *_ahead(plan, leader, winners, remark)]) + "."


def _groups(plan: Plan) -> list[list[tuple[str, int, str]]]:
    """Cases on the same users, at each point of each sweep."""
    groups: dict[object, list[tuple[str, int, str]]] = {}
    for entry, setup in plan.rows:
        alike = (entry.sweep, entry.point, setup.user, setup.k, setup.users)
        groups.setdefault(alike, []).append((entry.sweep, entry.point, entry.case.label))
    return list(groups.values())


def _alone(plan: Plan, places: list[tuple[str, int, str]], last: Mapping[tuple[str, int, str], float]) -> str:
    """A case that is compared with no other: its mean regret, or where in the sweeps it was lowest and highest."""
    places.sort(key=lambda place: last[place])
    lowest, highest, after = places[0], places[-1], f"after {plan.study.steps:,} steps"
    if lowest[:2] == highest[:2]:
        return f"{lowest[2]} had a mean regret of {short(last[lowest])} {after}."
    columns = axis_columns(plan.study)
    points = {sweep.name: sweep.points for sweep in plan.study.sweeps}

    def said(place: tuple[str, int, str]) -> str:
        at = points[place[0]][place[1]]
        return f"{short(last[place])} at {' with '.join(axis_text(columns[path], at[path]) for path in at)}"

    return f"{lowest[2]} had a mean regret {after} from {said(lowest)} to {said(highest)}."


def _without_sweeps(
    plan: Plan, last: Mapping[tuple[str, int, str], float], groups: list[list[tuple[str, int, str]]]
) -> str:
    """The lowest of each group of cases that can be compared, and the next."""
    parts = []
    for group in groups:
        first, *others = sorted((place for place in group if place in last), key=lambda place: last[place])
        if others:
            least, then = last[first], last[others[0]]
            more = f", {then / least - 1:.0%} more" if least > 0 else ""
            parts.append(f"{first[2]} ({short(least)}), then {others[0][2]} ({short(then)}{more})")
    few = "; ".join(parts[:3]) + (f"; and {len(parts) - 3} more comparisons" if len(parts) > 3 else "")
    return f"Lowest mean regret after {plan.study.steps:,} steps: {few}."


def _ahead(plan: Plan, leader: str, winners: Iterable[_Winner], remark: Remark | None) -> Iterator[str]:
    """Where others were ahead of the leader, points of one sweep and winner together."""
    columns = axis_columns(plan.study)
    sweeps = {sweep.name: sweep for sweep in plan.study.sweeps}
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for winner in winners:
        if winner.case != leader:
            at = sweeps[winner.sweep].points[winner.point]
            said = remark(at, winner.case) if remark else ""
            groups.setdefault((winner.sweep, winner.case, said), []).append(at)
    for (_, case, said), places in groups.items():
        first, *more = places[0]
        if more or columns[first] == WORDS:
            where = _and([" with ".join(axis_text(columns[path], at[path]) for path in at) for at in places])
        else:
            where = f"{columns[first]} = {_and([value_text(at[first]) for at in places])}"
        yield f"at {where} {case} was ahead{said}"


def _and(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
