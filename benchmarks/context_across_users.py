"""Should users start from a prior where models have a context, too? The study of docs/context.md.

    python benchmarks/context_across_users.py movielens-small

Earlier users teach a prior; new users come after them, with a context of three devices. What they start from: nothing,
with variances of crosses chosen from their own clicks; a prior over all crosses; or a prior without any context.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

import click
import numpy as np

from rankfall import (
    AcrossUsers,
    CascadeHybrid,
    CascadeUser,
    Category,
    Context,
    LinearPolicy,
    ManyUsers,
    Prepared,
    Segments,
    prepare,
    simulate_users,
)
from rankfall.data import find
from rankfall.experiments.statistics import interval
from rankfall.users import moved_tastes, situations_of

CONTEXT = Context({"device": Category(["phone", "tablet", "desktop"])})
SITUATIONS = situations_of(CONTEXT)
WORLDS = ("moves alike", "moves apart", "does not move")
"""Tastes move with the device by the same for everybody; by something else for each; or not at all."""


@dataclass(frozen=True)
class Sizes:
    """How much is simulated."""

    earlier: int = 80
    new: int = 60
    before: int = 100  # lists of each earlier user
    lists: int = 200  # of each new one
    tradeoff: float = 0.5
    gamma: float = 0.5
    topics: int = 8


def person_of(user: Hashable) -> int:
    """The person who a user of the simulation is: each is one user in every situation."""
    assert isinstance(user, int)
    return user // len(SITUATIONS)


class AcrossPeople(AcrossUsers):
    """Across users, of whom each comes in several situations."""

    def shares(self, user: Hashable) -> Hashable:
        """The situations of one person."""
        return person_of(user)


def tastes(data: Prepared, world: str, person: int) -> np.ndarray:
    """The preferences of a person in each situation."""
    every = np.hstack([data.theta, data.beta])
    if world == "moves alike":
        shift = moved_tastes(every[0], every, CONTEXT, SITUATIONS, 1.0, seed=0) - every.mean(axis=0)
        return every[person] + shift
    matters = 0.0 if world == "does not move" else 0.7
    return moved_tastes(every[person], every, CONTEXT, SITUATIONS, matters, seed=person)


def regrets(data: Prepared, world: str, sizes: Sizes) -> dict[str, np.ndarray]:
    """(new users, 2) regret over the first 30 lists and over all, by way."""
    catalog, topics, people = data.catalog(), data.theta.shape[1], sizes.earlier + sizes.new
    users = [
        CascadeUser(data.user_coverage, data.relevance, taste[:topics], taste[topics:], sizes.tradeoff)
        for person in range(people)
        for taste in tastes(data, world, person)
    ]
    rng, several = np.random.default_rng(1), len(SITUATIONS)

    def arrivals(who: range, lists: int) -> np.ndarray:
        stream = rng.permutation(np.repeat(np.asarray(who), lists))
        return stream * several + rng.integers(several, size=len(stream))

    before, after = arrivals(range(sizes.earlier), sizes.before), arrivals(range(sizes.earlier, people), sizes.lists)
    plain = CascadeHybrid(catalog, gamma=sizes.gamma)
    told = CascadeHybrid(catalog, gamma=sizes.gamma, context=CONTEXT)

    def taught(policy: LinearPolicy) -> LinearPolicy:
        crowd = AcrossPeople(policy, growth=1.0)
        simulate_users(crowd, users, before, 10, seed=3, contexts=SITUATIONS * people)
        crowd.refresh()
        return policy.with_prior(crowd.prior)

    ways: dict[str, Callable[[], LinearPolicy]] = {
        "context alone": lambda: told,
        "context and prior": lambda: taught(told),
        "prior alone": lambda: taught(plain),
        "neither": lambda: plain,
    }
    found = {}
    for name, make in ways.items():
        many: ManyUsers = Segments(make(), person_of)
        run = simulate_users(many, users, after, 10, seed=4, contexts=SITUATIONS * people)
        whose = np.array([person_of(user) for user in run.user.tolist()]) - sizes.earlier
        turn = np.empty(len(whose), dtype=int)
        for person in range(sizes.new):
            turn[whose == person] = np.arange(sizes.lists)
        found[name] = np.array(
            [[run.regret[(whose == p) & (turn < lists)].sum() for lists in (30, sizes.lists)] for p in range(sizes.new)]
        )
    return found


def table(data: Prepared, sizes: Sizes) -> Iterator[str]:
    """The lines of the table."""
    names = ("context alone", "context and prior", "prior alone", "neither")
    yield "| tastes | lists | " + " | ".join(names) + " |"
    yield "|---|---|" + "---|" * len(names)
    for world in WORLDS:
        found = regrets(data, world, sizes)
        for place, lists in enumerate((30, sizes.lists)):
            row = []
            for name in names:
                mean, low, _ = interval(found[name][:, place] - found["context alone"][:, place], 0.95)
                beside = "" if name == "context alone" else f" ({mean:.2f} ± {mean - low:.2f})"
                row.append(f"{found[name][:, place].mean():.2f}{beside}")
            yield f"| {world} | first {lists} | " + " | ".join(row) + " |"


@click.command(help=__doc__)
@click.argument("dataset")
def main(dataset: str) -> None:
    """Simulate, and print the table."""
    sizes = Sizes()
    for line in table(prepare(find(dataset)).with_topics(sizes.topics), sizes):
        click.echo(line)


if __name__ == "__main__":
    main()
