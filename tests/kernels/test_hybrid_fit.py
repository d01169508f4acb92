"""Likelihood of hybrid attraction: against the equations in plain NumPy, and derivatives against finite differences."""

import itertools

import numba
import numpy as np
import pytest
from scipy.integrate import quad

from rankfall.kernels import hybrid_fit
from rankfall.kernels.cascade import user_arrays

BLUR = 0.02


@numba.njit
def blurred(u, blur):
    """Only kernels call this one."""
    return hybrid_fit.blurred(u, blur)


def problem(seed, lists=60, items=20, topics=4, features=3, k=5):
    """Lists of different lengths, and weights under which some attractions lie outside of [0, 1]."""
    rng = np.random.default_rng(seed)
    coverage = rng.random((items, topics)) * (rng.random((items, topics)) < 0.5)
    relevance = rng.normal(size=(items, features))
    shown = [rng.permutation(items)[: rng.integers(1, k + 1)] for _ in range(lists)]
    start = np.concatenate([[0], np.cumsum([len(one) for one in shown])]).astype(np.int64)
    item = np.concatenate(shown).astype(np.int64)
    weights = np.concatenate([rng.normal(0.2, 0.4, topics), rng.normal(0.0, 0.3, features), -rng.random(k)])
    return coverage, relevance, start, item, rng.random(len(item)) < 0.3, weights


def at(weights, coverage, relevance, start, item, click):
    """Value, gradient and negative Hessian by the kernel."""
    d, m = coverage.shape[1], relevance.shape[1]
    gradient, second = np.zeros(len(weights)), np.zeros((len(weights), len(weights)))
    user = user_arrays(coverage, relevance @ weights[d : d + m], weights[:d])
    examination = np.exp(weights[d + m :])
    value = hybrid_fit.curvature(start, item, click, user, relevance, examination, BLUR, gradient, second)
    return value, gradient, second


def specified(weights, coverage, relevance, start, item, click):
    """The log-likelihood as the equations have it."""
    d, m = coverage.shape[1], relevance.shape[1]
    theta, beta, examination = weights[:d], weights[d : d + m], np.exp(weights[d + m :])
    total = 0.0
    for first, last in itertools.pairwise(start):
        for row in range(first, last):
            gain = coverage[item[row]] * np.prod(1.0 - coverage[item[first:row]], axis=0)
            u = gain @ theta + relevance[item[row]] @ beta
            s = BLUR * (np.logaddexp(0, u / BLUR) - np.logaddexp(0, (u - 1) / BLUR))
            p = examination[row - first] * s
            total += np.log(p if click[row] else 1.0 - p)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_is_that_of_the_equations(seed):
    *data, weights = problem(seed)
    assert at(weights, *data)[0] == pytest.approx(specified(weights, *data), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_those_of_finite_differences(seed):
    *data, weights = problem(seed)
    _, gradient, second = at(weights, *data)
    step = 1e-6 * np.eye(len(weights))
    numeric = [(at(weights + h, *data)[0] - at(weights - h, *data)[0]) / 2e-6 for h in step]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-4)
    numeric = [(at(weights + h, *data)[1] - at(weights - h, *data)[1]) / 2e-6 for h in step]
    np.testing.assert_allclose(second, -np.array(numeric), rtol=1e-4, atol=1e-2)
    np.testing.assert_array_equal(second, second.T)


@pytest.mark.parametrize("seed", range(3))
def test_where_all_is_examined_the_likelihood_is_concave(seed):
    *data, weights = problem(seed)
    weights[-5:] = 0.0
    second = at(weights, *data)[2][:-5, :-5]
    assert np.linalg.eigvalsh(second).min() >= -1e-9 * np.abs(second).max()


@pytest.mark.parametrize("u", [-3.0, -0.1, -0.001, 0.0, 0.003, 0.4, 0.98, 1.0, 1.02, 5.0])
def test_the_blurred_clip_is_a_clip_but_for_its_width(u):
    s, rest, slope, bend = blurred(u, 0.01)
    logistic, _ = quad(lambda t: 1 / (1 + np.exp(-np.clip((u - t) / 0.01, -700, 700))), 0, 1, points=[np.clip(u, 0, 1)])
    assert s == pytest.approx(logistic, rel=1e-6, abs=1e-12)
    assert s + rest == pytest.approx(1.0)
    assert s > 0
    assert rest > 0
    assert abs(s - np.clip(u, 0, 1)) <= 0.01 * np.log(2) + 1e-12
    near = [blurred(u + h, 0.01) for h in (1e-6, -1e-6)]
    assert slope == pytest.approx((near[0][0] - near[1][0]) / 2e-6, abs=1e-4)
    assert bend == pytest.approx((near[0][2] - near[1][2]) / 2e-6, abs=1e-2)
