"""How many steps a second policies that are not linear make in the general loop of ``simulate``.

    python benchmarks/general_loop.py
    python benchmarks/general_loop.py CascadeKLUCB TopRank --steps 20000

The user is plain Python. The fastest of three runs counts, to leave out other work of the machine. Each is compared
with a policy that shows the first items and learns nothing, whose time is that of the loop and the user alone.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial

import click
import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.catalog import Catalog
from rankfall.experiments.simulation import simulate
from rankfall.policies import POLICIES, LinearPolicy, Policy, PolicyLike, Ranking, make_policy
from rankfall.policies.request import Request

NAMES = [name for name, policy in POLICIES.items() if not issubclass(policy, LinearPolicy)]


class Reader:
    """A user who examines each position with its own probability; a step costs a few additions."""

    def __init__(self, attraction: Sequence[float], examination: Sequence[float]) -> None:
        self.attraction, self.examination = list(attraction), list(examination)
        self.n_items = len(self.attraction)

    def reward(self, items: IntArray) -> float:
        """Expected number of clicks."""
        return sum(self.attraction[i] * seen for i, seen in zip(items.tolist(), self.examination, strict=True))

    def click(self, items: IntArray, coins: FloatArray) -> tuple[int, ...] | None:
        """Positions whose coin falls below the probability of a click."""
        chances = [self.attraction[i] * seen for i, seen in zip(items.tolist(), self.examination, strict=True)]
        return tuple(k for k, coin in enumerate(coins.tolist()) if coin < chances[k]) or None

    def best(self, k: int) -> IntArray:
        """The most attractive items."""
        return np.argsort(-np.array(self.attraction), kind="stable")[:k]


class Nothing(Policy):
    """Shows the first items, and learns nothing."""

    def choose(self, request: Request, rng: np.random.Generator | None) -> Ranking:  # noqa: ARG002
        """The first items."""
        return Ranking.trusted(request.rows[: request.k])

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Nothing."""


def fastest(make: Callable[[], PolicyLike], user: Reader, steps: int, k: int) -> float:
    """Seconds of the fastest of three runs."""
    simulate(make(), user, 200, k)  # compiles kernels
    took = []
    for seed in range(3):
        policy = make()
        began = time.perf_counter()
        simulate(policy, user, steps, k, seed)
        took.append(time.perf_counter() - began)
    return min(took)


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--items", default=16, show_default=True, help="Number of items.")
@click.option("--k", default=4, show_default=True, help="Number of positions in a list.")
@click.option("--steps", default=50_000, show_default=True, help="Number of steps in each run.")
def main(names: tuple[str, ...], items: int, k: int, steps: int) -> None:
    """Print the steps a second of each policy."""
    rng = np.random.default_rng(0)
    catalog = Catalog(coverage=rng.random((items, 4)), relevance=rng.random((items, 4)))
    user = Reader(rng.permutation(np.linspace(0.05, 0.6, items)).tolist(), (0.7 ** np.arange(k)).tolist())
    nothing = fastest(lambda: Nothing(catalog), user, steps, k)
    click.echo(f"{'nothing':24} {steps / nothing:>10,.0f} steps/s")
    for name in names or NAMES:
        took = fastest(partial(make_policy, name, catalog, k=k, steps=steps), user, steps, k)
        click.echo(f"{name:24} {steps / took:>10,.0f} steps/s  {took / nothing:>5.1f} x")


if __name__ == "__main__":
    main()
