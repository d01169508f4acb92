"""The tables of a report, as rows of texts; the templates put them into HTML and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankfall.experiments.expansion import axis_columns, axis_text
from rankfall.experiments.plan import Plan
from rankfall.experiments.report.numbers import ABSENT, digits, fixed, known
from rankfall.experiments.statistics import CASE, Difference, final, half_width, late_share, slope


@dataclass(frozen=True)
class Cell:
    """A number with its error, its interval below it, and whether it is the best of its row."""

    text: str
    error: str = ""
    below: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A caption, the heads of all columns, and rows: a name, then cells."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def place_name(plan: Plan, sweep: str, point: int) -> str:
    """A point of a sweep in words: ``tradeoff = 0.5, k = 10``."""
    columns = axis_columns(plan.study)
    found = next((each for each in plan.study.sweeps if each.name == sweep), None)
    if found is None:
        return ""
    return ", ".join(axis_text(columns[path], value) for path, value in found.points[point].items())


def regret_tables(plan: Plan, last: pl.DataFrame) -> list[Table]:
    """Final regret: mean, standard error and interval."""
    places = digits(last["regret"])

    def cell(row: dict[str, Any]) -> Cell:
        half = half_width(row["regret_error"], row["units"])
        low, high = fixed(row["regret"] - half, places), fixed(row["regret"] + half, places)
        error = fixed(row["regret_error"], places) if known(row["regret_error"]) else ""
        return Cell(fixed(row["regret"], places), error, f"{low} to {high}" if known(half) else "")

    return list(_by_sweep(plan, last, "Final regret", "regret", cell, min))


def click_tables(plan: Plan, last: pl.DataFrame) -> list[Table]:
    """Share of lists clicked."""

    def cell(row: dict[str, Any]) -> Cell:
        error = row["click_rate_error"]
        return Cell(fixed(100 * row["click_rate"], 2, "%"), fixed(100 * error, 2) if known(error) else "")

    return list(_by_sweep(plan, last, "Click rate", "click_rate", cell, max))


def topic_tables(plan: Plan, last: pl.DataFrame) -> list[Table]:
    """Topics in a list; none where no user knows of topics."""
    if not any(known(value) for value in last["touched"]):
        return []

    def cell(row: dict[str, Any]) -> Cell:
        return Cell(f"{row['touched']:.2f}", f"({row['covered']:.2f})")

    return list(_by_sweep(plan, last, "Topics touched (covered)", "touched", cell, None))


def _by_sweep(
    plan: Plan,
    last: pl.DataFrame,
    what: str,
    column: str,
    cell: Callable[[dict[str, Any]], Cell],
    best: Callable[[Iterable[float]], float] | None,
) -> Iterator[Table]:
    """A table for each sweep: a row for each point, a column for each case, the best of comparable ones marked."""
    rows = {tuple(row[name] for name in CASE): row for row in last.iter_rows(named=True) if known(row[column])}
    labels = tuple(case.label for case in plan.study.all_cases)
    for sweep in plan.study.sweeps:
        lines = []
        for point in range(len(sweep.points)):
            found = {label: rows[sweep.name, point, label] for label in labels if (sweep.name, point, label) in rows}
            mark = best(row[column] for row in found.values()) if best and len(found) > 1 else None
            cells = tuple(
                _marked(cell(found[label]), found[label][column] == mark) if label in found else Cell(ABSENT)
                for label in labels
            )
            lines.append((place_name(plan, sweep.name, point), cells))
        yield Table(f"{what}: {sweep.name}", (sweep.name, *labels), tuple(lines))


def _marked(cell: Cell, best: bool) -> Cell:
    return Cell(cell.text, cell.error, cell.below, best)


def case_table(plan: Plan, runs: pl.DataFrame, means: pl.DataFrame) -> Table:
    """A study without sweeps: a row for each case, with published values where there are some."""
    steps, last = plan.study.steps, final(means)
    with_published = any(case.published for case in plan.study.all_cases)
    heads = ["case", "regret", "lists clicked", "of the best, at the end", "slope"]
    heads += ["published", "difference"] if with_published else []
    lines = []
    for entry, setup in plan.rows:
        case, label = entry.case, entry.case.label
        row = last.filter(case=label).row(0, named=True)
        half = half_width(row["regret_error"], row["units"])
        interval = f"{fixed(row['regret'] - half, 1)} to {fixed(row['regret'] + half, 1)}" if known(half) else ""
        late = None if "drift" in setup.user else late_share(runs.filter(case=label), steps)
        bend = slope(means.filter(case=label).select("step", "regret").rows(), steps)
        error = fixed(row["regret_error"], 1) if known(row["regret_error"]) else ""
        cells = [
            Cell(fixed(row["regret"], 1), error, interval),
            Cell(f"{row['click_rate']:.1%}"),
            Cell("" if late is None else f"{late:.1%}"),
            Cell("" if bend is None else f"{bend:.2f}"),
        ]
        if with_published and case.published is None:
            cells += [Cell(""), Cell("")]
        elif case.published is not None:
            said = case.published
            ours = row["regret"] if said.what == "regret" else row["click_rate"] * steps
            cells.append(Cell(fixed(said.value, 1), "" if said.error is None else fixed(said.error, 1)))
            cells.append(Cell(f"{ours - said.value:+,.1f}".replace("-", "\N{MINUS SIGN}")))
        lines.append((label, tuple(cells)))
    return Table("Every case", tuple(heads), tuple(lines))


def difference_tables(plan: Plan, found: Iterable[Difference]) -> list[Table]:
    """Final regret less that of the reference; a row for each point of a sweep, or, without sweeps, for each case."""
    tables: dict[tuple[str, str], dict[str, dict[str, Cell]]] = {}
    for each in found:
        rows = tables.setdefault((each.sweep, each.reference), {})
        name = place_name(plan, each.sweep, each.point) if each.sweep else each.case
        rows.setdefault(name, {})[each.case if each.sweep else "difference"] = _difference(each)
    made = []
    for (sweep, reference), rows in tables.items():
        heads = list(dict.fromkeys(case for cells in rows.values() for case in cells))
        lines = tuple((name, tuple(cells.get(case, Cell(ABSENT)) for case in heads)) for name, cells in rows.items())
        caption = f"Final regret less that of {reference}" + (f": {sweep}" if sweep else "")
        made.append(Table(caption, (sweep or "case", *heads), lines))
    return made


def _difference(each: Difference) -> Cell:
    places = min(2, digits([each.estimate]))
    if not known(each.low):
        return Cell(fixed(each.estimate, places))
    below = f"{fixed(each.low, places)} to {fixed(each.high, places)}"
    return Cell(fixed(each.estimate, places), "", below, best=each.low > 0 or each.high < 0)
