"""What the runs of a study say: means over users, slopes, and paired differences with intervals.

Users are the units. Repeats of one user are averaged first, since they are no further users; in a study with a single
user its repeats are the units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtrit

from rankfall.arrays import FloatArray
from rankfall.errors import ProblemError
from rankfall.experiments.plan import Plan

CASE = ("sweep", "point", "case")
"""Columns that name a case at a point of a sweep."""

LEVEL = 0.95
"""How sure an interval is."""

_RATES = {"clicks": "click_rate", "touched": "touched", "covered": "covered"}
_COLUMNS = (*CASE, "policy", "user", "repeat", "step", "regret", "clicks", "touched", "covered", "best")


def checked(runs: pl.DataFrame) -> pl.DataFrame:
    """These runs in one order, whatever order they came in; an error if they are none."""
    missing = [name for name in _COLUMNS if name not in runs.columns]
    if missing:
        raise ProblemError(f"runs have no column {', '.join(missing)}; they need {', '.join(_COLUMNS)}")
    if runs.is_empty():
        raise ProblemError("runs have no rows; at least one checkpoint of one run is needed")
    runs = runs.sort(*CASE, "user", "repeat", "step")
    return at_common_steps(runs) if "lists" in runs.columns else runs


def at_common_steps(runs: pl.DataFrame) -> pl.DataFrame:
    """Of users who come in a stream, the rows at steps at which everybody's regret is recorded."""
    recorded = pl.struct("user", "repeat").n_unique()
    return runs.filter(recorded.over(*CASE, "step") == recorded.over(*CASE))


def _shown(runs: pl.DataFrame) -> str:
    """The column with the number of lists that the user of a row has seen."""
    return "lists" if "lists" in runs.columns else "step"


def final(table: pl.DataFrame) -> pl.DataFrame:
    """The rows at the last step of each point; a run that did not get that far has none."""
    return table.filter(pl.col("step") == pl.col("step").max().over("sweep", "point"))


def by_unit(runs: pl.DataFrame) -> pl.DataFrame:
    """Each unit's means at each step: regret, and per list shown so far clicks, topics touched and covered."""
    single = pl.col("user").n_unique().over(CASE) == 1
    unit = pl.when(single).then("repeat").otherwise("user").alias("unit")
    lists = pl.when(pl.col(_shown(runs)) > 0).then(pl.col(_shown(runs)))  # nobody's rate before their first list
    return (
        runs.with_columns(unit)
        .group_by(*CASE, "unit", "step", maintain_order=True)
        .agg(
            pl.col("regret").mean(),
            *[(pl.col(old) / lists).mean().alias(new) for old, new in _RATES.items()],
        )
    )


def means(runs: pl.DataFrame) -> pl.DataFrame:
    """Means over units for each case, point and step, with standard errors, which are missing for a single unit."""
    measures = ("regret", *_RATES.values())
    table = (
        by_unit(runs)
        .group_by(*CASE, "step", maintain_order=True)
        .agg(
            pl.len().alias("units"),
            *[pl.col(name).mean() for name in measures],
            *[(pl.col(name).std() / pl.len().sqrt()).alias(f"{name}_error") for name in measures],
        )
    )
    ordered = [column for name in measures for column in (name, f"{name}_error")]
    return table.select(*CASE, "step", "units", *ordered)


def half_width(error: float | None, units: int, level: float = LEVEL) -> float:
    """Half of a t-interval, from a standard error; NaN without one.

    >>> round(half_width(1.0, 10), 3)
    2.262
    """
    if error is None or units < 2:
        return math.nan
    return float(stdtrit(units - 1, (1 + level) / 2)) * error


def interval(values: FloatArray, level: float) -> tuple[float, float, float]:
    """Mean and t-interval at this level; an interval of NaN for fewer than two values.

    >>> [round(number, 3) for number in interval(np.array([1.0, 2.0, 3.0]), 0.95)]
    [2.0, -0.484, 4.484]
    """
    if not len(values):
        return math.nan, math.nan, math.nan
    mean = float(np.mean(values))
    if len(values) == 1:
        return mean, math.nan, math.nan
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return mean, mean - half, mean + half


@dataclass(frozen=True)
class Difference:
    """Final regret of a case less that of a reference on the same users with the same coins, unit by unit."""

    sweep: str
    point: int
    case: str
    reference: str
    estimate: float
    low: float
    high: float
    units: int


def differences(plan: Plan, runs: pl.DataFrame) -> list[Difference]:
    """Every case against the reference among those on the same users.

    That is the first one there whose label or policy the study names as reference; without such a one, the first.
    """
    last = final(by_unit(runs))
    regrets = {
        key: dict(zip(group["unit"], group["regret"], strict=True))
        for key, group in last.group_by(*CASE, maintain_order=True)
    }
    groups: dict[object, list[tuple[str, int, str, str]]] = {}
    for entry, setup in plan.rows:
        alike = (entry.sweep, entry.point, setup.user, setup.k, setup.users)
        groups.setdefault(alike, []).append((entry.sweep, entry.point, entry.case.label, entry.case.policy))
    found = []
    for group in groups.values():
        named = [place for place in group if plan.study.reference in place[2:]]
        reference = (named or group)[0]
        for place in group:
            if place is not reference:
                ours, theirs = (regrets.get(each[:3], {}) for each in (place, reference))
                values = np.array([ours[unit] - theirs[unit] for unit in ours if unit in theirs])
                numbers = interval(values, LEVEL)
                found.append(Difference(*place[:3], reference[2], *numbers, len(values)))
    return found


def late_share(runs: pl.DataFrame, steps: int) -> float | None:
    """What lists of the last tenth of steps earn, as a share of the best list; the mean over runs of one case."""
    late, lists = runs.filter(pl.col("step") >= 0.9 * steps).sort("step"), pl.col(_shown(runs))
    lost = (pl.col("regret").last() - pl.col("regret").first()) / (lists.last() - lists.first())
    share = 1.0 - lost / pl.col("best").first()
    shares = late.group_by("user", "repeat", maintain_order=True).agg(share.alias("share"))["share"]
    mean = shares.filter(shares.is_finite()).mean()
    return None if mean is None else float(mean)  # type: ignore[arg-type]


def slope(points: Iterable[tuple[float, float]], steps: int) -> float | None:
    """Of log regret over log steps, in the last tenth to the end of (step, mean regret); below 1 it is sublinear.

    >>> round(slope([(step, step**0.5) for step in range(1, 101)], 100), 3)
    0.5
    """
    late = np.array([(step, regret) for step, regret in points if step >= steps / 10 and regret > 0])
    if len(late) < 3:
        return None
    x, y = np.log(late).T
    return float(np.polyfit(x, y, 1)[0])
