"""The generated catalog looks like MovieLens: the same quantities, computed from both."""

import numpy as np
import pytest

from rankfall import prepare
from rankfall.data import find, look_alike
from rankfall.errors import ProblemError


def quantities(coverage: np.ndarray, relevance: np.ndarray, theta: np.ndarray, beta: np.ndarray) -> dict[str, float]:
    lengths, mean = np.linalg.norm(beta, axis=1), relevance.mean(axis=0)
    attraction = relevance @ beta.T
    return {
        "topics of an item": (coverage > 0).sum(axis=1).mean(),
        "share of the commonest topic": (coverage > 0).mean(axis=0).max(),
        "median coverage": np.median(coverage[coverage > 0]),
        "high coverage": np.quantile(coverage[coverage > 0], 0.9),
        "length of the mean feature": np.linalg.norm(mean),
        "favourite topic of a user": theta.max(axis=1).mean(),
        "median length of beta": np.median(lengths),
        "leaning to what is popular": np.median(beta @ mean / lengths) / np.linalg.norm(mean),
        "attraction of the best item": np.median(attraction.max(axis=0)),
    }


def test_it_looks_like_movielens() -> None:
    real = prepare(find("movielens-small"), threshold=4.0)
    made = look_alike(users=len(real.theta), seed=1)
    ours = quantities(made.catalog.coverage, made.catalog.relevance, made.theta, made.beta)
    theirs = quantities(real.user_coverage, real.relevance, real.theta, real.beta)
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, rel=0.3), name


def test_the_same_seed_gives_the_same_world() -> None:
    one, same, other = (look_alike(items=50, users=2, seed=seed) for seed in (1, 1, 2))
    assert one.catalog == same.catalog
    assert one.catalog != other.catalog
    np.testing.assert_array_equal(one.beta, same.beta)
    assert one.catalog.titles is not None
    assert len(set(one.catalog.titles)) == 50
    with pytest.raises(ProblemError, match="items must be a whole number"):
        look_alike(items=0)
