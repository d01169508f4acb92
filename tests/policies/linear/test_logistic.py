"""UCBCCA and UCBCCAPlus: each observation against a general optimiser, and all of them against one fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import UCBCCA, Catalog, Number, ProblemError, UCBCCAPlus
from rankfall.kernels.weighted_ridge import likeliest
from rankfall.policies.linear.weighted import WeightedPolicy

K = 3
RNG = np.random.default_rng(4)
Z = np.hstack([RNG.normal(size=(25, 3)), np.ones((25, 1))])
CATALOG = Catalog(relevance=Z[:, :-1])  # the policies have a constant of their own
TRUE = np.array([0.8, -0.5, 0.3, -1.0])
EVERY = pytest.mark.parametrize("kind", [UCBCCA, UCBCCAPlus], ids=lambda kind: kind.__name__)


def chance(logit: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-logit))


def most_likely(precision: np.ndarray, mean: np.ndarray, rows: np.ndarray, clicks: np.ndarray) -> np.ndarray:
    """The mode of N(mean, precision^-1) times the likelihood of clicks, by Newton's method with step halving."""

    def loss(theta: np.ndarray) -> float:
        off, logits = theta - mean, rows @ theta
        return float(0.5 * off @ precision @ off + np.logaddexp(0.0, logits).sum() - clicks @ logits)

    theta = mean.copy()
    for _ in range(200):
        p = chance(rows @ theta)
        slope = precision @ (theta - mean) + rows.T @ (p - clicks)
        step = np.linalg.solve(precision + rows.T @ ((p * (1 - p))[:, None] * rows), slope)
        size = 1.0
        while loss(theta - size * step) > loss(theta) and size > 1e-6:
            size /= 2
        theta = theta - size * step
    assert np.abs(slope).max() < 1e-9
    return theta


@given(st.floats(-30, 30), st.floats(0, 1e4), st.sampled_from([0.0, 1.0]))
def test_the_mean_after_one_observation_solves_its_equation(mean: float, square: float, reward: float) -> None:
    m = likeliest(mean, square, reward)
    assert m == pytest.approx(mean + square * (reward - chance(m)), abs=1e-8 * (1 + square))


def played(policy: WeightedPolicy, lists: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows that were seen, and which of them were clicked."""
    rng, rows, clicks = np.random.default_rng(seed), [], []
    for _ in range(lists):
        ranking = policy.rank(K)
        wanted = np.flatnonzero(rng.random(K) < chance(Z[ranking.items] @ TRUE))
        click = int(wanted[0]) if len(wanted) else None
        seen = ranking.items[: K if click is None else click + 1]
        rows.extend(Z[seen])
        clicks.extend((np.arange(len(seen)) == click).astype(float))
        policy.update(ranking, click)
    return np.array(rows), np.array(clicks)


@EVERY
def test_every_observation_gives_the_most_likely_weights(kind: type[WeightedPolicy]) -> None:
    """Against an optimiser, with a Gaussian for all that was seen before; and both kinds of widths."""
    policy = kind(CATALOG, gamma=0.6)
    rows, clicks = played(policy, 80)
    precision, theta = np.eye(4), np.zeros(4)
    for row, click in zip(rows, clicks, strict=True):
        theta = most_likely(precision, theta, row[None, :], np.array([click]))
        p = chance(row @ theta)
        precision = precision + p * (1 - p) * np.outer(row, row)
    np.testing.assert_allclose(policy.weights, theta, atol=1e-8)
    widths_by = precision if kind is UCBCCAPlus else np.eye(4) + rows.T @ rows
    np.testing.assert_allclose(policy.covariance, np.linalg.inv(widths_by), atol=1e-8)
    scores = Z @ theta + 0.6 * np.sqrt(np.einsum("ij,ji->i", Z, np.linalg.solve(widths_by, Z.T)))
    ranking = policy.rank(K)
    assert ranking.items.tolist() == np.argsort(-scores, kind="stable")[:K].tolist()
    np.testing.assert_allclose(ranking.scores, np.sort(scores)[::-1][:K], atol=1e-7)


@EVERY
def test_it_stays_close_to_a_fit_of_all_observations(kind: type[WeightedPolicy]) -> None:
    """Within a fifth of a standard deviation of the weights, and of the truth within four."""
    policy = kind(CATALOG, gamma=0.6)
    rng = np.random.default_rng(2)
    items = rng.integers(len(Z), size=3000)  # lists of one item at random, so that all directions are seen
    rows = Z[items]
    clicks = (rng.random(len(rows)) < chance(rows @ TRUE)).astype(float)
    for item, click in zip(items.tolist(), clicks, strict=True):
        policy.update(policy.rank(1, fixed={0: item}), 0 if click else None)
    whole = most_likely(np.eye(4), np.zeros(4), rows, clicks)
    p = chance(rows @ whole)
    deviations = np.sqrt(np.linalg.inv(np.eye(4) + rows.T @ ((p * (1 - p))[:, None] * rows)).diagonal())
    assert (np.abs(policy.weights - whole) < 0.2 * deviations).all()
    assert (np.abs(policy.weights - TRUE) < 4.0 * deviations).all()


@EVERY
def test_features_that_make_a_click_certain_do_no_harm(kind: type[WeightedPolicy]) -> None:
    policy = kind(Catalog(relevance=[[1000.0], [-1000.0]]))  # scaled far beyond what anyone should
    for _ in range(50):
        policy.update(policy.rank(1, fixed={0: 0}), 0)
    assert np.isfinite(policy.weights).all()
    assert policy.weights[0] > 0
    assert policy.rank(1).items.tolist() == [0]


@EVERY
def test_the_constant_is_a_column_with_a_name(kind: type[WeightedPolicy]) -> None:
    policy = kind(Catalog(relevance=[[0.5], [0.2]], features=["price"]), request_features={"match": Number()})
    ranking = policy.rank(2, candidates=[0, 1], features=[[0.3], [0.4]])
    assert ranking.features.tolist() == [[0.5, 1.0, 0.3], [0.2, 1.0, 0.4]]
    assert [weight.name for weight in policy.learned()] == ["price", "constant", "match"]
    assert policy.features_of(np.array([[1, 0]])).tolist() == [[[0.2, 1.0, 0.0], [0.5, 1.0, 0.0]]]
    policy.update(ranking, 0)
    assert len(policy.explain(ranking)) == 2


def test_a_constant_cannot_diminish() -> None:
    class Diminishing(UCBCCA):
        relevance = "diminishing"

    with pytest.raises(ProblemError, match="has a constant, which cannot diminish"):
        Diminishing(CATALOG)
