"""A prior learned from users' sums: against likelihoods of the data themselves, which nobody here wrote."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

from rankfall import Prior, ProblemError, Statistics, learn_prior
from rankfall.policies.linear import empirical_bayes
from rankfall.policies.linear.empirical_bayes import Guess, em

Data = list[tuple[np.ndarray, np.ndarray]]


def crowd(rng: np.random.Generator, users: int, mean: np.ndarray, spread: float, noise: float, most: int = 40) -> Data:
    """Features and rewards of each user, whose weights are normal around the mean."""
    made = []
    for _ in range(users):
        features = rng.normal(size=(int(rng.integers(1, most)), len(mean)))
        weights = mean + spread * rng.normal(size=len(mean))
        made.append((features, features @ weights + noise * rng.normal(size=len(features))))
    return made


def sums(data: Data, columns: int) -> Statistics:
    """What is kept of them."""
    return Statistics(
        np.array([f.T @ f for f, _ in data]).reshape(-1, columns, columns),
        np.array([f.T @ r for f, r in data]).reshape(-1, columns),
        np.array([float(len(r)) for _, r in data]),
        np.array([r @ r for _, r in data]),
    )


def start(statistics: Statistics) -> Guess:
    columns = statistics.moment.shape[1]
    return Guess(np.zeros(columns), np.eye(columns), float(statistics.squares.sum() / statistics.seen.sum()))


def log_likelihood(data: Data, mean: np.ndarray, Sigma: np.ndarray, noise: float) -> float:
    """Of all rewards, by the density of scipy: r ~ N(Phi mu, Phi Sigma Phi' + s^2 I)."""
    return sum(multivariate_normal.logpdf(r, f @ mean, f @ Sigma @ f.T + noise * np.eye(len(r))) for f, r in data)


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 8), st.integers(0, 1000))
def test_the_likelihood_from_sums_is_that_of_the_data(columns: int, users: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = crowd(rng, users, rng.normal(size=columns), 0.5, 0.7, most=12)
    statistics = sums(data, columns)
    for now in islice(em(statistics, 2.0, start(statistics)), 4):
        mean, precision, noise = now.guess
        direct = log_likelihood(data, mean, noise * np.linalg.inv(precision), noise)
        assert now.likelihood == pytest.approx(direct, rel=1e-8, abs=1e-6)


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(1, 20), st.floats(0, 10), st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 1000))
def test_no_round_is_less_likely_than_the_one_before(
    columns: int, users: int, imagined: float, spread: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    statistics = sums(crowd(rng, users, 0.3 * rng.normal(size=columns), spread, 0.4), columns)
    objective = [now.objective for now in islice(em(statistics, imagined, start(statistics)), 40)]
    assert np.diff(objective).min() >= -1e-7 * np.abs(objective).max()
    assert objective[-1] > objective[0]


def test_nothing_is_more_likely_than_what_it_finds() -> None:
    rng = np.random.default_rng(5)
    data = crowd(rng, 30, np.array([0.5, -0.2]), 0.4, 0.5)
    statistics = sums(data, 2)
    usual = statistics.squares.sum() / statistics.seen.sum()
    found = next(islice(em(statistics, 0.0, start(statistics)), 3000, None))

    def cost(p: np.ndarray) -> float:  # mu, Cholesky factor of Sigma, log s^2, log T and its centre
        root = np.array([[np.exp(p[2]), 0.0], [p[3], np.exp(p[4])]])
        held = norm.logpdf(p[:2], 0.0, np.exp(p[6:8] / 2)).sum() + np.log(2 * np.pi)  # mu ~ N(0, T)
        held -= 0.5 * ((p[6:8] - p[8]) ** 2).sum() + (p[8] - np.log(usual)) ** 2 / 4.0**2
        return -log_likelihood(data, p[:2], root @ root.T, float(np.exp(p[5]))) - float(held)

    best = minimize(cost, [0.0, 0.0, -1.0, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0], method="BFGS")
    assert found.objective == pytest.approx(-best.fun, abs=1e-4)
    root = np.array([[np.exp(best.x[2]), 0.0], [best.x[3], np.exp(best.x[4])]])
    np.testing.assert_allclose(found.guess.mean, best.x[:2], atol=2e-3)
    np.testing.assert_allclose(found.guess.noise * np.linalg.inv(found.guess.precision), root @ root.T, atol=2e-3)
    assert found.guess.noise == pytest.approx(np.exp(best.x[5]), abs=1e-3)


def test_many_users_are_found_as_they_are() -> None:
    rng = np.random.default_rng(2)
    mean = np.array([0.5, -0.3, 0.0, 0.2])
    prior = learn_prior(sums(crowd(rng, 2000, mean, 0.2, 0.3), 4))
    np.testing.assert_allclose(prior.mean, mean, atol=0.02)
    np.testing.assert_allclose(prior.noise * prior.covariance, 0.04 * np.eye(4), atol=0.005)
    assert prior.noise == pytest.approx(0.09, abs=0.002)
    assert prior.users == 2000


def test_who_has_nothing_in_common_gets_a_wide_prior_around_nothing() -> None:
    rng = np.random.default_rng(3)
    prior = learn_prior(sums(crowd(rng, 60, np.zeros(5), 2.0, 0.3), 5))
    alone = np.linalg.inv(prior.covariance) * 0.09  # what the prior takes away from a user, in views of an item
    assert np.linalg.eigvalsh(alone).max() < 0.05
    assert np.abs(prior.mean).max() < 0.9  # three standard errors of the mean of 60


def test_few_users_are_not_taken_for_everyone() -> None:
    rng = np.random.default_rng(4)
    data = crowd(rng, 200, np.full(6, 0.3), 0.1, 0.3)
    widths = [np.trace(learn_prior(sums(data[:users], 6), rounds=1000).covariance) for users in (1, 2, 4, 200)]
    truth = 6 * 0.1**2 / 0.3**2
    assert min(widths[:3]) > 1.2 * truth
    assert widths[-1] == pytest.approx(truth, rel=0.15)


def test_one_heavy_user_is_one_user() -> None:
    rng = np.random.default_rng(6)
    data = crowd(rng, 40, np.array([0.3, 0.3]), 0.1, 0.3)
    features = rng.normal(size=(100_000, 2))
    heavy = (features, features @ np.array([-2.0, 1.0]) + 0.3 * rng.normal(size=len(features)))
    prior = learn_prior(sums([*data, heavy], 2))
    expected = (40 * np.array([0.3, 0.3]) + np.array([-2.0, 1.0])) / 41
    np.testing.assert_allclose(prior.mean, expected, atol=0.06)
    assert prior.noise * prior.covariance[0, 0] > 3 * 0.1**2  # users can be that different


def test_without_clicks_there_is_nothing_to_learn() -> None:
    nobody = learn_prior(sums([], 3))
    unmoved = learn_prior(sums([(np.ones((4, 3)), np.zeros(4))], 3))
    for prior in (nobody, unmoved):
        assert prior.covariance.tobytes() == np.eye(3).tobytes()
        assert not prior.mean.any()
    rng = np.random.default_rng(7)
    data = crowd(rng, 10, np.array([0.5, 0.5]), 0.1, 0.3)
    silent = (np.abs(rng.normal(size=(5, 2))), np.zeros(5))
    absent = (np.zeros((0, 2)), np.zeros(0))
    prior = learn_prior(sums([*data, silent, absent], 2))
    assert prior.users == 11
    assert np.isfinite(prior.covariance).all()
    same = learn_prior(sums([*data, silent], 2))
    assert prior.mean.tobytes() == same.mean.tobytes()


def test_where_features_explain_everything_numbers_stay_numbers() -> None:
    rng = np.random.default_rng(8)
    data = [(f, f @ np.array([0.5, 0.2])) for f in rng.normal(size=(20, 30, 2))]
    prior = learn_prior(sums(data, 2))
    np.testing.assert_allclose(prior.mean, [0.5, 0.2], rtol=0.02)  # it is held, a little
    assert prior.noise > 0


def test_a_sample_first_leads_to_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = sums(crowd(np.random.default_rng(9), 600, np.array([0.4, -0.1, 0.2]), 0.3, 0.5), 3)
    whole = learn_prior(statistics)
    monkeypatch.setattr(empirical_bayes, "SAMPLE", 100)
    sampled = learn_prior(statistics)
    np.testing.assert_allclose(sampled.mean, whole.mean, atol=0.003)
    np.testing.assert_allclose(sampled.covariance, whole.covariance, rtol=0.05, atol=0.01)


def test_starting_from_an_earlier_prior_leads_to_the_same_place() -> None:
    statistics = sums(crowd(np.random.default_rng(10), 100, np.array([0.4, -0.1, 0.2]), 0.3, 0.5), 3)
    cold = learn_prior(statistics, rounds=2000)
    again = learn_prior(statistics, start=cold, rounds=20)
    np.testing.assert_allclose(again.mean, cold.mean, atol=1e-3)
    np.testing.assert_allclose(again.covariance, cold.covariance, rtol=0.03, atol=0.003)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ProblemError, match="gram has shape"):
        Statistics(np.zeros((2, 3, 2)), np.zeros((2, 3)), np.zeros(2), np.zeros(2))
    with pytest.raises(ProblemError, match="rounds"):
        learn_prior(sums([], 2), rounds=0)
    assert isinstance(learn_prior(sums([], 2)), Prior)
