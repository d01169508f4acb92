"""Generated catalogs and users, shaped like real ones: few topics for each item, popular topics, unit features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, number, whole
from rankfall.catalog import Catalog
from rankfall.errors import ProblemError


@dataclass(frozen=True, eq=False)
class Generated:
    """A catalog, and for each user the preferences for topics (theta) and features (beta)."""

    catalog: Catalog
    theta: FloatArray
    beta: FloatArray


def generate(
    items: int = 200,
    topics: int = 10,
    features: int = 5,
    users: int = 1,
    seed: int = 0,
    appeal: float = 0.25,
) -> Generated:
    """Generate a catalog and users.

    Items cover one to three topics, popular ones more often, each with a coverage of up to 0.6. Features are unit
    vectors that lean to the positive, as those of popular items do. A user's theta sums to 1 and favours a few topics;
    beta has length ``appeal``.

    >>> generate(items=50, topics=4, features=2, seed=1).catalog
    Catalog(50 items, 4 topics, 2 features)
    """
    items = whole("items", items, ProblemError, low=1)
    topics = whole("topics", topics, ProblemError, low=0)
    features = whole("features", features, ProblemError, low=0)
    users = whole("users", users, ProblemError, low=1)
    appeal = number("appeal", appeal, ProblemError, low=0.0, high=1.0)
    if not topics + features:
        raise ProblemError("topics and features are both 0; items need at least one of them")
    rng = np.random.default_rng(np.random.SeedSequence(whole("seed", seed, ProblemError, low=0)))
    coverage = np.zeros((items, topics))
    if topics:
        popularity = 1.0 / np.arange(1, topics + 1) ** 0.7
        popularity /= popularity.sum()
        for row in coverage:
            chosen = rng.choice(topics, size=min(topics, int(rng.integers(1, 4))), replace=False, p=popularity)
            row[chosen] = 0.6 * rng.beta(1.0, 2.0, size=len(chosen))
    relevance = rng.normal(0.5, 1.0, size=(items, features))
    relevance /= np.maximum(np.linalg.norm(relevance, axis=1, keepdims=True), 1e-300)
    theta = rng.dirichlet(np.full(topics, 0.5), size=users) if topics else np.empty((users, 0))
    beta = rng.normal(0.5, 1.0, size=(users, features))
    beta *= appeal / np.maximum(np.linalg.norm(beta, axis=1, keepdims=True), 1e-300)
    return Generated(Catalog(coverage, relevance), theta, beta)


def on_sphere(items: int = 1000, features: int = 5, seed: int = 0, appeal: float = 1.0) -> Generated:
    """Generate items and one user whose attraction ``z . beta`` is linear without clipping, from 0 to ``appeal``.

    The synthetic experiments of Li, Lattimore, Szepesvari (Online Learning to Rank with Features, ICML 2019), after the
    authors' public code: the features of an item, and the user's beta, are a random point of the unit sphere in all
    but the last dimension, and 1 in the last, divided by the square root of 2. ``appeal`` scales beta; theirs is 1.

    >>> world = on_sphere(items=50, features=3, seed=1)
    >>> world.catalog
    Catalog(50 items, 0 topics, 3 features)
    >>> attraction = world.catalog.relevance @ world.beta[0]
    >>> bool(attraction.min() >= 0 and attraction.max() <= 1)
    True
    """
    items = whole("items", items, ProblemError, low=1)
    features = whole("features", features, ProblemError, low=2)
    appeal = number("appeal", appeal, ProblemError, low=0.0, high=1.0)
    rng = np.random.default_rng(np.random.SeedSequence(whole("seed", seed, ProblemError, low=0)))
    points = rng.normal(size=(items + 1, features - 1))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    rows = np.hstack([points, np.ones((items + 1, 1))]) / np.sqrt(2.0)
    return Generated(Catalog(relevance=rows[:-1]), np.empty((1, 0)), appeal * rows[-1:])
