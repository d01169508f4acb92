"""A prior of a linear policy: against the direct solution, and the identity as if there were none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_policies import LINEAR

from rankfall import CascadeHybrid, CascadeLinUCB, Discount, Prior, ProblemError, Window, check_policy, generate
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.ridge import Ridge

FORGETTING = [None, Discount(0.8), Window(3)]


def some_prior(rng: np.random.Generator, columns: int) -> Prior:
    root = rng.normal(size=(columns, columns))
    spread = root @ root.T + 0.1 * np.eye(columns)
    return Prior(rng.normal(size=columns), (spread + spread.T) / 2, noise=0.1, users=7)


def some_lists(rng: np.random.Generator, count: int, columns: int) -> list[tuple[np.ndarray, np.ndarray]]:
    made = []
    for _ in range(count):
        features = rng.normal(size=(int(rng.integers(1, 5)), columns)) * (rng.random(columns) < 0.7)
        made.append((features, (rng.random(len(features)) < 0.3).astype(float)))
    return made


def counted(lists: list[tuple[np.ndarray, np.ndarray]], forgetting: Forgetting | None) -> list[float]:
    """How much each list counts in the end."""
    ages = range(len(lists) - 1, -1, -1)
    if isinstance(forgetting, Discount):
        return [forgetting.rho**age for age in ages]
    return [float(forgetting is None or age < forgetting.lists) for age in ages]


@pytest.mark.parametrize("forgetting", FORGETTING, ids=str)
@given(st.integers(1, 6), st.integers(0, 12), st.integers(0, 1000))
def test_a_model_with_a_prior_is_the_direct_solution(
    forgetting: Forgetting | None, columns: int, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    prior, later, lists = some_prior(rng, columns), some_prior(rng, columns), some_lists(rng, count, columns)
    model = Ridge(columns, forgetting, prior)
    for features, rewards in lists:
        model.learn(features, rewards)
    shares = counted(lists, forgetting)
    G = sum((share * f.T @ f for share, (f, _) in zip(shares, lists, strict=True)), np.zeros((columns, columns)))
    h = sum((share * f.T @ r for share, (f, r) in zip(shares, lists, strict=True)), np.zeros(columns))
    for made, start in ((model, prior), (model.with_prior(later), later)):
        inverse = np.linalg.inv(start.covariance)
        np.testing.assert_allclose(made.weights, np.linalg.solve(inverse + G, inverse @ start.mean + h), atol=1e-8)
        np.testing.assert_allclose(made.covariance, np.linalg.inv(inverse + G), atol=1e-8)
    assert model.own is not None
    np.testing.assert_allclose(model.own.gram, G, atol=1e-10)
    np.testing.assert_allclose(model.own.moment, h, atol=1e-10)
    seen = [sum(share * len(r) for share, (_, r) in zip(shares, lists, strict=True))]
    np.testing.assert_allclose(model.own.sums[:1], seen, atol=1e-10)
    squares = sum(share * (r**2).sum() for share, (_, r) in zip(shares, lists, strict=True))
    np.testing.assert_allclose(model.own.sums[1], squares, atol=1e-10)


@pytest.mark.parametrize("name", LINEAR)
def test_the_identity_as_prior_gives_the_bits_of_no_prior(name: str) -> None:
    catalog = generate(items=30, topics=4, features=3, seed=4).catalog
    plain = LINEAR[name](catalog)
    same = plain.with_prior(Prior.identity(len(plain.weights)))
    for turn in range(60):
        lists = [policy.rank(4, rng=np.random.default_rng(turn)) for policy in (plain, same)]
        assert lists[0].items.tolist() == lists[1].items.tolist()
        for policy, ranking in zip((plain, same), lists, strict=True):
            policy.update(ranking, (None, 0, 2, 3)[turn % 4])
    for array in ("gram", "covariance", "moment", "weights"):
        assert plain.state()[array].tobytes() == same.state()[array].tobytes(), array


@pytest.mark.parametrize("forgetting", FORGETTING, ids=str)
def test_a_prior_depends_on_none_before_it(forgetting: Forgetting | None) -> None:
    rng = np.random.default_rng(3)
    first, second, third = (some_prior(rng, 4) for _ in range(3))
    model = Ridge(4, forgetting, first)
    for features, rewards in some_lists(rng, 9, 4):
        model.learn(features, rewards)
    ways = model.with_prior(third), model.with_prior(second).with_prior(third)
    for name, array in ways[0].arrays().items():
        assert ways[1].arrays()[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("forgetting", FORGETTING, ids=str)
def test_a_policy_with_a_prior_keeps_the_contract(forgetting: Forgetting | None) -> None:
    catalog = generate(items=20, topics=4, features=3, seed=4).catalog
    policy = CascadeHybrid(catalog, forgetting=forgetting).with_prior(some_prior(np.random.default_rng(2), 7))
    assert check_policy(policy).served
    assert policy.fresh().prior is policy.prior
    again = policy.with_catalog(catalog).prior
    assert again is not None
    assert policy.prior is not None
    assert again.mean.tobytes() == policy.prior.mean.tobytes()
    assert (again.noise, again.users) == (0.1, 7)


@pytest.mark.parametrize("forgetting", FORGETTING, ids=str)
@given(st.integers(0, 3), st.integers(1, 2), st.integers(0, 1000))
def test_new_columns_are_as_from_the_start(forgetting: Forgetting | None, at: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = some_prior(rng, 3)
    narrow, always = Ridge(3, forgetting, prior), Ridge(3 + count, forgetting, prior.widened(at, count))
    for features, rewards in some_lists(rng, 6, 3):
        narrow.learn(features, rewards)
        always.learn(np.insert(features, [at] * count, 0.0, axis=1), rewards)
    wide = Ridge.restore(Ridge.widened(narrow.arrays(), at, count), forgetting)
    for features, rewards in some_lists(rng, 3, 3 + count):
        wide.learn(features, rewards)
        always.learn(features, rewards)
    for name, array in always.arrays().items():
        assert wide.arrays()[name].tobytes() == array.tobytes(), name


def test_what_is_no_prior_is_refused() -> None:
    with pytest.raises(ProblemError, match="symmetric"):
        Prior([0.0, 0.0], [[1.0, 0.1], [0.2, 1.0]])
    with pytest.raises(ProblemError, match="positive definite"):
        Prior([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ProblemError, match="3 columns"):
        Prior([0.0, 0.0, 0.0], np.eye(2))
    with pytest.raises(ProblemError, match="noise"):
        Prior([0.0], [[1.0]], noise=-1.0)
    catalog = generate(items=5, topics=0, features=3, seed=1).catalog
    with pytest.raises(ProblemError, match="a prior of 2 columns for a model of 3"):
        CascadeLinUCB(catalog).with_prior(Prior.identity(2))
    policy = CascadeLinUCB(catalog)
    policy.update(policy.rank(2), 0)
    with pytest.raises(ProblemError, match="without a prior"):
        policy.with_prior(Prior.identity(3))
    with pytest.raises(ValueError, match="no prior that makes sense"):
        Ridge.restore({**Ridge(1, prior=Prior.identity(1)).arrays(), "prior_covariance": np.array([[-1.0]])})
