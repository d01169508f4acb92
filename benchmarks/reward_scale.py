"""By what to divide rewards, so that gamma keeps its meaning: the table of docs/decisions/0011-more-than-clicks.md.

    python benchmarks/reward_scale.py

Dividing all rewards by s gives the same lists as gamma times s, so one sweep over gamma says what every scale is worth.
Users click under the cascade, and buy some of what they click, each by their own taste: a purchase is worth 5 clicks.
Regret is in expected reward, against the greedy list for the true worth of each item.
"""

import click
import numpy as np
from numpy.typing import NDArray

from rankfall import CascadeLinUCB, Catalog

Floats = NDArray[np.float64]

ITEMS, COLUMNS, K = 200, 8, 5
CLICK, PURCHASE = 1.0, 5.0
GAMMAS = (0.1, 0.2, 0.5, 1.0, 2.5, 3.0, 5.0)
"""For rewards as they are: gamma 0.5 is 0.5 if they are divided by the click's, 2.5 by the purchase's, 3 by both."""


def user(rng: np.random.Generator, bought: float) -> tuple[Catalog, Floats, Floats]:
    """Items, and how likely each is clicked when it is seen, and bought; in the mean 12 % are clicked."""
    features = rng.normal(size=(ITEMS, COLUMNS)) / np.sqrt(COLUMNS)
    features[:, 0] = 1 / np.sqrt(COLUMNS)
    taste, purse = rng.normal(size=(2, COLUMNS))
    taste[0] = purse[0] = 0.0
    clicked = np.clip(0.12 + 0.08 * features @ taste, 0.01, 0.9)
    share = np.clip(bought * (1 + 0.7 * features @ purse), 0.0, 1.0)
    return Catalog(relevance=features), clicked, clicked * share


def earned(items: NDArray[np.int64], clicked: Floats, bought: Floats) -> float:
    """What a list earns in expectation: an item is seen if none above it was clicked."""
    seen = np.concatenate([[1.0], np.cumprod(1.0 - clicked[items])[:-1]])
    return float(seen @ (CLICK * clicked[items] + PURCHASE * bought[items]))


def regret(gamma: float, bought: float, lists: int, seed: int) -> float:
    """Regret over so many lists, as a share of what the best list would have earned."""
    rng = np.random.default_rng([seed, int(1000 * bought)])
    catalog, clicked, buys = user(rng, bought)
    best = earned(np.argsort(-(CLICK * clicked + PURCHASE * buys))[:K], clicked, buys)
    policy, total = CascadeLinUCB(catalog, gamma=gamma), 0.0
    for coins in rng.random((lists, K)):
        ranking = policy.rank(K)
        total += earned(ranking.items, clicked, buys)
        hits = np.flatnonzero(coins < clicked[ranking.items])
        click = int(hits[0]) if len(hits) else None
        rewards = {}
        if click is not None:  # the same coin says whether it is bought: it is far enough below for that
            row = ranking.items[click]
            rewards[click] = CLICK + PURCHASE * (coins[click] < buys[row])
        policy.update(ranking, click, rewards)
    return 1.0 - total / (lists * best)


@click.command(help=__doc__)
@click.option("--users", default=40, show_default=True)
@click.option("--lists", default=3000, show_default=True)
def main(users: int, lists: int) -> None:
    """Print the table: the mean over users, and its standard error."""
    click.echo("| bought, of what is clicked | lists | " + " | ".join(f"{gamma:g}" for gamma in GAMMAS) + " |")
    click.echo("|---|---|" + "---|" * len(GAMMAS))
    for bought in (0.02, 0.1, 0.3):
        for length in (lists // 10, lists):
            found = np.array([[regret(g, bought, length, seed) for seed in range(users)] for g in GAMMAS])
            errors = found.std(axis=1, ddof=1) / np.sqrt(users)
            cells = [f"{mean:.1%} ± {error:.1%}" for mean, error in zip(found.mean(axis=1), errors, strict=True)]
            click.echo(f"| {bought:.0%} | {length:,} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
