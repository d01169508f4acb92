"""The one model: incremental ridge regression against the batch formula, and against time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankfall import Discount, ProblemError, Window
from rankfall.policies.linear.ridge import Ridge

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


FORGETTING = [Discount(0.9), Discount(0.999), Window(1), Window(4)]
each_forgetting = pytest.mark.parametrize("forgetting", FORGETTING, ids=repr)


@st.composite
def lists(draw):
    """Up to twelve lists of up to five rows: features and clicks."""
    columns = draw(st.integers(1, 5))
    rows = st.lists(arrays(np.float64, columns + 1, elements=numbers), max_size=5)
    drawn = [np.array(shown).reshape(-1, columns + 1) for shown in draw(st.lists(rows, min_size=1, max_size=12))]
    return [(np.ascontiguousarray(shown[:, 1:]), (shown[:, 0] > 1).astype(np.float64)) for shown in drawn]


def batch(shown, forgetting):
    """Weighted ridge regression of all lists at once: what each counts is all that forgetting says."""
    age = np.arange(len(shown))[::-1]
    counts = forgetting.rho**age if isinstance(forgetting, Discount) else (age < forgetting.lists).astype(np.float64)
    root = np.sqrt(np.repeat(counts, [len(rewards) for _, rewards in shown]))
    features, rewards = (np.concatenate(part) for part in zip(*shown, strict=True))
    return batch_ridge(features * root[:, None], rewards * root)


def assert_batch(model, shown, forgetting):
    O, w = batch(shown, forgetting)  # noqa: E741
    np.testing.assert_allclose(model.gram, O, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.covariance, np.linalg.inv(O), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.weights, w, rtol=0, atol=1e-9)
    assert (model.gram == model.gram.T).all()
    assert (model.covariance == model.covariance.T).all()


@each_forgetting
@given(shown=lists())
def test_forgetting_is_batch_ridge_of_what_still_counts_at_any_time(forgetting, shown):
    model = Ridge(shown[0][0].shape[1], forgetting)
    for n, one in enumerate(shown, start=1):
        model.learn(*one)
        assert_batch(model, shown[:n], forgetting)
        assert model.n_updates == n


@each_forgetting
@given(shown=lists(), data=st.data())
def test_a_model_taken_apart_and_put_together_again_goes_on_to_the_bit(forgetting, shown, data):
    pause = data.draw(st.integers(0, len(shown)))
    through = Ridge(shown[0][0].shape[1], forgetting)
    for one in shown[:pause]:
        through.learn(*one)
    paused, copied = Ridge.restore(through.arrays(), forgetting), through.copy()
    for one in shown[pause:]:
        for model in (through, paused, copied):
            model.learn(*one)
    expected = {name: array.tobytes() for name, array in through.arrays().items()}
    for model in (paused, copied):
        assert {name: array.tobytes() for name, array in model.arrays().items()} == expected


@pytest.mark.parametrize("forgetting", [Discount(0.99), Window(50)], ids=repr)
def test_rounding_does_not_pile_up_while_forgetting(forgetting):
    rng = np.random.default_rng(3)
    model = Ridge(6, forgetting)
    shown = [(rng.normal(size=(n, 6)), (rng.random(n) < 0.3).astype(float)) for n in rng.integers(1, 6, 30_000)]
    for n, one in enumerate(shown, start=1):
        model.learn(*one)
        if n % 2999 == 0:
            assert_batch(model, shown[max(n - 6000, 0) : n], forgetting)


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_a_list_that_left_the_window_leaves_no_trace_however_large_it_was(size):
    rng = np.random.default_rng(4)
    model, shown = Ridge(5, Window(3)), []
    for n in range(60):
        features = rng.normal(size=(4, 5)) * (size if n % 10 == 0 else 1.0)
        shown.append((features, rng.integers(0, 2, 4).astype(float)))
        model.learn(*shown[-1])
        if n % 10 > 2:
            assert_batch(model, shown, Window(3))


def test_the_window_keeps_what_it_was_given_whatever_becomes_of_it():
    features, rewards = np.ones((2, 2)), np.ones(2)
    model = Ridge(2, Window(1))
    model.learn(features, rewards)
    features[:] = rewards[:] = 7.0
    model.learn(np.array([[1.0, 0.0]]), np.array([1.0]))
    np.testing.assert_array_equal(model.gram, [[2.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(model.weights, [0.5, 0.0], atol=1e-15)


def test_fading_by_hand():
    """After a click on 2 and no click on 1, with rho 1/2: O = 1 + 4/2 + 1 = 4, b = 2/2 = 1."""
    model = Ridge(1, Discount(0.5))
    model.learn(np.array([[2.0]]), np.array([1.0]))
    model.learn(np.array([[1.0]]), np.array([0.0]))
    assert (model.gram.item(), model.weights.item()) == (4.0, 0.25)


@pytest.mark.parametrize("rho", [0, 1, 1.5, -0.1, float("nan"), "0.9", True, None])
def test_a_discount_that_makes_no_sense(rho):
    with pytest.raises(ProblemError, match="rho must be a number"):
        Discount(rho)


@pytest.mark.parametrize("lists", [0, -1, 2.5, "3", True, None])
def test_a_window_that_makes_no_sense(lists):
    with pytest.raises(ProblemError, match="lists must be a whole number from 1 on"):
        Window(lists)


def test_forgetting_of_no_known_kind():
    with pytest.raises(ProblemError, match=r"forgetting must be a Discount, a Window or None, got 0\.9"):
        Ridge(2, 0.9)


def test_arrays_that_cannot_be_a_model_are_refused():
    model = Ridge(3, Window(2))
    for n in (2, 0, 3):
        model.learn(np.ones((n, 3)), np.zeros(n))
    good = model.arrays()
    for wrong in (None, Discount(0.9)):
        with pytest.raises(ValueError, match="the arrays are of a model with a Window"):
            Ridge.restore(good, wrong)
    for wrong in (Window(1), Window(3)):
        with pytest.raises(ValueError, match="2 lists in Window"):
            Ridge.restore(good, wrong)
    with pytest.raises(ValueError, match="needs window_features, window_lengths, window_rest, window_rewards too"):
        Ridge.restore(Ridge(3).arrays(), Window(2))
    for name, array in (
        ("window_lengths", np.array([4, -1])),
        ("window_lengths", np.array([2**60, 3])),
        ("window_lengths", np.array(3)),
        ("window_features", np.ones((3, 2))),
        ("window_rewards", np.full(3, np.nan)),
        ("window_rest", np.zeros((3, 3))),
        ("gram", np.eye(2)),
        ("moment", np.array(0.0)),
    ):
        with pytest.raises(ValueError, match=f"{name}|gram"):
            Ridge.restore({**good, name: array}, Window(2))
    for name in ("window_lengths", "window_rewards", "gram", "moment"):
        with pytest.raises(ValueError, match=f"needs {name} too"):
            Ridge.restore({key: array for key, array in good.items() if key != name}, Window(2))
