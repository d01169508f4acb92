"""What the report of a study has besides where users come in a stream: regret by the lists that a user has seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from markupsafe import Markup

from rankfall.experiments.folder import Folder
from rankfall.experiments.many_users.stream import LISTS
from rankfall.experiments.plan import Plan
from rankfall.experiments.report import Section, write_report
from rankfall.experiments.report.numbers import ABSENT, fixed, known
from rankfall.experiments.report.page import Curves, Written, template
from rankfall.experiments.report.tables import Cell, Table, place_name
from rankfall.experiments.statistics import CASE, at_common_steps, differences, final, means

PARTS: dict[str, tuple[int, int]] = {
    "first 10": (0, 10),
    "first 30": (0, 30),
    "first 100": (0, 100),
    "101 to 200": (100, 200),
}
"""Parts of what a user sees: after so many lists, up to so many."""

_DRAWN = 0.1
"""Curves go as far as this share of users has come."""

_SAID = (
    "Mean regret of a user over a part of the lists that the user has seen, of those who have seen as many; in "
    "brackets less that of {reference}, user by user, with a 95 % interval. The last row: all lists of the stream."
)


def write_stream_report(folder: Folder, runs: pl.DataFrame) -> Written:
    """The report of a study whose users come in a stream."""
    drawn = Curves(by_lists(runs), "lists a user has seen")
    return write_report(folder, runs, sections=[lists_section(folder.plan, runs)], curves=drawn)


def by_lists(runs: pl.DataFrame) -> pl.DataFrame:
    """Mean regret of a user over the lists that the user has seen, as far as a tenth of the users have come.

    Each piece of the curve is the mean over all who have come to its end, so that it never falls because others left.
    """
    everyone = runs.group_by("sweep", "point").agg(pl.col("user").n_unique().alias("everyone"))
    pieces = []
    for after, lists in zip((0, *LISTS), LISTS, strict=False):
        piece = (
            part_of(runs, after, lists)
            .group_by(*CASE, maintain_order=True)
            .agg(pl.col("regret").mean(), pl.col("user").n_unique().alias("users"))
        )
        pieces.append(piece.with_columns(pl.lit(lists, pl.Int64).alias("step")))
    total = pl.col("regret").cum_sum().over(CASE)
    return (
        pl.concat(pieces)
        .join(everyone, on=("sweep", "point"))
        .filter(pl.col("users") >= _DRAWN * pl.col("everyone"))
        .sort(*CASE, "step")
        .with_columns(total, pl.lit(np.nan).alias("regret_error"))
        .drop("everyone")
    )


def part_of(runs: pl.DataFrame, after: int, lists: int) -> pl.DataFrame:
    """One row for each user who has seen so many lists, with the regret of those after the first ``after``."""
    keys = (*CASE, "user", "repeat")

    def at(number: int) -> pl.DataFrame:
        return runs.filter(pl.col("lists") == number).unique(keys, keep="first", maintain_order=True)

    found = at(lists).with_columns(pl.lit(lists, pl.Int64).alias("step"))
    if not after:
        return found
    before = at(after).select(*keys, pl.col("regret").alias("before"))
    return found.join(before, on=keys).with_columns(pl.col("regret") - pl.col("before")).drop("before")


def lists_section(plan: Plan, runs: pl.DataFrame) -> Section:
    """Regret of a user by lists seen, for every case and point; and the same as ``lists.md`` and ``lists.csv``."""
    found = {name: part_of(runs, *part) for name, part in PARTS.items()} | {"all lists": at_common_steps(runs)}
    rows = {name: final(means(part)) for name, part in found.items() if len(part)}
    tables = list(_tables(plan, found, rows))
    references = sorted({each.reference for each in differences(plan, found["all lists"])})
    said = _SAID.format(reference=" or ".join(references) or "nobody")
    body = template("lists.html", "rankfall.experiments.many_users").render(tables=tables, said=said)
    csv = pl.concat(row.select(pl.lit(name).alias("part"), pl.all()) for name, row in rows.items()).write_csv()
    text = said + "\n\n" + "\n".join(_markdown(table) for table in tables)
    return Section("By lists seen", Markup(body), Markup(""), {"lists.md": text, "lists.csv": csv})


def _tables(plan: Plan, found: dict[str, pl.DataFrame], rows: dict[str, pl.DataFrame]) -> Iterator[Table]:
    labels = [case.label for case in plan.study.all_cases]
    apart = {
        (name, each.sweep, each.point, each.case): each for name in rows for each in differences(plan, found[name])
    }
    regret = {
        (name, *row[:3]): row[3] for name, table in rows.items() for row in table.select(*CASE, "regret").iter_rows()
    }

    def cell(key: tuple[str, str, int, str], least: float) -> Cell:
        if key not in regret:
            return Cell(ABSENT)
        each, mean = apart.get(key), regret[key]
        beside = ""
        if each is not None and known(each.low):
            beside = f"({fixed(each.estimate, 2)} ± {fixed(each.estimate - each.low, 2)})"
        return Cell(fixed(mean, 2), beside, best=mean == least)

    for sweep, points in [(each.name, range(len(each.points))) for each in plan.study.sweeps] or [("", range(1))]:
        lines = []
        for point in points:
            for name in rows:
                keys = [(name, sweep, point, label) for label in labels]
                there = [regret[key] for key in keys if key in regret]
                if not there:  # nobody has come so far
                    continue
                place = ", ".join(filter(None, (place_name(plan, sweep, point), name)))
                lines.append((place, tuple(cell(key, min(there)) for key in keys)))
        yield Table(f"Regret by lists seen{sweep and ': '}{sweep}", (sweep or "lists", *labels), tuple(lines))


def _markdown(table: Table) -> str:
    lines = [f"| {' | '.join(table.heads)} |", "|---" * len(table.heads) + "|"]
    for name, cells in table.rows:
        texts = [f"{f'**{one.text}**' if one.best else one.text} {one.error}".strip() for one in cells]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"
