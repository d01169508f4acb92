"""The one model: incremental ridge regression against the batch formula, and against time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankfall.model import Ridge

numbers = st.floats(-3, 3, allow_subnormal=False)


@st.composite
def observations(draw):
    """Features (n, columns) and clicks (n,)."""
    n, columns = draw(st.integers(0, 30)), draw(st.integers(1, 6))
    features = draw(arrays(np.float64, (n, columns), elements=numbers))
    return features, draw(arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0])))


def batch_ridge(features, rewards):
    """O = I + sum phi phi', w = O^-1 sum r phi; all observations at once."""
    O = np.eye(features.shape[1]) + features.T @ features  # noqa: E741 - the paper's name
    return O, np.linalg.solve(O, features.T @ rewards)


def learned(features, rewards, cuts=()):
    """A model that was given the observations in lists that end at ``cuts``."""
    model = Ridge(features.shape[1])
    for rows, rs in zip(np.split(features, cuts), np.split(rewards, cuts), strict=True):
        model.learn(np.ascontiguousarray(rows), rs)
    return model


def precise_inverse(matrix):
    """Gauss-Jordan in extended precision; needs no pivoting as the matrix is positive definite."""
    n = len(matrix)
    work = np.hstack([matrix, np.eye(n)]).astype(np.longdouble)
    for i in range(n):
        work[i] /= work[i, i]
        for j in range(n):
            if j != i:
                work[j] -= work[j, i] * work[i]
    return work[:, n:]


def largest_difference(a, b):
    return float(np.max(np.abs(a - b)))


@given(observations(), st.data())
def test_incremental_ridge_is_batch_ridge_in_any_order_and_any_lists(seen, data):
    features, rewards = seen
    order = data.draw(st.permutations(range(len(rewards))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rewards)), max_size=5)))
    model = learned(features[order], rewards[order], cuts)
    O, w = batch_ridge(features, rewards)  # noqa: E741
    np.testing.assert_allclose(model.weights, w, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.covariance, np.linalg.solve(O, np.eye(len(O))), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.gram, O, rtol=1e-12, atol=1e-12)
    assert model.n_updates == len(cuts) + 1


@given(observations())
def test_covariance_is_symmetric_to_the_bit_after_every_observation(seen):
    features, rewards = seen
    model = Ridge(features.shape[1])
    for row, reward in zip(features, rewards, strict=True):
        model.learn(row[None, :], np.array([reward]))
        np.testing.assert_array_equal(model.covariance, model.covariance.T)
        np.testing.assert_array_equal(model.gram, model.gram.T)


def test_covariance_stays_symmetric_to_the_bit_when_it_is_computed_afresh():
    rng = np.random.default_rng(1)
    model = Ridge(7)
    for _ in range(2500):
        model.learn(rng.normal(size=(1, 7)), np.zeros(1))
        assert (model.covariance == model.covariance.T).all()


@given(observations())
def test_what_is_learned_from_a_list_is_what_is_learned_from_its_items(seen):
    features, rewards = seen
    whole, single = learned(features, rewards), learned(features, rewards, range(1, len(rewards)))
    np.testing.assert_array_equal(whole.covariance, single.covariance)
    np.testing.assert_array_equal(whole.weights, single.weights)


def test_a_model_without_observations_knows_nothing():
    model = learned(np.empty((0, 3)), np.empty(0))
    np.testing.assert_array_equal(model.covariance, np.eye(3))
    np.testing.assert_array_equal(model.weights, np.zeros(3))


def test_two_observations_by_hand():
    """O = [[2, 1], [1, 3]], O^-1 = [[3, -1], [-1, 2]] / 5, b = (1, 1): w = (0.4, 0.2)."""
    model = learned(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(model.covariance, [[0.6, -0.2], [-0.2, 0.4]], atol=1e-15)
    np.testing.assert_allclose(model.weights, [0.4, 0.2], atol=1e-15)


def spread_out(rng, n, columns):
    return rng.normal(size=(n, columns)) / np.sqrt(columns)


def nearly_collinear(rng, n, columns):
    """Length 1 and all but one direction never seen: the gram matrix has condition number n."""
    return np.ones(columns) / np.sqrt(columns) + 1e-6 * rng.normal(size=(n, columns))


def long_and_nearly_collinear(rng, n, columns):
    return 30 * (np.ones(columns) + 1e-3 * rng.normal(size=(n, columns)))


def of_many_scales(rng, n, columns):
    return rng.normal(size=(n, columns)) * np.logspace(-4, 1, columns)


@pytest.mark.parametrize(
    ("draw", "updates"),
    [
        (spread_out, 1_000_000),
        (nearly_collinear, 1_000_000),
        (long_and_nearly_collinear, 200_000),
        (of_many_scales, 200_000),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_million_updates_do_not_wear_the_covariance_out(draw, updates):
    """Single observations, so one call of learn each. Checked in the middle of the refresh schedule and at its end."""
    rng = np.random.default_rng(7)
    columns, block = 8, 10_000
    model = Ridge(columns)
    O, b = np.eye(columns, dtype=np.longdouble), np.zeros(columns, dtype=np.longdouble)  # noqa: E741
    checked = 0
    for done in range(0, updates, block):
        features = draw(rng, block, columns)
        rewards = (rng.random(block) < 0.3).astype(np.float64)
        lists = list(zip(features[:, None, :], rewards[:, None], strict=True))
        for phi, reward in lists[:-1]:
            model.learn(phi, reward)
        before_last = features[:-1].astype(np.longdouble)
        O += before_last.T @ before_last  # noqa: E741
        b += before_last.T @ rewards[:-1]
        if done in (0, 10_000, 100_000, 190_000, 500_000) or done + block == updates:
            assert largest_difference(model.covariance, np.linalg.inv(model.gram)) < 1e-8
            assert largest_difference(model.covariance, precise_inverse(model.gram)) < 1e-8
            assert largest_difference(model.covariance, precise_inverse(O)) < 1e-7
            assert largest_difference(model.weights, precise_inverse(O) @ b) < 1e-7
            checked += 1
        model.learn(*lists[-1])
        O += np.outer(features[-1], features[-1])  # noqa: E741
        b += rewards[-1] * features[-1]
    assert largest_difference(model.covariance, precise_inverse(model.gram)) < 1e-8
    assert model.n_updates == updates
    assert checked >= 4
