"""``rankfall bench``: how fast policies are, compared with plain NumPy in one run."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from rankfall.experiments.bench.measure import Growth, Serving, Speed


@click.command(name="bench")
@click.option("--data", default="movielens-small", show_default=True, help="Data set: a name, a folder or a zip file.")
@click.option(
    "--steps", type=click.IntRange(100), default=50_000, show_default=True, help="Number of steps in each run."
)
@click.option("--users", type=click.IntRange(1), default=3, show_default=True, help="Number of users to average over.")
@click.option(
    "--numpy-steps", type=click.IntRange(50), default=500, show_default=True, help="Number of steps of plain NumPy."
)
@click.option(
    "--largest", type=click.IntRange(1000), default=100_000, show_default=True, help="Largest catalog to measure."
)
@click.option(
    "--growth/--no-growth",
    default=True,
    show_default=True,
    help="Measure how the time of a step grows with items, topics and positions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/bench"),
    show_default=True,
    help="Folder for the figures measured.",
)
def command(
    data: str, steps: int, users: int, numpy_steps: int, largest: int, growth: bool, as_json: bool, out: Path
) -> None:
    """Measure how fast policies are, compared with plain NumPy.

    Measures the time of a step on one core and on all, how it grows, and the time of a call of rank.
    """
    # One core for NumPy as for us; it must be said before NumPy is imported.
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    from rich.console import Console

    from rankfall.data import find
    from rankfall.data.preparation import prepare
    from rankfall.experiments import figures
    from rankfall.experiments.bench import measure as bench
    from rankfall.experiments.bench.figure import growth_figure
    from rankfall.experiments.paper import PAPER
    from rankfall.experiments.simulation import cores

    bench.give_numpy_its_best()
    notes = Console(stderr=True)
    prepared = prepare(find(data))
    notes.print(f"{prepared!r}, K=10, tradeoff 0.5, {users} users, {steps:,} steps")
    world = bench.World.of(prepared)
    speeds = []
    with notes.status("measuring") as status:
        for name in PAPER:
            status.update(f"{name} against NumPy")
            speeds.append(bench.speed(world, name, steps, 10, users, numpy_steps))
        workers = cores()
        status.update(f"{workers} cores against one")
        gain = bench.side_by_side(world, "CascadeHybrid", steps, 10, workers)
        ranks = []
        for items, warm in ((1_000, 5_000), (100_000, 2_000), (1_000_000, 1_000)):
            if items <= max(largest, 1000):
                status.update(f"rank of {items:,} items")
                ranks.append(bench.serving(world, items, warm))
        grown = []
        if growth:
            for row in bench.growth(world, list(PAPER), steps, largest):
                status.update(f"growth with {row.varied}: {row.policy}, {row.value:,}")
                grown.append(row)
    measured: dict[str, Any] = {
        "data": repr(prepared),
        "steps": steps,
        "speed": [asdict(row) | {"ratio": row.ratio} for row in speeds],
        "cores": {"workers": workers, "ratio": gain},
        "rank": [asdict(row) for row in ranks],
        "growth": [asdict(row) for row in grown],
    }
    out.mkdir(parents=True, exist_ok=True)
    written = out / "bench.json"
    written.write_text(json.dumps(measured, indent=1))
    files = [written, *(figures.save(growth_figure(grown), out / "growth") if grown else [])]
    if as_json:
        click.echo(json.dumps(measured))
        return
    console = Console()
    _show_speed(console, speeds)
    console.print(f"{workers} cores against one: {gain:.2f}x")
    _show_rank(console, ranks)
    if grown:
        _show_growth(console, grown)
    console.print("Look at:")
    for path in files:
        console.print(f"  {path}", highlight=False, soft_wrap=True)


def _show_speed(console: Console, speeds: list[Speed]) -> None:
    from rich.table import Table

    table = Table("policy", title="One core, microseconds a step")
    for heading in ("plain NumPy", "rankfall", "ratio", "items scored"):
        table.add_column(heading, justify="right")
    for row in speeds:
        table.add_row(row.policy, f"{row.numpy:,.0f}", f"{row.ours:.1f}", f"{row.ratio:.0f}x", f"{row.scored:.1f}")
    console.print(table)


def _show_rank(console: Console, ranks: list[Serving]) -> None:
    from rich.table import Table

    table = Table(title="policy.rank alone, CascadeHybrid, K=10, milliseconds (median)")
    for heading in ("items", "unchanged", "after an update", "slowest"):
        table.add_column(heading, justify="right")
    for row in ranks:
        table.add_row(f"{row.items:,}", f"{row.again:.2f}", f"{row.after_update:.2f}", f"{row.slowest:.1f}")
    console.print(table)


def _show_growth(console: Console, grown: list[Growth]) -> None:
    from rich.table import Table

    for varied in dict.fromkeys(row.varied for row in grown):
        rows = [row for row in grown if row.varied == varied]
        values = sorted({row.value for row in rows})
        table = Table("policy", title=f"Microseconds a step by number of {varied}")
        longest = max(row.steps for row in rows)
        for value in values:
            steps = next(row.steps for row in rows if row.value == value)
            table.add_column(f"{value:,}" + ("" if steps == longest else f" ({steps:,} steps)"), justify="right")
        table.add_column("growth", justify="right")
        for name in dict.fromkeys(row.policy for row in rows):
            found = {row.value: row.ours for row in rows if row.policy == name}
            last = max(value for value in values if value <= 100_000)
            table.add_row(name, *(f"{found[v]:,.1f}" for v in values), f"{found[last] / found[values[0]]:.1f}x")
        console.print(table)
