"""What ``--dry-run`` prints: how much work a study is, what was measured, and what follows."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from rankfall.experiments import Folder, Forecast, Plan, forecast
from rankfall.experiments.paper.whole_grid import grid_time, whole_grid
from rankfall.experiments.report.numbers import duration, span


def print_forecast(laid: Plan, out: Path, workers: int, paper: bool) -> None:
    """Try every policy, and print how long the study will take; with ``paper``, also the paper's whole grid."""
    folder, study = Folder(out, laid), laid.study
    folder.check()
    missing = folder.missing()
    whole = whole_grid(study.user["dataset"], laid) if paper else laid
    with Console(stderr=True).status("measuring"):
        measured = forecast(whole, workers)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    points = sum(len(sweep.points) for sweep in study.sweeps)
    at_points = f", {points} points of sweeps" if points else ""
    shared = len(laid.rows) - len(laid.setups)
    simulated = f": {len(laid.setups)} to simulate, as {shared} coincide with others" if shared else ""
    console.print(f"{study.name}: {len(study.all_cases)} cases{at_points}{simulated}")
    console.print(
        f"{laid.steps:,} steps: for each case {span(setup.users for setup in laid.setups)} users "
        f"x {study.repeats} repeats x {study.steps:,} steps"
    )
    console.print(f"{len(laid.chunks):,} chunks, {len(laid.chunks) - len(missing):,} of them done")
    for note in laid.notes:
        console.print(f"Note: {note}.")
    console.print(_speeds(measured))
    console.print(f"Expected time: {duration(measured.seconds(missing))} with {_workers(workers)}")
    if paper:
        time = grid_time(whole, measured)
        console.print(
            f"The paper's whole grid, both data sets: {time.steps:,} steps, {duration(time.seconds)} with "
            f"{_workers(workers)}"
        )
    console.print(
        f"From {len(measured.trials)} trials in {measured.took:.0f} s, {_workers(workers)} at once. This assumes that "
        "other cases are like the nearest one tried, that later steps take as long as the last third of a trial, "
        "that kernels are compiled, "
        + ("that the paper's other data set is as fast as this one, " if paper else "")
        + "and that the machine does nothing else."
    )
    if measured.crowding > 1.2:
        console.print(f"Right now the machine is busy: a second of work takes {measured.crowding:.1f} s.")


def _speeds(measured: Forecast) -> Table:
    table = Table(title="Measured, microseconds a step of one worker")
    for heading in ("policy", "first 1,000 steps", "later"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for policy in dict.fromkeys(trial.setup.name for trial in measured.trials):
        early, late = measured.per_step(policy)
        table.add_row(policy, f"{1e6 * early:.0f}", f"{1e6 * late:.1f}")
    return table


def _workers(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"
