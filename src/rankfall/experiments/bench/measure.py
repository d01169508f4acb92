"""How fast it is, measured in one run beside plain NumPy."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.catalog import Catalog
from rankfall.data import generate
from rankfall.data.preparation import Prepared
from rankfall.experiments.bench.plain_numpy import PlainNumPy
from rankfall.experiments.simulation import simulate, simulate_many, streams
from rankfall.policies import POLICIES, LinearPolicy
from rankfall.users import CascadeUser


@dataclass(frozen=True)
class World:
    """What a benchmark runs on: coverage as policies and as users know it, relevance, and preferences."""

    coverage: FloatArray
    user_coverage: FloatArray
    relevance: FloatArray
    theta: FloatArray
    beta: FloatArray

    @classmethod
    def of(cls, prepared: Prepared) -> World:
        """The world of a prepared data set."""
        return cls(prepared.coverage, prepared.user_coverage, prepared.relevance, prepared.theta, prepared.beta)

    @classmethod
    def generated(cls, topics: int, features: int, items: int = 1000) -> World:
        """A made-up world with this many topics and relevance features."""
        made = generate(items, topics, features, users=4, seed=1)
        return cls(made.catalog.coverage, made.catalog.coverage, made.catalog.relevance, made.theta, made.beta)

    @property
    def catalog(self) -> Catalog:
        """The items as policies know them."""
        return Catalog(self.coverage, self.relevance)

    def user(self, index: int, tradeoff: float = 0.5) -> CascadeUser:
        """A user; indices beyond the last begin again."""
        at = index % len(self.theta)
        return CascadeUser(self.user_coverage, self.relevance, self.theta[at], self.beta[at], tradeoff)

    def enlarged(self, items: int) -> World:
        """A world with more (or fewer) items: every further one is an old one, moved a little."""
        rng = np.random.default_rng(0)
        source = np.arange(items) % len(self.coverage)
        further = (np.arange(items) >= len(self.coverage))[:, None]
        size = np.where(further, np.exp(0.15 * rng.standard_normal((items, 1))), 1.0)
        moved = self.relevance[source]
        length = np.linalg.norm(moved, axis=1, keepdims=True)
        noise = 0.15 * length * rng.standard_normal(moved.shape) / np.sqrt(moved.shape[1])
        moved = np.where(further, moved + noise, moved)
        moved *= length / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-300)
        coverage = np.minimum(self.coverage[source] * size, 1.0)
        return World(coverage, np.minimum(self.user_coverage[source] * size, 1.0), moved, self.theta, self.beta)


def give_numpy_its_best() -> None:
    """Keep freed memory for the next array, where the C library lets us: page faults would double NumPy's times."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        library.mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD
    except (OSError, AttributeError):  # another C library; NumPy manages
        pass


def linear_policy(name: str, catalog: Catalog) -> LinearPolicy:
    """The linear policy of this name, before it has learned anything."""
    policy = POLICIES[name](catalog)
    assert isinstance(policy, LinearPolicy)
    return policy


@dataclass(frozen=True)
class Speed:
    """One policy against its plain NumPy form: microseconds a step, and items whose score was computed a step."""

    policy: str
    numpy: float
    ours: float
    scored: float

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.numpy / self.ours


def speed(world: World, name: str, steps: int, k: int, users: int, numpy_steps: int, tradeoff: float = 0.5) -> Speed:
    """Both forms on the same users, one after the other. NumPy's step costs the same at any time, so fewer will do."""
    numpy_seconds, our_seconds, scored = 0.0, 0.0, 0
    simulate(linear_policy(name, world.catalog), world.user(0), 2, k)  # compile
    for index in range(users):
        user, policy = world.user(index * 37, tradeoff), linear_policy(name, world.catalog)
        numpy_form = PlainNumPy(policy, user, k)
        coins = streams(index)[0].random((numpy_steps + 20, k))
        for row in coins[:20]:
            numpy_form.step(row)
        began = time.perf_counter()
        for row in coins[20:]:
            numpy_form.step(row)
        numpy_seconds += time.perf_counter() - began
        began = time.perf_counter()
        simulate(policy, user, steps, k, seed=index)
        our_seconds += time.perf_counter() - began
        scored += policy.scored
    total = users * steps
    return Speed(name, 1e6 * numpy_seconds / (users * numpy_steps), 1e6 * our_seconds / total, scored / total)


def side_by_side(world: World, name: str, steps: int, k: int, workers: int) -> float:
    """How many times faster ``workers`` threads are than one, on the same runs."""
    users = [world.user(index * 37) for index in range(6 * workers)]  # enough for the last ones not to wait long
    policy = linear_policy(name, world.catalog)
    seconds = []
    for n in (1, workers):
        began = time.perf_counter()
        simulate_many(policy, users, steps, k, workers=n)
        seconds.append(time.perf_counter() - began)
    return seconds[0] / seconds[1]


@dataclass(frozen=True)
class Growth:
    """Microseconds a step for one value of what is varied."""

    policy: str
    varied: str
    value: int
    steps: int
    ours: float


def growth(world: World, names: Sequence[str], steps: int, largest: int) -> Iterator[Growth]:
    """How a step grows with the number of items, positions, topics and features, one at a time."""
    for items in (1_000, 10_000, 100_000, 1_000_000):
        if items <= largest:
            here = world.enlarged(items)
            for name in names:
                # A million items take a while to tell apart; fewer steps show what one costs.
                yield _grown(here, name, "items", items, steps if items <= 100_000 else min(steps, 2_000), 10)
    for k in (5, 10, 15, 20):
        for name in names:
            yield _grown(world, name, "positions", k, steps, k)
    for d in (5, 10, 20, 40):
        for name in names:
            yield _grown(World.generated(d, 10), name, "topics", d, steps, 10)
    for m in (5, 10, 20, 40):
        for name in names:
            yield _grown(World.generated(18, m), name, "features", m, steps, 10)


def _grown(world: World, name: str, varied: str, value: int, steps: int, k: int) -> Growth:
    policy = linear_policy(name, world.catalog)
    policy.compiled(k)
    user = world.user(0)
    began = time.perf_counter()
    simulate(policy, user, steps, k, seed=0)
    return Growth(name, varied, value, steps, 1e6 * (time.perf_counter() - began) / steps)


@dataclass(frozen=True)
class Serving:
    """Milliseconds of ``policy.rank`` alone: again and again, and right after an update."""

    items: int
    again: float
    after_update: float
    slowest: float


def serving(world: World, items: int, warm: int, calls: int = 200, k: int = 10) -> Serving:
    """``rank`` of a CascadeHybrid that has seen ``warm`` lists, as a service would call it; medians and the slowest."""
    here = world.enlarged(items)
    policy, user = linear_policy("CascadeHybrid", here.catalog), here.user(0)
    simulate(policy, user, warm, k, seed=0)
    again, after = np.empty(calls), np.empty(calls)
    for call, coins in enumerate(streams(1)[0].random((calls, k))):
        began = time.perf_counter()
        ranking = policy.rank(k)
        after[call] = time.perf_counter() - began
        began = time.perf_counter()
        policy.rank(k)
        again[call] = time.perf_counter() - began
        policy.update(ranking, user.click(ranking.items, coins))
    return Serving(items, 1e3 * float(np.median(again)), 1e3 * float(np.median(after)), 1e3 * float(after.max()))
