"""A catalog of two features and four topics, users with it, and the click logs they leave."""

import numpy as np
import polars as pl

from rankfall import Cascade, Catalog, ExaminedCascade, Hybrid, PerItem, User
from rankfall.users.fitting import draw_log

ITEMS, K = 40, 5
_RNG = np.random.default_rng(3)
_TOPIC = np.arange(ITEMS) % 4
COVERAGE = np.zeros((ITEMS, 4))
COVERAGE[np.arange(ITEMS), _TOPIC] = 0.8
COVERAGE[np.arange(ITEMS), (_TOPIC + 1) % 4] = 0.3 * (np.arange(ITEMS) % 3 == 0)
RELEVANCE = _RNG.random((ITEMS, 2))
CATALOG = Catalog(COVERAGE, RELEVANCE)
THETA, BETA = np.array([0.5, 0.3, 0.4, 0.2]), np.array([0.2, -0.15])
EXAMINATION = np.array([1.0, 0.8, 0.6, 0.5, 0.4])

DIVERSE = User(Hybrid(COVERAGE, RELEVANCE, 2 * THETA, 2 * BETA, 0.5), Cascade())
EXAMINED = User(Hybrid(COVERAGE, RELEVANCE, 2 * THETA, 2 * BETA, 0.5), ExaminedCascade(EXAMINATION))
FLAT = User(PerItem(np.clip(COVERAGE @ THETA + RELEVANCE @ BETA, 0, 1)), ExaminedCascade(EXAMINATION))
BY_ITEM = User(PerItem(_RNG.beta(1, 5, ITEMS)), ExaminedCascade(EXAMINATION))


def shown(lists, seed):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(ITEMS), (lists, 1)), axis=1)[:, :K]


def log_of(user, lists, seed=0):
    return draw_log(user, shown(lists, seed), seed + 1000)


def with_people(parts, name="user"):
    """One log of several people's, by name."""
    frames = [
        log.with_columns(pl.col("list") + 10_000_000 * n, pl.lit(person).alias(name))
        for n, (person, log) in enumerate(parts.items())
    ]
    return pl.concat(frames)
