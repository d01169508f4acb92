"""How long it takes to fit click models to a million lists of ten, compared with one pass of polars over the rows.

    python benchmarks/fit.py --lists 1000000 --items 1000 --k 10

The click log of a simulated user is written to Parquet for each model, and each fit reads it from there. The second
time is without compiling kernels.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import click
import numpy as np
import polars as pl

from rankfall.users import Cascade, DependentClick, PerItem, PositionBased, User
from rankfall.users.fitting import FITS, draw_log


def seconds(what: Callable[[], object]) -> float:
    """How long it takes."""
    began = perf_counter()
    what()
    return perf_counter() - began


def random_lists(n_items: int, lists: int, k: int, seed: int) -> np.ndarray:
    """(lists, k) items at random, none twice in a list: a random start, and a stride that shares no divisor."""
    rng = np.random.default_rng(seed)
    strides = np.array([s for s in range(1, n_items) if np.gcd(s, n_items) == 1])
    return (rng.integers(n_items, size=(lists, 1)) + rng.choice(strides, size=(lists, 1)) * np.arange(k)) % n_items


@click.command(help=__doc__)
@click.option("--lists", default=1_000_000, show_default=True, help="Number of lists.")
@click.option("--items", default=1_000, show_default=True, help="Number of items.")
@click.option("--k", default=10, show_default=True, help="Number of positions in a list.")
def main(lists: int, items: int, k: int) -> None:
    """Draw the logs, fit the models, and print the times."""
    alpha = np.random.default_rng(0).beta(1.0, 6.0, size=items)
    users = {
        "cascade": User(PerItem(alpha), Cascade()),
        "dependent_click": User(PerItem(alpha), DependentClick(np.linspace(0.7, 0.3, k))),
        "position_based": User(PerItem(alpha), PositionBased(0.85 ** np.arange(k))),
    }
    shown = random_lists(items, lists, k, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clicks.parquet"
        for name, user in users.items():
            draw_log(user, shown, seed=2).write_parquet(path)
            first, again = (seconds(lambda n=name: FITS[n](path)) for _ in range(2))
            fitted = FITS[name](path)
            off = float(np.sqrt(np.mean((fitted.attraction - alpha) ** 2)))
            plain = seconds(
                lambda: pl.read_parquet(path).group_by("item", "position").agg(pl.len(), pl.col("click").sum())
            )
            click.echo(
                f"{name:>16}: {first:5.1f} s, second time {again:5.1f} s, {fitted.iterations} steps, attraction off by "
                f"{off:.4f}; reading and one group_by over the same rows: {plain:.1f} s"
            )


if __name__ == "__main__":
    main()
