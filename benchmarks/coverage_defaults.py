"""How well an item should count as covering a topic that it merely names, over several data sets.

    python benchmarks/coverage_defaults.py --movielens-1m path/to/ml-1m

Users know the coverage of section 4.1, or that of a generated catalog. Policies only know which items are of which
topics, and take every one of them to cover its topics by the same weight. Three tables, with a row for each data set
and a column for each weight:

- a shop: lists drawn at random are shown to many users, one model learns from all clicks and makes its best list. How
  often that one is clicked. Here, coverage is also estimated from another log of the same length, as ``rankfall
  catalog build`` does, with its two audiences;
- one user: the same for a log of one user, as a share of the best list there is;
- while it explores: regret of CascadeHybrid, divided by that of CascadeLinUCB. Below 1, topics help.

``known`` is CascadeHybrid with the coverage estimated from other users, for movies, or the true one. CascadeLinUCB
knows nothing of topics. All see the same users and coins.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import numpy as np
import polars as pl

from rankfall import CascadeHybrid, CascadeLinUCB, CascadeUser, Catalog, LinearPolicy, prepare, simulate_many
from rankfall.arrays import BoolArray, IntArray
from rankfall.catalog import TOPIC_WEIGHT
from rankfall.data import find
from rankfall.data.catalogs.coverage import Audience, coverage_from_clicks
from rankfall.data.catalogs.interactions import interactions
from rankfall.users.fitting import draw_log

WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
K = 10
SHOPPERS = 200

Measure = Callable[[LinearPolicy, "World"], float]


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


def regret(policy: LinearPolicy, world: World, steps: int) -> float:
    """Mean regret over users."""
    runs = simulate_many(policy, world.users, steps, K, checkpoints=[steps])
    return float(np.mean([run.regret[-1] for run in runs]))


def table(title: str, rows: Iterator[tuple[str, dict[str, float]]]) -> None:
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


def rows(
    made: Iterable[World], measure: Measure, gamma: float, more: Callable[[World], dict[str, Catalog]] = lambda _: {}
) -> Iterator[tuple[str, dict[str, float]]]:
    """For each data set what CascadeHybrid has for each weight, and with other catalogs; and CascadeLinUCB."""
    for world in made:
        named = {f"{weight:g}": Catalog(weight * world.membership, world.known.relevance) for weight in WEIGHTS}
        hybrid = {
            name: measure(CascadeHybrid(each, gamma=gamma), world)
            for name, each in {**named, **more(world), "known": world.known}.items()
        }
        yield world.name, {**hybrid, "CascadeLinUCB": measure(CascadeLinUCB(world.known, gamma=gamma), world)}


def ratios(each: Iterator[tuple[str, dict[str, float]]]) -> Iterator[tuple[str, dict[str, float]]]:
    """As shares of what CascadeLinUCB has, and that itself."""
    for name, row in each:
        reference = row.pop("CascadeLinUCB")
        yield name, {**{what: value / reference for what, value in row.items()}, "CascadeLinUCB": reference}


@click.command()
@click.option("--movielens-1m", type=click.Path(path_type=Path, exists=True), help="Folder of MovieLens 1M.")
@click.option("--users", default=20, show_default=True, help="Users of each data set.")
@click.option("--steps", default=5000, show_default=True, help="Lists shown to each user, or in the shop to all.")
@click.option("--gamma", default=0.3, show_default=True, help="How much policies explore.")
@click.option("--tradeoff", default=0.5, show_default=True, help="1 is all relevance, 0 all diversity.")
def main(movielens_1m: Path | None, users: int, steps: int, gamma: float, tradeoff: float) -> None:
    """Print the tables."""
    words = f"tradeoff {tradeoff:g}"
    shop = rows(
        worlds(movielens_1m, SHOPPERS, tradeoff),
        lambda policy, world: in_shop(policy, world, steps),
        gamma,
        lambda world: {
            "from a log": estimated(world, steps, "shown"),
            "everyone": estimated(world, steps, "everyone"),
        },
    )
    table(f"Click rate of the one list learned from {steps} lists of {SHOPPERS} users; {words}.", shop)
    made = list(worlds(movielens_1m, users, tradeoff))
    each = rows(made, lambda policy, world: from_log(policy, world, steps), gamma)
    table(f"Share of the best list's click rate, learned from {steps} lists; {users} users, {words}.", each)
    paid = ratios(rows(made, lambda policy, world: regret(policy, world, steps), gamma))
    table(f"Regret / that of CascadeLinUCB, {steps} steps, gamma {gamma:g}; {users} users, {words}.", paid)


if __name__ == "__main__":
    main()
