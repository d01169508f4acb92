"""How long it takes to fit click models to a million lists of ten, compared with one pass of polars over the rows.

    python benchmarks/fit.py --lists 1000000 --items 1000 --k 10

The click log of a simulated user is written to Parquet for each model, and each fit reads it from there. The second
time is without compiling kernels. The hybrid user has 18 topics and 10 features, and its ridge is cross-validated.
Times are of the clock, and in brackets of the processor, which other programs do not change.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import click
import numpy as np
import polars as pl

from rankfall.data import generate
from rankfall.users import (
    Cascade,
    ClickChain,
    DependentClick,
    DynamicBayesian,
    ExaminedCascade,
    Hybrid,
    PerItem,
    PositionBased,
    User,
    UserBrowsing,
)
from rankfall.users.fitting import FITS, draw_log, fit_hybrid


class Seconds(NamedTuple):
    """How long something took, by the clock and by the processor."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:.1f} s ({self.processor:.1f})"


def seconds(what: Callable[[], object]) -> Seconds:
    """How long it takes."""
    began = perf_counter(), process_time()
    what()
    return Seconds(perf_counter() - began[0], process_time() - began[1])


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
        "examined_cascade": User(PerItem(alpha), ExaminedCascade(0.85 ** np.arange(k))),
        "dependent_click": User(PerItem(alpha), DependentClick(np.linspace(0.7, 0.3, k))),
        "position_based": User(PerItem(alpha), PositionBased(0.85 ** np.arange(k))),
        "user_browsing": User(PerItem(alpha), UserBrowsing([0.85 ** np.arange(i, -1, -1) for i in range(k)])),
        "dynamic_bayesian": User(PerItem(alpha), DynamicBayesian(1.0 - alpha, 0.9)),
        "simplified_bayesian": User(PerItem(alpha), DynamicBayesian(1.0 - alpha)),
        "click_chain": User(PerItem(alpha), ClickChain([0.95, 0.9, 0.3])),
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
                f"{name:>24}: {first}, second time {again}, {fitted.iterations} steps, attraction off by "
                f"{off:.4f}; reading and one group_by over the same rows: {plain}"
            )
        fit_hybrids(shown, path, items, k)


def fit_hybrids(shown: np.ndarray, path: Path, items: int, k: int) -> None:
    """The hybrid user under two click models, from the same lists."""
    made = generate(items, topics=18, features=10, seed=1)
    attraction = Hybrid(made.catalog.coverage, made.catalog.relevance, made.theta[0], made.beta[0], tradeoff=0.5)
    for name, clicks in (("cascade", Cascade()), ("examined_cascade", ExaminedCascade(0.85 ** np.arange(k)))):
        user = User(attraction, clicks)
        draw_log(user, shown, seed=2).write_parquet(path)
        took = [seconds(lambda n=name: fit_hybrid(path, made.catalog, model=n)) for _ in range(2)]
        fitted = fit_hybrid(path, made.catalog, model=name)
        some = shown[:10_000]
        off = float(np.sqrt(np.mean((fitted.user(k).attraction.of(some) - user.attraction.of(some)) ** 2)))
        click.echo(
            f"{'hybrid, ' + name:>24}: {took[0]}, second time {took[1]}, {fitted.iterations} steps, attraction off by "
            f"{off:.4f}"
        )


if __name__ == "__main__":
    main()
