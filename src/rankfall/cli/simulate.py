"""``rankfall simulate``: compare policies on a generated catalog."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from rankfall.cli.option_types import PolicyNames
from rankfall.cli.progress import StepRate
from rankfall.data import Generated, generate
from rankfall.errors import ProblemError
from rankfall.experiments import figures
from rankfall.experiments.paper import PAPER
from rankfall.experiments.results import summary
from rankfall.experiments.simulation import simulate_many
from rankfall.files import make_folder, replacing
from rankfall.policies import find_policy, make_policy, settings_of
from rankfall.users import CascadeUser


@click.command(name="simulate")
@click.option(
    "--policies",
    type=PolicyNames(),
    default=",".join(PAPER),
    help="Policies to compare, separated by commas; your own as module:Name.  [default: the five of the paper]",
)
@click.option("--items", type=click.IntRange(2), default=200, show_default=True, help="Number of items in the catalog.")
@click.option(
    "--topics", type=click.IntRange(0), default=10, show_default=True, help="Number of topics that items may cover."
)
@click.option(
    "--features", type=click.IntRange(0), default=5, show_default=True, help="Number of relevance features of an item."
)
@click.option("--k", type=click.IntRange(1), default=10, show_default=True, help="Number of positions in a list.")
@click.option(
    "--steps", type=click.IntRange(1), default=5000, show_default=True, help="Number of lists shown to each user."
)
@click.option(
    "--users",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of users, each with preferences of their own.",
)
@click.option(
    "--tradeoff",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="What users care about: 1 is all relevance, 0 all diversity.",
)
@click.option("--gamma", type=click.FloatRange(0), default=1.0, show_default=True, help="How much policies explore.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the random numbers; the same seed gives the same result.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/simulate"),
    show_default=True,
    help="Folder for the figure and the numbers.",
)
def command(
    policies: tuple[str, ...],
    items: int,
    topics: int,
    features: int,
    k: int,
    steps: int,
    users: int,
    tradeoff: float,
    gamma: float,
    seed: int,
    out: Path,
) -> None:
    """Compare policies on a generated catalog.

    Prints a table and writes the regret of each policy as a figure and as numbers. rankfall policies lists the policies
    there are.
    """
    if k > items:
        raise ProblemError(f"--k is {k} and there are {items} --items; a list cannot be longer than the catalog")
    make_folder(out)
    world = generate(items, topics, features, users=users, seed=seed)
    runs = _compare(world, policies, k, steps, tradeoff, gamma, seed)
    numbers = out / "runs.parquet"
    with replacing(numbers) as temporary:
        runs.write_parquet(temporary)
    table = summary(runs)
    figure = figures.regret(table, title=f"{items} items, {topics} topics, K={k}, tradeoff {tradeoff:g}")
    written = [*figures.save(figure, out / "regret"), numbers]
    console = Console()
    console.print(_final(table.filter(pl.col("step") == steps)))
    console.print("Look at:")
    for path in written:
        console.print(f"  {path}", highlight=False, soft_wrap=True)


def _compare(
    world: Generated, policies: tuple[str, ...], k: int, steps: int, tradeoff: float, gamma: float, seed: int
) -> pl.DataFrame:
    """Every policy on every user, with common random numbers."""
    catalog = world.catalog
    users = [
        CascadeUser(catalog.coverage, catalog.relevance, theta, beta, tradeoff)
        for theta, beta in zip(world.theta, world.beta, strict=True)
    ]
    made = {}
    for name in policies:  # all of them before the first one runs: what one of them lacks is said at once
        explores = {"gamma": gamma} if "gamma" in settings_of(find_policy(name)) else {}
        made[name] = make_policy(name, catalog, k=k, steps=steps, **explores)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        StepRate(),
        TimeRemainingColumn(),
    )
    frames = []
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("simulating", total=len(policies) * len(users) * steps)
        for name, policy in made.items():
            bar.update(task, description=name)
            runs = simulate_many(policy, users, steps, k, seed=seed, progress=lambda n: bar.advance(task, n))
            frames += [run.frame(policy=name, user=index) for index, run in enumerate(runs)]
        bar.update(task, description="simulated")
    return pl.concat(frames)


def _final(last: pl.DataFrame) -> Table:
    """The table at the end, best policy first."""
    table = Table(title=f"After {last['step'][0]:,} steps, mean of {last['runs'][0]} users ± standard error")
    for heading in ("policy", "regret", "lists clicked"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for row in last.sort("regret").iter_rows(named=True):
        regret = f"{row['regret']:.1f} ± {_or_unknown(row['regret_error'], '.1f')}"
        clicked = f"{row['click_rate']:.1%} ± {_or_unknown(row['click_rate_error'], '.1%')}"
        table.add_row(row["policy"], regret, clicked)
    return table


def _or_unknown(value: float | None, form: str) -> str:
    return "?" if value is None else format(value, form)
