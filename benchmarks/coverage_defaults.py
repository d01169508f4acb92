"""How well an item should count as covering a topic that it merely names, over several data sets.

    python benchmarks/coverage_defaults.py --movielens-1m path/to/ml-1m

Users know the coverage of section 4.1, or that of a generated catalog. Policies only know which items are of which
topics, and take every one of them to cover its topics by the same weight. Tables with a row for each data set and a
column for each weight:

- a shop: lists drawn at random are shown to many users, one model learns from all clicks and makes its best list. How
  often that one is clicked. Here, coverage is also estimated from another log of the same length, as ``rankfall
  catalog build`` does, with its two audiences;
- one user: the same for a log of one user, as a share of the best list there is;
- a shop while it explores: one model makes every list, each for one of the users, and learns from the click on it;
- one user while it explores: the same with a model for each user, for several gammas.

In the last two a number is the regret of CascadeHybrid divided by that of CascadeLinUCB: below 1, topics help.
Intervals are 95 %, of the geometric mean over data sets, by drawing runs again (paired: the same for every column).

``known`` is CascadeHybrid with the coverage estimated from other users, for movies, or the true one. CascadeLinUCB
knows nothing of topics. All see the same users and coins.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import click
import numpy as np
import polars as pl

from rankfall import CascadeHybrid, CascadeLinUCB, CascadeUser, Catalog, LinearPolicy, prepare, simulate_many
from rankfall.arrays import BoolArray, FloatArray, IntArray
from rankfall.data import find
from rankfall.data.catalogs.coverage import Audience, coverage_from_clicks
from rankfall.data.catalogs.interactions import interactions
from rankfall.topic_cells import TOPIC_WEIGHT
from rankfall.users import Environment
from rankfall.users.fitting import draw_log

WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
K = 10
SHOPPERS = 200

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class World:
    """Items as they are known, which of them are of which topics, and users."""

    name: str
    known: Catalog
    membership: BoolArray
    users: list[CascadeUser]


def movies(name: str, source: str, users: int, tradeoff: float) -> World:
    """Movies of a data set, and the first of its test users; ratings of 4 or more are positive."""
    data = prepare(find(source), users=1000, items=1000, threshold=4.0)
    people = [
        CascadeUser(data.user_coverage, data.relevance, data.theta[u], data.beta[u], tradeoff) for u in range(users)
    ]
    return World(name, data.catalog(), data.membership[:, : data.n_topics], people)


def generated(name: str, users: int, tradeoff: float, *, most: int, mean: float, items: int = 1000) -> World:
    """Items of one to ``most`` of 15 topics, popular ones more often, covered by ``mean`` on average."""
    rng = np.random.default_rng(7)
    coverage, popularity = np.zeros((items, 15)), 1.0 / np.arange(1, 16) ** 0.7
    for row in coverage:
        chosen = rng.choice(15, int(rng.integers(1, most + 1)), replace=False, p=popularity / popularity.sum())
        row[chosen] = rng.beta(2 * mean / (1 - mean), 2.0, len(chosen))
    relevance = rng.normal(0.5, 1.0, (items, 8))
    relevance /= np.linalg.norm(relevance, axis=1, keepdims=True)
    theta = rng.dirichlet(np.full(15, 0.3), users)
    beta = rng.normal(0.5, 1.0, (users, 8))
    beta *= 0.3 / np.linalg.norm(beta, axis=1, keepdims=True)
    people = [CascadeUser(coverage, relevance, theta[u], beta[u], tradeoff) for u in range(users)]
    return World(name, Catalog(coverage, relevance), coverage > 0, people)


def worlds(movielens_1m: Path | None, users: int, tradeoff: float) -> Iterator[World]:
    """All of them."""
    yield movies("movielens-small", "movielens-small", users, tradeoff)
    if movielens_1m is not None:
        yield movies("movielens-1m", str(movielens_1m), users, tradeoff)
    yield generated("one topic an item", users, tradeoff, most=1, mean=0.2)
    yield generated("up to six topics an item", users, tradeoff, most=6, mean=0.1)
    yield generated("up to two, strongly covered", users, tradeoff, most=2, mean=0.5)


@cache
def logged(world: World, lists: int) -> list[tuple[IntArray, BoolArray]]:
    """For each user: lists drawn at random, and which items of them were clicked."""
    made = []
    for number, user in enumerate(world.users):
        keys = np.random.default_rng(number).random((lists, len(world.known)))
        shown = np.argpartition(keys, K, axis=1)[:, :K]
        made.append((shown, draw_log(user, shown, seed=number)["click"].to_numpy().reshape(lists, K)))
    return made


def learned_from(policy: LinearPolicy, shown: IntArray, clicked: BoolArray) -> LinearPolicy:
    """The policy after it has learned from these lists, without exploration."""
    seen = np.cumsum(clicked, axis=1) - clicked == 0  # down to the first click
    phi = policy.features_of(shown)
    gram = np.eye(phi.shape[2]) + phi[seen].T @ phi[seen]
    moment, covariance = phi[clicked].sum(axis=0), np.linalg.inv(gram)
    state = {"gram": gram, "covariance": covariance, "moment": moment, "weights": covariance @ moment}
    learned = policy.with_settings(gamma=0.0)
    learned.restore({**state, "counts": np.array([len(shown), 0, 0])})
    return learned


def from_log(policy: LinearPolicy, world: World, lists: int) -> float:
    """Click rate of the list learned from a user's log, as a share of that of the best list; the mean over users."""
    shares = []
    for user, (shown, clicked) in zip(world.users, logged(world, lists), strict=True):
        learned = learned_from(policy, shown, clicked)
        shares.append(user.reward(learned.rank(K).items) / user.reward(user.best(K)))
    return float(np.mean(shares))


def in_shop(policy: LinearPolicy, world: World, lists: int) -> float:
    """Click rate, over all users, of the one list learned from a log of all of them."""
    logs = [(shown[::2], clicked[::2]) for shown, clicked in logged(world, 2 * lists // len(world.users))]
    learned = learned_from(policy, *(np.concatenate(each) for each in zip(*logs, strict=True)))
    items = learned.rank(K).items
    return float(np.mean([user.reward(items) for user in world.users]))


def estimated(world: World, lists: int, audience: Audience) -> Catalog:
    """The catalog with coverage estimated from an earlier log, as long as that of :func:`in_shop`."""
    logs = [(shown[1::2], clicked[1::2]) for shown, clicked in logged(world, 2 * lists // len(world.users))]
    rows = [
        pl.DataFrame({"who": [f"user {u}"] * clicked.size, "item": shown.ravel(), "click": clicked.ravel()})
        for u, (shown, clicked) in enumerate(logs)
    ]
    seen = interactions(rows, tuple(range(len(world.known))), world.membership)
    made = coverage_from_clicks(seen, world.membership, typical=TOPIC_WEIGHT, audience=audience)
    return Catalog(made.coverage, world.known.relevance)


def regrets(policy: LinearPolicy, users: Sequence[Environment], steps: int, repeats: int) -> FloatArray:
    """(users * repeats,) regret of each run."""
    runs = simulate_many(policy, users, steps, K, repeats=repeats, checkpoints=[steps])
    return np.array([run.regret[-1] for run in runs])


class Visitors:
    """The users of a world as one: every list is shown to one of them, who is drawn and unknown to the policy."""

    def __init__(self, world: World, tradeoff: float) -> None:
        shown = [user.attraction for user in world.users]
        self._coverage = shown[0].coverage
        self._theta = (1.0 - tradeoff) * np.array([each.theta for each in shown])
        self._relevance = tradeoff * shown[0].relevance @ np.array([each.beta for each in shown]).T
        self.n_items = len(self._coverage)

    def _attraction(self, items: IntArray) -> FloatArray:
        """(k, users) attraction of each item of a list, given those above it."""
        left = np.cumprod(np.vstack([np.ones(self._coverage.shape[1]), 1.0 - self._coverage[items[:-1]]]), axis=0)
        found: FloatArray = np.clip((left * self._coverage[items]) @ self._theta.T + self._relevance[items], 0.0, 1.0)
        return found

    def reward(self, items: IntArray) -> float:
        """Probability of a click, over the users."""
        return 1.0 - float((1.0 - self._attraction(items)).prod(axis=0).mean())

    def click(self, items: IntArray, coins: FloatArray) -> int | None:
        """Position of the click; the first coin decides both on the user and on the first position."""
        which, first = divmod(coins[0] * len(self._theta), 1.0)
        clicked = np.append(first, coins[1:]) < self._attraction(items)[:, int(which)]
        return int(np.argmax(clicked)) if clicked.any() else None

    def best(self, k: int) -> IntArray:
        """The greedy list: at each position the item that adds most clicks to those above."""
        none, left, items = np.ones(len(self._theta)), np.ones(self._coverage.shape[1]), np.empty(k, dtype=np.int64)
        for position in range(k):
            attraction = np.clip((left * self._coverage) @ self._theta.T + self._relevance, 0.0, 1.0)
            gains = attraction @ none
            gains[items[:position]] = -1.0
            items[position] = chosen = int(np.argmax(gains))
            none, left = none * (1.0 - attraction[chosen]), left * (1.0 - self._coverage[chosen])
        return items


def table(title: str, rows: Iterable[tuple[str, dict[str, float]]]) -> None:
    """Print a table, and geometric means below it."""
    click.echo(f"\n{title}\n")
    printed: list[dict[str, float]] = []
    for name, row in rows:
        if not printed:
            click.echo(f"| data set | {' | '.join(row)} |\n|{'---|' * (len(row) + 1)}")
        printed.append(row)
        click.echo(f"| {name} | {' | '.join(f'{each:.3f}' for each in row.values())} |")
    middle = np.exp(np.mean(np.log([list(row.values()) for row in printed]), axis=0))
    click.echo(f"| geometric mean | {' | '.join(f'{each:.3f}' for each in middle)} |")


def regret_table(title: str, rows: Iterable[tuple[str, dict[str, FloatArray]]]) -> None:
    """Print regrets as shares of CascadeLinUCB's, which is the last column; geometric means and intervals below."""
    click.echo(f"\n{title}\n")
    runs: list[FloatArray] = []
    for name, row in rows:
        if not runs:
            click.echo(f"| data set | {' | '.join(row)} |\n|{'---|' * (len(row) + 1)}")
        runs.append(np.array(list(row.values())))
        means = runs[-1].mean(axis=1)
        click.echo(f"| {name} | {' | '.join(f'{each:.3f}' for each in means[:-1] / means[-1])} | {means[-1]:.0f} |")
    rng = np.random.default_rng(0)
    drawn = [
        np.log([one[:, rng.integers(one.shape[1], size=one.shape[1])].mean(axis=1) for _ in range(2000)])
        for one in runs
    ]
    middle = np.exp(np.mean([np.log(one.mean(axis=1) / one[-1].mean()) for one in runs], axis=0))
    spread = np.exp(np.quantile(np.mean([one - one[:, -1:] for one in drawn], axis=0), [0.025, 0.975], axis=0))
    click.echo(f"| geometric mean | {' | '.join(f'{each:.3f}' for each in middle[:-1])} | |")
    click.echo(f"| from | {' | '.join(f'{each:.3f}' for each in spread[0, :-1])} | |")
    click.echo(f"| to | {' | '.join(f'{each:.3f}' for each in spread[1, :-1])} | |")


def rows(
    made: Iterable[World],
    measure: Callable[[LinearPolicy, World], T],
    gamma: float,
    more: Callable[[World], dict[str, Catalog]] = lambda _: {},
) -> Iterator[tuple[str, dict[str, T]]]:
    """For each data set what CascadeHybrid has for each weight, and with other catalogs; and CascadeLinUCB."""
    for world in made:
        named = {f"{weight:g}": Catalog(weight * world.membership, world.known.relevance) for weight in WEIGHTS}
        hybrid = {
            name: measure(CascadeHybrid(each, gamma=gamma), world)
            for name, each in {**named, **more(world), "known": world.known}.items()
        }
        yield world.name, {**hybrid, "CascadeLinUCB": measure(CascadeLinUCB(world.known, gamma=gamma), world)}


@click.command()
@click.option("--movielens-1m", type=click.Path(path_type=Path, exists=True), help="Folder of MovieLens 1M.")
@click.option("--users", default=20, show_default=True, help="Users of each data set, where each has a model.")
@click.option("--steps", default=5000, show_default=True, help="Lists shown to each user, where each has a model.")
@click.option("--shop-lists", default=20_000, show_default=True, help="Lists shown in the shop.")
@click.option("--repeats", default=4, show_default=True, help="Runs of the shop while it explores.")
@click.option("--gamma", "gammas", multiple=True, default=(0.3, 0.5, 1.0), show_default=True, help="May be repeated.")
@click.option("--tradeoff", default=0.5, show_default=True, help="1 is all relevance, 0 all diversity.")
def main(
    movielens_1m: Path | None,
    users: int,
    steps: int,
    shop_lists: int,
    repeats: int,
    gammas: tuple[float, ...],
    tradeoff: float,
) -> None:
    """Print the tables."""
    words = f"tradeoff {tradeoff:g}"
    people = list(worlds(movielens_1m, users, tradeoff))
    each = rows(people, lambda policy, world: from_log(policy, world, steps), 0.0)
    table(f"Share of the best list's click rate, learned from {steps} lists; {users} users, {words}.", each)
    logged.cache_clear()
    for gamma in gammas:
        paid = rows(people, lambda policy, world: regrets(policy, world.users, steps, 1), gamma)
        regret_table(f"Regret / that of CascadeLinUCB, {steps} steps, gamma {gamma:g}; {users} users, {words}.", paid)
    shops = list(worlds(movielens_1m, SHOPPERS, tradeoff))
    shop = rows(
        shops,
        lambda policy, world: in_shop(policy, world, shop_lists),
        0.0,
        lambda world: {
            "from a log": estimated(world, shop_lists, "shown"),
            "everyone": estimated(world, shop_lists, "everyone"),
        },
    )
    table(f"Click rate of the one list learned from {shop_lists} lists of {SHOPPERS} users; {words}.", shop)
    logged.cache_clear()
    for gamma in gammas:
        paid = rows(
            shops,
            lambda policy, world: regrets(policy, [Visitors(world, tradeoff)], shop_lists, repeats),
            gamma,
        )
        size = f"{shop_lists} lists, gamma {gamma:g}; {repeats} runs, {words}"
        regret_table(f"Regret / that of CascadeLinUCB in the shop, {size}.", paid)


if __name__ == "__main__":
    main()
