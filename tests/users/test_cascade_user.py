"""The user of the paper: clicks, rewards and best lists, against the paper's formulas."""

import itertools
import math

import numpy as np
import pytest
from cascade_problems import SOUND, Problem, lists, problems
from hypothesis import given
from hypothesis import strategies as st

from rankfall import Cascade, CascadeUser, Hybrid, ProblemError, User


def test_it_is_a_user_with_hybrid_attraction_and_cascade_clicks():
    rng = np.random.default_rng(1)
    parts = rng.random((7, 3)), rng.random((7, 2)), rng.dirichlet(np.ones(3)), rng.normal(size=2), 0.3
    user = CascadeUser(*parts)
    assert isinstance(user, User)
    assert (
        repr(user)
        == repr(User(Hybrid(*parts), Cascade()))
        == "User(Hybrid(7 items, tradeoff=0.3), Cascade(), reward='any')"
    )
    own = {name for name in vars(CascadeUser) if not name.startswith("__")}
    assert own == set()  # nothing of its own but the constructor


@given(problems(), st.data())
def test_reward_is_the_expectation_over_all_outcomes_of_the_attraction_indicator(problem, data):
    """Eq. reward averaged over eq. bernoulli: all 2^K outcomes A of the shown items."""
    R = lists(data, problem)
    alpha = problem.alpha(R)
    expected = 0.0
    for A in itertools.product([0, 1], repeat=len(R)):
        probability = math.prod(p if attracted else 1 - p for p, attracted in zip(alpha, A, strict=True))
        r = 1 - math.prod(1 - attracted for attracted in A)
        expected += probability * r
    assert problem.user.reward(R) == pytest.approx(expected, abs=1e-12)


def test_clicks_are_as_frequent_as_examination_times_attraction():
    """P(click at i) = prod over j < i of (1 - alpha_j), times alpha_i; each within five standard errors."""
    problem = Problem(np.random.default_rng(11), n=8, tradeoff=0.6)
    R, trials = [3, 0, 6, 1, 5], 30_000
    coins = np.random.default_rng(12).random((trials, len(R)))
    clicks = [problem.user.click(R, flips) for flips in coins]
    alpha = problem.alpha(R)
    examined = [math.prod(1 - alpha[:i]) for i in range(len(R))]
    expected = {i: examined[i] * alpha[i] for i in range(len(R))} | {None: math.prod(1 - alpha)}
    assert sum(expected.values()) == pytest.approx(1.0)
    assert set(clicks) == set(expected)
    for position, p in expected.items():
        assert 100 < trials * p < trials - 100  # so that the normal approximation holds
        error = math.sqrt(p * (1 - p) / trials)
        assert abs(clicks.count(position) / trials - p) < 5 * error, f"position {position}"


def test_a_click_is_on_the_first_item_whose_coin_is_below_its_attraction():
    user = CascadeUser(np.zeros((3, 1)), [[0.5], [0.2], [0.9]], [0.0], [1.0], tradeoff=1.0)
    assert user.click([0, 1, 2], [0.5, 0.2, 0.9]) is None  # a coin equal to the attraction is no click
    assert user.click([0, 1, 2], [0.6, 0.1, 0.0]) == 1
    assert user.click([0, 1, 2], [0.4, 0.0, 0.0]) == 0
    assert user.click([2, 1, 0], [0.95, 0.3, 0.4]) == 2


def literal_greedy(problem, k):
    """Section 3.2: at every position the item with the highest z' beta + omega' theta, given those above."""
    R = []
    for _ in range(k):
        left = [a for a in range(len(problem.x)) if a not in R]
        R.append(max(left, key=lambda a: problem.alpha([*R, a])[-1]))
    return R


def test_best_is_the_greedy_benchmark():
    rng = np.random.default_rng(21)
    for _ in range(150):
        n = int(rng.integers(1, 12))
        problem = Problem(rng, n, d=int(rng.integers(1, 5)), tradeoff=float(rng.random()))
        k = int(rng.integers(1, n + 1))
        best = problem.user.best(k).tolist()
        assert sorted(set(best)) == sorted(best)
        # by value: items that add exactly the same may stand in either order
        greedy = literal_greedy(problem, k)
        np.testing.assert_allclose(problem.alpha(best), problem.alpha(greedy), rtol=0, atol=1e-12)
        if problem.tradeoff > 0:
            assert best == greedy


def test_of_equal_items_the_greedy_benchmark_takes_the_lowest_row():
    user = CascadeUser([[0.5], [0.5], [0.9], [0.5]], np.zeros((4, 1)), [1.0], [0.0], tradeoff=0.0)
    assert user.best(4).tolist() == [2, 0, 1, 3]


def test_optimum_is_the_best_of_all_lists():
    rng = np.random.default_rng(22)
    for _ in range(40):
        problem = Problem(rng, n=5, tradeoff=float(rng.random()))
        k = int(rng.integers(1, 5))
        most = max(problem.user.reward(R) for R in itertools.permutations(range(5), k))
        optimum = problem.user.optimum(k)
        assert len(set(optimum.tolist())) == k
        assert problem.user.reward(optimum) == pytest.approx(most, abs=1e-14)


def test_greedy_is_not_always_optimal():
    """By hand, topics only: greedy takes the broad item first (0.6, then 0.25), apart they earn (0.5, 0.5)."""
    user = CascadeUser([[0.6, 0.6], [1.0, 0.0], [0.0, 1.0]], np.zeros((3, 1)), [0.5, 0.5], [0.0], tradeoff=0.0)
    assert user.best(2).tolist() == [0, 1]
    assert user.reward(user.best(2)) == pytest.approx(1 - 0.4 * (1 - 0.2))  # 0.68
    assert user.optimum(2).tolist() == [1, 2]
    assert user.reward(user.optimum(2)) == pytest.approx(0.75)


def test_optimum_refuses_problems_too_large_to_search():
    user = Problem(np.random.default_rng(0), n=200).user
    assert len(user.optimum(1)) == 1
    with pytest.raises(ProblemError, match="7,880,400 lists"):
        user.optimum(3)


@pytest.mark.parametrize("k", [-1, 0, 3, 1.5, "2", None, True])
@pytest.mark.parametrize("oracle", ["best", "optimum"])
def test_oracles_refuse_lists_that_cannot_be(oracle, k):
    with pytest.raises(ProblemError, match="k must be a whole number"):
        getattr(CascadeUser(**SOUND), oracle)(k)


@pytest.mark.parametrize(
    ("items", "message"), [([0, 0], "holds 0 twice"), ([2], "row 2"), ([-1], "row -1"), ([0.5], "flat sequence")]
)
def test_lists_that_cannot_be_shown_are_refused(items, message):
    user = CascadeUser(**SOUND)
    for attempt in (user.attraction_of, user.reward, lambda shown: user.click(shown, [0.5] * len(shown))):
        with pytest.raises(ProblemError, match=message):
            attempt(items)


@pytest.mark.parametrize(
    ("coins", "message"), [([0.5], "1 coins for 2 positions"), ([0.5, math.nan], "coins holds nan")]
)
def test_clicks_need_a_coin_for_every_position(coins, message):
    with pytest.raises(ProblemError, match=message):
        CascadeUser(**SOUND).click([0, 1], coins)
