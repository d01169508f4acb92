"""How ``rankfall reproduce`` and ``rankfall run`` run a study: with a progress bar, and a report in the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import polars as pl
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from rankfall.cli.progress import StepRate
from rankfall.cli.study_forecast import print_forecast
from rankfall.experiments import Folder, Plan, Status, Study, plan, run_study
from rankfall.experiments.paper.report import write_paper_report
from rankfall.experiments.report import write_report
from rankfall.experiments.report.tables import case_table
from rankfall.experiments.simulation import cores
from rankfall.experiments.statistics import checked, means

_OFTEN = 0.3  # seconds between two looks; a rate is taken over a thousand looks, so that it spans all policies


def run_and_report(
    study: Study, out: Path, *, workers: int | None, scheduler: str | None, dry_run: bool, paper: bool = False
) -> None:
    """Run a study and name the files written; or, for a dry run, measure and forecast.

    With ``paper`` the forecast includes the paper's whole grid.
    """
    with Console(stderr=True).status(f"preparing {study.name}"):
        laid = plan(study)
    if dry_run:
        print_forecast(laid, out, workers or cores(), paper)
        return
    runs = _run(laid, out, workers, scheduler)
    folder = Folder(out, laid)
    written = [folder.runs, out / "study.toml", out / "provenance.json", out / "timings.jsonl"]
    written += (write_paper_report if study.paper else write_report)(folder, runs)
    if not study.sweeps:
        Console().print(_case_table(laid, runs))
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for note in laid.notes:
        console.print(f"Note: {note}.")
    console.print("Look at:")
    for path in written:
        if path.exists():
            console.print(f"  {path}")


def _case_table(laid: Plan, runs: pl.DataFrame) -> Table:
    runs = checked(runs)
    shown = case_table(laid, runs, means(runs))
    table = Table(title=laid.study.name)
    for place, heading in enumerate(shown.heads):
        table.add_column(heading, justify="right" if place else "left")
    for name, cells in shown.rows:
        table.add_row(name, *(f"{cell.text} ± {cell.error}" if cell.error else cell.text for cell in cells))
    return table


def _run(laid: Plan, out: Path, workers: int | None, scheduler: str | None) -> pl.DataFrame:
    with _progress() as watch:
        try:
            return run_study(laid, out, workers=workers, scheduler=scheduler, watch=watch)
        except KeyboardInterrupt:
            there = len(list((out / "chunks").glob("*.parquet")))
            click.echo(
                f"\n{there} of {len(laid.chunks)} chunks are done and kept in {out}. "
                "Give the same command again to continue.",
                err=True,
            )
            raise


@contextmanager
def _progress() -> Iterator[Callable[[Status], None]]:
    console = Console(stderr=True)
    columns: tuple[ProgressColumn, ...] = (
        TextColumn("{task.fields[chunks]}"),
        BarColumn(20),
        TextColumn("{task.percentage:.0f}%"),
        StepRate(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    if console.width >= 130:
        columns += (TextColumn("{task.description}", style="dim"),)
    with Progress(*columns, console=console, speed_estimate_period=300) as bar:
        task: list[TaskID] = []
        told = 0.0

        def watch(status: Status) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told < _OFTEN and status.done < status.total:
                return
            told = now
            chunks = f"{status.chunks_done}/{status.chunks} chunks"
            if not task:  # chunks that were done before do not count in the rate
                task.append(bar.add_task(status.last, total=status.total, completed=status.done, chunks=chunks))
            bar.update(task[0], completed=status.done, description=status.last, chunks=chunks)

        yield watch
