"""What ``rankfall reproduce`` and ``rankfall run`` do with a study: run it, or say how long it would take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

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
from rankfall.experiments import Folder, Forecast, Plan, Status, Study, carry_out, forecast, paper_study, plan
from rankfall.experiments.report import write_report
from rankfall.experiments.simulation import cores

_OFTEN = 0.3  # seconds between two looks; a rate is taken over a thousand looks, so that it spans all policies
C = TypeVar("C", bound=Callable[..., Any])


def run_options(command: C) -> C:
    """The options of every command that runs a study."""
    for option in reversed(
        (
            click.option(
                "--out",
                type=click.Path(path_type=Path, file_okay=False),
                required=True,
                help="Folder for the results. A run that was stopped continues from what is in it.",
            ),
            click.option("--workers", type=click.IntRange(1), help="Number of workers.  [default: one for each core]"),
            click.option("--scheduler", metavar="ADDRESS", help="Run on this Dask cluster (needs rankfall[cluster])."),
            click.option("--dry-run", is_flag=True, help="Only say how much work it is and how long it will take."),
        )
    ):
        command = option(command)
    return command


def conduct(
    study: Study, out: Path, *, workers: int | None, scheduler: str | None, dry_run: bool, paper: bool = False
) -> None:
    """Run a study and name the files written; or, for a dry run, measure and foretell.

    With ``paper`` the foretelling includes the paper's whole grid.
    """
    with Console(stderr=True).status(f"preparing {study.dataset}"):
        laid = plan(study)
    if dry_run:
        _foretell(laid, out, workers or cores(), paper)
        return
    runs = _run(laid, out, workers, scheduler)
    folder = Folder(out, laid)
    written = [folder.runs, out / "study.toml", out / "provenance.json", out / "timings.json"]
    written += write_report(out, runs, settings(folder))
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for note in laid.notes:
        console.print(f"Note: {note}.")
    console.print("Look at:")
    for path in written:
        if path.exists():
            console.print(f"  {path}")


def settings(folder: Folder) -> dict[str, object]:
    """What a report should say about how the results came about; under "timings", how fast."""
    laid, study = folder.plan, folder.plan.study
    return {
        "name": study.name,
        "dataset": laid.prepared.dataset,
        "policies": list(study.policies),
        "gamma": study.gamma,
        "users": laid.cells[0].users,
        "repeats": study.repeats,
        "steps": study.steps,
        "interactions": laid.interactions,
        "seed": study.seed,
        "preparation": asdict(study.preparation),
        "data": {line.split()[0]: line.split(maxsplit=1)[1] for line in laid.prepared.describe().splitlines()[1:]},
        "notes": list(laid.notes) or "none",
        "provenance": {name: value for name, value in folder.provenance().items() if name not in {"seed", "notes"}},
        "timings": _speeds(folder),
    }


def _speeds(folder: Folder) -> dict[str, object]:
    """Of each policy, and in all."""
    timings = list(folder.timings().values())
    said: dict[str, object] = {}
    for policy in folder.plan.study.policies:
        rows = [row for row in timings if row["policy"] == policy]
        work = sum(row["seconds"] * row["workers"] for row in rows)
        if work:
            said[policy] = f"{sum(row['steps'] for row in rows) / work:,.0f} steps a second on one core"
    said["all cells"] = _duration(sum(row["seconds"] for row in timings)) + ", one after the other"
    return said


def _run(laid: Plan, out: Path, workers: int | None, scheduler: str | None) -> pl.DataFrame:
    with _progress() as watch:
        try:
            return carry_out(laid, out, workers=workers, scheduler=scheduler, watch=watch)
        except KeyboardInterrupt:
            there = len(list((out / "cells").glob("*.parquet")))
            click.echo(
                f"\n{there} of {len(laid.cells)} cells are done and kept in {out}. "
                "Give the same command again to go on.",
                err=True,
            )
            raise


@contextmanager
def _progress() -> Iterator[Callable[[Status], None]]:
    console = Console(stderr=True)
    columns: tuple[ProgressColumn, ...] = (
        TextColumn("{task.fields[cells]}"),
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
            cells = f"{status.cells_done}/{status.cells} cells"
            if not task:  # what was there already is no part of the rate
                task.append(bar.add_task(status.at, total=status.total, completed=status.done, cells=cells))
            bar.update(task[0], completed=status.done, description=status.at, cells=cells)

        yield watch


def _foretell(laid: Plan, out: Path, workers: int, paper: bool) -> None:
    """Print what there is to do, what was measured, and what follows."""
    folder = Folder(out, laid)
    folder.check()
    study, missing = laid.study, folder.missing()
    whole = plan(paper_study(study.dataset, scale="paper", preparation=study.preparation), laid.prepared)
    with Console(stderr=True).status("measuring"):
        measured = forecast(whole if paper else laid, workers)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(f"{study.name}: {len(study.policies)} policies, {len(study.grid)} settings")
    shared = len(laid.rows) - len(laid.cells)
    console.print(
        f"{len(laid.cells)} cells ({shared} more are shared), {len(laid.cells) - len(missing)} of them done"
        if shared
        else f"{len(laid.cells)} cells, {len(laid.cells) - len(missing)} of them done"
    )
    first = laid.cells[0]
    console.print(
        f"{laid.interactions:,} interactions: in each cell {first.users} users x {first.repeats} repeats "
        f"x {first.steps:,} steps"
    )
    for note in laid.notes:
        console.print(f"Note: {note}.")
    console.print(_paces(measured))
    console.print(f"Expected time: {_duration(measured.seconds(missing))} with {_threads(workers)}")
    if paper:
        # The paper's own 500 users, also where this data set has fewer: the question is about the paper.
        cells = [replace(cell, users=whole.study.users) for cell in whole.cells]
        interactions, seconds = 2 * sum(cell.interactions for cell in cells), 2 * measured.seconds(cells)
        console.print(
            f"The paper's whole grid, both data sets: {interactions:,} interactions, "
            f"{_duration(seconds)} with {_threads(workers)}"
        )
    console.print(
        f"From {len(measured.paces)} trials in {measured.took:.0f} s, {_threads(workers)} at once. This assumes that "
        "settings in between are like the nearest one tried, that later steps go on as the last third of a trial did, "
        "that kernels are compiled, "
        + ("that the paper's other data set is as fast as this one, " if paper else "")
        + "and that the machine does nothing else."
    )
    if measured.crowding > 1.2:
        console.print(f"Right now it does: a second of work takes {measured.crowding:.1f} s.")


def _paces(measured: Forecast) -> Table:
    table = Table(title="Measured, microseconds a step of one worker")
    for heading in ("policy", "first 1,000 steps", "later"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for policy in dict.fromkeys(pace.cell.policy for pace in measured.paces):
        early, late = measured.per_step(policy)
        table.add_row(policy, f"{1e6 * early:.0f}", f"{1e6 * late:.1f}")
    return table


def _threads(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"


def _duration(seconds: float) -> str:
    """In the unit people would use.

    >>> [_duration(s) for s in (3.2, 100, 5400, 200000)]
    ['3 s', '1.7 minutes', '1.5 hours', '55.6 hours']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"
