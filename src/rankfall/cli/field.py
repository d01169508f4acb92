"""What ``rankfall run`` does with a study of the field."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rankfall.errors import ProblemError
from rankfall.experiments.field import FieldStudy, compared, frame_of, run_field, write_field
from rankfall.experiments.simulation import cores


def conduct_field(study: FieldStudy, out: Path, *, workers: int | None, scheduler: str | None, dry_run: bool) -> None:
    """Run every case, print the table, and name the files written."""
    if scheduler is not None:
        raise ProblemError("studies of the field run on this machine only; leave --scheduler away")
    lists = len(study.cases) * study.runs * study.steps
    click.echo(
        f"{study.name}: {len(study.cases)} cases, {study.runs} runs of {study.steps:,} steps, {lists:,} lists in all"
    )
    if dry_run:
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    results = {}
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("simulating", total=len(study.cases) * study.runs)
        for c, r, run in run_field(study, workers=workers or cores()):
            results[c, r] = run
            bar.advance(task)
    runs = frame_of(study, results)
    Console().print(_table(study, runs))
    for path in write_field(study, runs, out):
        click.echo(f"wrote {path}")


def _table(study: FieldStudy, runs: pl.DataFrame) -> Table:
    table = Table(title=study.source or study.name)
    for heading in ("case", "regret", "of the best", "slope", "published", "difference"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for row in compared(study, runs).iter_rows(named=True):
        error = "" if row["regret_error"] is None else f" ± {row['regret_error']:,.1f}"
        published = "" if row["published"] is None else f"{row['published']:,.1f}"
        difference = "" if row["difference"] is None else f"{row['difference']:+,.1f}"
        slope = "" if row["slope"] is None else f"{row['slope']:.2f}"
        late = "" if row["late"] is None else f"{row['late']:.1%}"
        table.add_row(row["case"], f"{row['regret']:,.1f}{error}", late, slope, published, difference)
    return table
