"""A generated catalog that looks like MovieLens, for where that is not at hand."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import whole
from rankfall.catalog import Catalog
from rankfall.data.generated import Generated
from rankfall.errors import ProblemError

# All numbers are of movielens-small, positive from rating 4: 1,000 movies, 10 features, its test users.
_TOPICS = {
    "Drama": 0.46,
    "Comedy": 0.40,
    "Action": 0.28,
    "Thriller": 0.26,
    "Adventure": 0.23,
    "Romance": 0.20,
    "Crime": 0.17,
    "Sci-Fi": 0.16,
    "Fantasy": 0.11,
    "Children": 0.09,
    "Mystery": 0.08,
    "Animation": 0.07,
    "Horror": 0.06,
    "War": 0.05,
    "Musical": 0.05,
    "Western": 0.02,
}
"""The share of movies that have each topic."""

_TOPICS_OF_ITEM = (0.16, 0.27, 0.33, 0.17, 0.07)
"""How many movies have one topic, two topics, ..."""

_MEAN, _SPREADS = 0.57, (0.03, 0.14, 0.12, 0.07, 0.06, 0.06, 0.06, 0.05, 0.05, 0.04)
"""Features: the length of their mean, and their variances."""

_COVERAGE, _APPEAL = (0.04, 0.86), (0.17, 0.8)
"""Coverage of a topic, and the length of a user's beta: the median, and the standard deviation of the logarithm."""

_LEANING = 0.42
"""How much users like what is popular: the part of beta that goes along with the mean of the features."""


def look_alike(items: int = 1000, users: int = 20, seed: int = 0) -> Generated:
    """Generate a catalog and users that look like MovieLens; made up, and free of its terms.

    Items have one to five topics, popular ones more often; coverage is small for most and large for a few. Features
    are unit vectors that share a direction, in which users lean too, each with a taste of their own and some much
    stronger than others.

    >>> look_alike(items=100, seed=1).catalog
    Catalog(100 items, 16 topics, 10 features)
    """
    items = whole("items", items, ProblemError, low=1)
    users = whole("users", users, ProblemError, low=1)
    rng = np.random.default_rng(np.random.SeedSequence(whole("seed", seed, ProblemError, low=0)))
    topics, share = list(_TOPICS), np.array(list(_TOPICS.values()))
    share = share / share.sum()
    coverage, titles = np.zeros((items, len(topics))), []
    for row in range(items):
        count = 1 + int(rng.choice(len(_TOPICS_OF_ITEM), p=_TOPICS_OF_ITEM))
        chosen = rng.choice(len(topics), size=count, replace=False, p=share)
        coverage[row, chosen] = np.minimum(rng.lognormal(np.log(_COVERAGE[0]), _COVERAGE[1], size=count), 0.8)
        titles.append(f"{topics[chosen[0]]} no. {row + 1}")
    features = len(_SPREADS)
    mean = np.eye(features)[0]
    relevance = _MEAN * mean + rng.normal(size=(items, features)) * np.sqrt(_SPREADS)
    relevance /= np.linalg.norm(relevance, axis=1, keepdims=True)
    theta = rng.dirichlet(14.0 * share, size=users)
    beta = _LEANING * mean + rng.normal(size=(users, features)) * np.sqrt((1 - _LEANING**2) / features)
    beta *= rng.lognormal(np.log(_APPEAL[0]), _APPEAL[1], size=(users, 1)) / np.linalg.norm(beta, axis=1, keepdims=True)
    return Generated(Catalog(coverage, relevance, titles=titles, topics=topics), theta, beta)
