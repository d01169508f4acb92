"""``rankfall bench``: how fast policies are, compared with plain NumPy in one run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankfall.cli.growing_table import GrowingTable

if TYPE_CHECKING:
    from rankfall.experiments.bench.record import Record
    from rankfall.experiments.bench.world import World

_K = 10
_SPARSE, _SPARSE_FROM, _SPARSE_STEPS = "movielens-small", 4.0, 10_000
_SHORTER = 10_000  # steps where what is compared needs no more

Show = Callable[[str], None]


@click.command(name="bench")
@click.option("--data", default="movielens-small", show_default=True, help="Data set: a name, a folder or a zip file.")
@click.option(
    "--steps", type=click.IntRange(100), default=50_000, show_default=True, help="Number of steps in the longest runs."
)
@click.option("--users", type=click.IntRange(1), default=3, show_default=True, help="Number of users to average over.")
@click.option(
    "--numpy-steps", type=click.IntRange(50), default=500, show_default=True, help="Number of steps of plain NumPy."
)
@click.option(
    "--largest",
    type=click.IntRange(1000),
    default=100_000,
    show_default=True,
    help="Largest catalog to measure; a million items take some minutes more.",
)
@click.option(
    "--growth/--no-growth",
    default=True,
    show_default=True,
    help="Measure how the time of a step grows with items, positions, topics and features.",
)
@click.option(
    "--grid/--no-grid", default=True, show_default=True, help="Forecast how long the paper's whole grid would take."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/bench"),
    show_default=True,
    help="Folder for what is measured: bench.json, and the figure of growth.",
)
def command(
    data: str,
    steps: int,
    users: int,
    numpy_steps: int,
    largest: int,
    growth: bool,
    grid: bool,
    as_json: bool,
    out: Path,
) -> None:
    """Measure how fast policies are, compared with plain NumPy.

    Measures the time of a step over the first lists of a model and over many, on the data given and on sparse data;
    the time of a call of rank, by what is asked for; Thompson sampling compared with upper confidence bounds; all cores
    compared with one; how a step grows; and how long the paper's grid would take. Plain NumPy takes turns with it in
    the same process. Rows are printed, and written to bench.json, as they are measured.
    """
    # One core for NumPy as for us; it must be said before NumPy is imported.
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    from rankfall.data import DATASETS, find
    from rankfall.data.preparation import prepare
    from rankfall.experiments.bench.record import Record
    from rankfall.experiments.bench.world import World, give_numpy_its_best

    give_numpy_its_best()
    prepared = prepare(find(data))
    show: Show = (lambda _line: None) if as_json else click.echo
    show(f"{prepared!r}, K={_K}, tradeoff 0.5, {users} users; times are processor times of one thread")
    record = Record(out / "bench.json", data=repr(prepared), steps=steps)
    worlds = {Path(data).name: World.of(prepared)}
    if DATASETS[_SPARSE].path() is not None:
        sparse = prepare(find(_SPARSE), threshold=_SPARSE_FROM)
        worlds[f"{_SPARSE} from {_SPARSE_FROM:g}"] = World.of(sparse)
    world, *_ = worlds.values()
    _measure_steps(worlds, steps, users, numpy_steps, record, show)
    _measure_lists(world, largest, record, show)
    _measure_thompson(world, min(steps, _SHORTER), users, record, show)
    _measure_cores(world, min(steps, _SHORTER), record, show)
    files = [record.path]
    if growth:
        files += _measure_growth(world, min(steps, _SHORTER), largest, out, record, show)
    if grid:
        _forecast_grid(data, record, show)
    if as_json:
        click.echo(json.dumps(record.found))
        return
    show("\nLook at:")
    for path in files:
        show(f"  {path}")


def _measure_steps(
    worlds: dict[str, World], steps: int, users: int, numpy_steps: int, record: Record, show: Show
) -> None:
    from rankfall.experiments.bench.steps import speed
    from rankfall.experiments.paper import PAPER

    columns = {"data": -22, "policy": -17, "steps": 6, "plain NumPy": 6, "rankfall": 7, "ratio": 5, "items scored": 6}
    table = GrowingTable("One core, microseconds a step, mean over so many steps", columns, show)
    for number, (data, world) in enumerate(worlds.items()):
        for name in PAPER:
            longest = min(steps, _SPARSE_STEPS) if number else steps
            for row in speed(data, world, name, longest, _K, users, numpy_steps):
                record.add("speed", row)
                figures = f"{row.numpy:,.0f}", f"{row.ours:,.1f}", f"{row.ratio:.0f}x", f"{row.scored:.1f}"
                table.add([data, name, f"{row.steps:,}", *figures])


def _measure_lists(world: World, largest: int, record: Record, show: Show) -> None:
    from rankfall.experiments.bench.lists import SIZES, lists

    columns = {"items": 9, "CascadeHybrid ranks": -36, "plain NumPy": 8, "rankfall": 8, "ratio": 5, "slowest": 8}
    table = GrowingTable("One call of rank, K=10, milliseconds, median", columns, show)
    for items in (size for size in SIZES if size <= largest):
        for row in lists(world, items, _K):
            record.add("rank", row)
            figures = f"{row.numpy:,.2f}", f"{row.ours:,.3f}", f"{row.ratio:,.0f}x", f"{row.slowest:,.2f}"
            table.add([f"{items:,}", row.asked, *figures])


def _measure_thompson(world: World, steps: int, users: int, record: Record, show: Show) -> None:
    from rankfall.experiments.bench.steps import THOMPSON, drawn

    title = f"Thompson sampling and upper confidence bounds on the same columns, microseconds a step, {steps:,} steps"
    table = GrowingTable(title, {"policy": -15, "bounds": 8, "Thompson": 8, "times": 6}, show)
    for name in THOMPSON:
        row = drawn(world, name, steps, _K, users)
        record.add("thompson", row)
        table.add([name, f"{row.bounds:,.1f}", f"{row.ours:,.1f}", f"{row.ratio:.1f}x"])


def _measure_cores(world: World, steps: int, record: Record, show: Show) -> None:
    from rankfall.experiments.bench.steps import side_by_side
    from rankfall.experiments.simulation import cores

    gain = side_by_side(world, "CascadeHybrid", steps, _K, cores())
    record.add("cores", gain)
    show(f"\n{gain.workers} cores against one: {gain.ratio:.2f}x")


def _measure_growth(world: World, steps: int, largest: int, out: Path, record: Record, show: Show) -> list[Path]:
    from rankfall.experiments import figures
    from rankfall.experiments.bench.figure import growth_figure
    from rankfall.experiments.bench.growth import FIRST, growth
    from rankfall.experiments.paper import PAPER

    title = f"How a step grows, microseconds: the first {FIRST} of a new model, and once it has learned"
    columns = {"by": -9, "number": 9, "policy": -17, "new": 9, "learned": 9, "after steps": 7}
    table, rows = GrowingTable(title, columns, show), []
    for new, learned in growth(world, list(PAPER), steps, largest):
        for row in (new, learned):
            record.add("growth", row)
            rows.append(row)
        numbers = f"{new.ours:,.1f}", f"{learned.ours:,.1f}", f"{learned.steps:,}"
        table.add([new.varied, f"{new.value:,}", new.policy, *numbers])
    return figures.save(growth_figure(rows), out / "growth")


def _forecast_grid(data: str, record: Record, show: Show) -> None:
    from rankfall.experiments import forecast
    from rankfall.experiments.paper.whole_grid import grid_time, whole_grid
    from rankfall.experiments.report.numbers import duration
    from rankfall.experiments.simulation import cores

    whole = whole_grid(data)
    time = grid_time(whole, forecast(whole, cores()))
    record.add("grid", time)
    show(
        f"\nThe paper's whole grid, both data sets, {time.steps:,} steps: {duration(time.seconds)} with "
        f"{time.workers} workers, if the other data set is as fast as this one"
    )
