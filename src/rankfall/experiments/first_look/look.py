"""Three policies on the same users: by relevance alone, by diversity alone, by both; and one user up close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, whole
from rankfall.catalog import Catalog
from rankfall.data import DATASETS, find
from rankfall.data.look_alike import look_alike
from rankfall.data.preparation import prepare
from rankfall.errors import ProblemError
from rankfall.experiments.results import summary
from rankfall.experiments.simulation import Progress, simulate, simulate_many
from rankfall.policies import Ranking
from rankfall.policies.linear.hybrid import CascadeHybrid
from rankfall.policies.linear.lin_ucb import CascadeLinUCB
from rankfall.policies.linear.lsb import CascadeLSB
from rankfall.users import CascadeUser

KINDS: Mapping[str, str] = {
    "CascadeHybrid": "relevance and diversity",
    "CascadeLinUCB": "relevance alone",
    "CascadeLSB": "diversity alone",
}
"""The policies that are compared, and what each ranks by."""

_POLICIES = (CascadeHybrid, CascadeLinUCB, CascadeLSB)

K, TRADEOFF, GAMMA = 10, 0.5, 0.5
DATASET = "movielens-small"


@dataclass(frozen=True, eq=False)
class Moment:
    """What one user is shown after so many lists, and how likely that user clicks on something in it."""

    after: int
    ranking: Ranking
    chance: float


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What came of it.

    Attributes
    ----------
    source : what the items are.
    catalog : the items.
    users, steps : how many users there were, and how many lists each of them saw.
    table : means and standard errors of each policy at each checkpoint, with ``topics``, those in a list.
    moments : what one user was shown, at first and later, by CascadeHybrid.
    best : how likely that user clicks in the best list there is.
    learned, truth : for each item, how likely that user clicks it at the top of a list: as learned, and in truth.
    """

    source: str
    catalog: Catalog
    users: int
    steps: int
    table: pl.DataFrame
    moments: tuple[Moment, ...]
    best: float
    learned: FloatArray
    truth: FloatArray

    @property
    def last(self) -> pl.DataFrame:
        """The table after the last list, lowest regret first."""
        return self.table.filter(pl.col("step") == self.steps).sort("regret")

    @property
    def sentence(self) -> str:
        """What came of it, in words."""
        best, *others = self.last.iter_rows(named=True)
        less = " and ".join(
            f"{1 - best['regret'] / row['regret']:.0%} less than {KINDS[row['policy']]}" for row in others
        )
        return (
            f"After {self.steps:,} lists to each of {self.users} users, ranking by {KINDS[best['policy']]} "
            f"({best['policy']}) has lost the fewest clicks to what it did not know: {less}."
        )


def first_look(users: int = 12, steps: int = 5000, seed: int = 0, progress: Progress | None = None) -> FirstLook:
    """Simulate the three policies on the same users with the same coins, and follow one of the users."""
    users = whole("users", users, ProblemError, low=2)
    steps = whole("steps", steps, ProblemError, low=200)
    source, catalog, people = _world(users)
    frames = []
    for kind in _POLICIES:
        done = simulate_many(kind(catalog, gamma=GAMMA), people, steps, K, seed=seed, progress=progress)
        frames += [run.frame(policy=kind.__name__, user=number) for number, run in enumerate(done)]
    runs = pl.concat(frames)
    topics = runs.group_by("policy", "step").agg((pl.col("touched") / pl.col("step")).mean().alias("topics"))
    policy, moments, before = CascadeHybrid(catalog, gamma=GAMMA), [], 0
    for after in (0, 100, steps):
        if after > before:
            simulate(policy, people[0], after - before, K, seed=seed + after, progress=progress)
            before = after
        ranking = policy.rank(K)
        moments.append(Moment(after, ranking, people[0].reward(ranking.items)))
    alone = np.arange(len(catalog))[:, None]
    return FirstLook(
        source=source,
        catalog=catalog,
        users=len(people),
        steps=steps,
        table=summary(runs).join(topics, on=("policy", "step"), maintain_order="left"),
        moments=tuple(moments),
        best=people[0].reward(people[0].best(K)),
        learned=(policy.features_of(alone) @ policy.weights)[:, 0],
        truth=people[0].attraction.of(alone)[:, 0],
    )


def _world(users: int) -> tuple[str, Catalog, list[CascadeUser]]:
    """Where the items come from, the items, and users; those who click most first."""
    if DATASETS[DATASET].path() is None:
        made = look_alike(users=users)
        x, z, theta, beta = made.catalog.coverage, made.catalog.relevance, made.theta, made.beta
        source, catalog = "1,000 generated items that look like MovieLens", made.catalog
    else:
        data = prepare(find(DATASET), threshold=4.0)
        x, z, theta, beta = data.user_coverage, data.relevance, data.theta[:users], data.beta[:users]
        source, catalog = f"the {len(x):,} most rated movies of {DATASET}", data.catalog()
    people = [CascadeUser(x, z, theta[user], beta[user], TRADEOFF) for user in range(len(theta))]
    return source, catalog, sorted(people, key=lambda user: -user.reward(user.best(K)))
