"""How ``rankfall reproduce`` and ``rankfall run`` run a study: with a progress bar, and a report in the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
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
from rankfall.experiments.many_users.report import write_stream_report
from rankfall.experiments.paper.claims import check_claims
from rankfall.experiments.paper.report import write_paper_report
from rankfall.experiments.paper.verdicts import Claim
from rankfall.experiments.report import write_report
from rankfall.experiments.report.page import Written
from rankfall.experiments.report.tables import Cell, case_table, regret_tables
from rankfall.experiments.simulation import cores
from rankfall.experiments.statistics import checked, final, means

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
    written = _write(study, laid)(folder, runs)
    for table in _tables(laid, runs):
        Console().print(table)
    console = Console(highlight=False, markup=False)
    for note in laid.notes:
        console.print(f"Note: {note}.")
    console.print(written.conclusion)
    if study.paper:
        console.print(_verdicts(check_claims(runs)))
    console.print(f"Open {written.page}; figure, tables and all runs are beside it.", soft_wrap=True)


def _write(study: Study, laid: Plan) -> Callable[[Folder, pl.DataFrame], Written]:
    """What writes the report of such a study."""
    if study.paper:
        return write_paper_report
    return write_stream_report if any(setup.sharing for setup in laid.setups) else write_report


def _tables(laid: Plan, runs: pl.DataFrame) -> Iterator[Table]:
    """Final regret for people: of a study with sweeps a table for each, with columns as short as they can be."""
    runs = checked(runs)
    averages = means(runs)
    steps = f"regret after {laid.study.steps:,} steps"
    found = regret_tables(laid, final(averages)) if laid.study.sweeps else [case_table(laid, runs, averages)]
    for one in found:
        labels = one.heads[1:] if laid.study.sweeps else ()
        prefix = "Cascade" if len(labels) > 1 and all(label.startswith("Cascade") for label in labels) else ""
        table = Table(title=f"{laid.study.name}: {steps}" + (f", of {prefix}..." if prefix else ""))
        for place, heading in enumerate(one.heads):
            table.add_column(heading.removeprefix(prefix) or heading, justify="right" if place else "left")
        for name, cells in one.rows:
            table.add_row(name, *(_text(cell, bool(laid.study.sweeps)) for cell in cells))
        yield table


def _text(cell: Cell, brief: bool) -> str:
    text = f"[b]{cell.text}[/b]" if cell.best else cell.text
    return f"{text} ± {cell.error}" if cell.error and not brief else text


def _verdicts(claims: Sequence[Claim]) -> str:
    """How many of the paper's claims hold, and which do not."""
    words = {
        "holds": "confirmed here",
        "does not hold": "contradicted",
        "undecided": "undecided with so few users",
        "not tested": "not run",
    }
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in words}
    said = ", ".join(f"{count} {words[verdict]}" for verdict, count in counts.items() if count)
    return f"Of the {len(claims)} claims of the paper: {said}. The report has each of them."


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
