"""What is measured on: items and users, policies that know nothing yet, and a clock."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.catalog import Catalog
from rankfall.data import generate
from rankfall.data.preparation import Prepared
from rankfall.experiments.episodes import episode_for
from rankfall.experiments.simulation import streams
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

    def some(self, items: int) -> World:
        """The world of the first items alone."""
        first = slice(items)
        return World(self.coverage[first], self.user_coverage[first], self.relevance[first], self.theta, self.beta)

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


def linear_policy(name: str, catalog: Catalog, **settings: Any) -> LinearPolicy:
    """The linear policy of this name, before it has learned anything."""
    policy = POLICIES[name](catalog, **settings)
    assert isinstance(policy, LinearPolicy)
    return policy


def seconds_of(work: Callable[[], object]) -> float:
    """Processor seconds of this thread for some work: what other programs take does not count."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def timeline(
    policy: LinearPolicy, user: CascadeUser, marks: Sequence[int], k: int, seed: int = 0
) -> Iterator[tuple[int, float, int]]:
    """Show lists and learn from the clicks; at each mark: lists shown, seconds it took, and items scored.

    Whoever asks for the next mark may do something else before; that does not count.
    """
    coin_rng, policy_rng = streams(seed)
    play = episode_for(policy, user, k, user.reward(user.best(k)), policy_rng)
    seconds = 0.0
    for begin, end in pairwise([0, *marks]):
        totals = np.zeros((end - begin + 1, 4))
        seconds += seconds_of(partial(play, coin_rng.random((end - begin, k)), totals))
        yield end, seconds, policy.scored
