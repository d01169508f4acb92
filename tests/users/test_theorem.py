"""Theorem 1, and what the greedy list is worth."""

import math

import numpy as np
import pytest
from cascade_problems import Problem
from hypothesis import given
from hypothesis import strategies as st

import rankfall
from rankfall import CascadeUser, ProblemError, theorem_bound
from rankfall.users import eta


def test_greedy_earns_at_least_eta_of_the_optimum_on_3500_problems():
    """Section 3.2: r(greedy) >= (1 - 1/e) max(1/K, 1 - (K - 1)/2 alpha_max) r(optimum)."""
    rng = np.random.default_rng(23)
    below_optimum = 0
    for _ in range(3500):
        n, k = int(rng.integers(3, 7)), int(rng.integers(1, 4))
        problem = Problem(
            rng,
            n,
            d=int(rng.integers(1, 5)),
            m=int(rng.integers(1, 3)),
            tradeoff=float(rng.choice([0.0, rng.random(), 1.0])),
            appeal=float(rng.choice([0.1, 0.5, 1.0])),
            broad=bool(rng.random() < 0.3),
        )
        user = problem.user
        assert user.attraction.share_clipped == 0
        share = (1 - 1 / math.e) * max(1 / k, 1 - (k - 1) / 2 * problem.alpha_max())
        assert eta(k, user.attraction.highest) == pytest.approx(share, abs=1e-14)
        greedy, most = user.reward(user.best(k)), user.reward(user.optimum(k))
        assert share * most <= greedy <= most + 1e-14
        below_optimum += greedy < most - 1e-9
    assert below_optimum > 30  # the greedy list is not simply the optimum


def test_eta_by_hand():
    """Highest attraction 0.4: with two positions 1 - 0.5 * 0.4 = 0.8; with ten 1/10 > 1 - 4.5 * 0.4 < 0."""
    user = CascadeUser(np.zeros((3, 1)), [[0.4], [0.1], [0.3]], [0.0], [1.0], tradeoff=1.0)
    assert eta(1, user.attraction.highest) == pytest.approx(1 - 1 / math.e)
    assert eta(2, user.attraction.highest) == pytest.approx(0.8 * 0.6321205588)
    assert eta(10, user.attraction.highest) == pytest.approx(0.06321205588)


@pytest.mark.parametrize("k", [-1, 0, 1.5])
def test_eta_refuses_lists_that_cannot_be(k):
    with pytest.raises(ProblemError, match="k must be a whole number"):
        eta(k, highest=0.5)


@given(n=st.integers(1, 10**6), k=st.integers(1, 50), m=st.integers(0, 30), d=st.integers(1, 30), norm=st.floats(0, 1))
def test_theorem_bound_is_theorem_1(n, k, m, d, norm):
    gamma = np.sqrt((m + d) * np.log(1 + n * k / (m + d)) + 2 * np.log(n)) + norm
    regret = 2 * gamma * np.sqrt(2 * n * k * (m + d) * np.log(1 + n * k / (m + d))) + 1
    assert theorem_bound(n, k, m, d, norm) == pytest.approx((gamma, regret), rel=1e-12)


def test_theorem_bound_by_hand():
    # n = K = d = 1, m = 0: log 2 = 0.693147, gamma = 0.832555 + 1, regret = 2 * 1.832555 * 1.177410 + 1
    assert theorem_bound(n=1, k=1, m=0, d=1, norm=1.0) == pytest.approx((1.832555, 5.315336), abs=2e-6)
    # log(1 + 200/5) = log 41 = 3.713572; 5 * that + 2 log 100 = 27.778200, whose root is 5.270503;
    # 2 * 100 * 2 * 5 * 3.713572 = 7427.144, whose root is 86.180880; 2 * 5.770503 * 86.180880 + 1
    assert theorem_bound(n=100, k=2, m=2, d=3, norm=0.5) == pytest.approx((5.770503, 995.6140), abs=2e-3)


def scaled_regret(problem, k, steps, seed):
    """R_eta(n) of eq. scaled regret in expected rewards, and Theorem 1's bound, for its own gamma."""
    user, norm = problem.user, float(np.linalg.norm(problem.w_star()))
    assert norm <= 1
    bound = theorem_bound(steps, k, m=problem.z.shape[1], d=problem.x.shape[1], norm=norm)
    policy = rankfall.CascadeHybrid(rankfall.Catalog(problem.x, problem.z), gamma=bound.gamma)
    run = rankfall.simulate(policy, user, steps=steps, k=k, seed=seed)
    earned = steps * user.reward(user.best(k)) - run.regret[-1]
    assert 0 < earned <= steps
    most = eta(k, user.attraction.highest) * steps * user.reward(user.optimum(k))
    return most - earned, bound.regret, most


@pytest.mark.parametrize(("d", "m", "k", "tradeoff"), [(1, 1, 1, 0.5), (3, 2, 3, 0.5), (2, 1, 2, 0.1), (1, 4, 4, 0.9)])
def test_scaled_regret_stays_below_theorem_1(d, m, k, tradeoff):
    problem = Problem(np.random.default_rng([d, m, k]), n=6, d=d, m=m, tradeoff=tradeoff)
    regret, bound, _ = scaled_regret(problem, k, steps=1500, seed=1)
    assert regret <= bound


def test_scaled_regret_stays_below_theorem_1_where_the_bound_bites():
    """One attractive item among dull ones, for so long that never showing it would break the bound."""
    problem = Problem(np.random.default_rng(5), n=6, d=1, m=1)
    problem.x, problem.z = np.full((6, 1), 0.02), np.full((6, 1), 0.02)
    problem.x[4], problem.z[4] = 1.0, 1.0
    problem.theta, problem.beta, problem.tradeoff = np.array([0.98]), np.array([0.98]), 0.5
    problem.user = CascadeUser(problem.x, problem.z, problem.theta, problem.beta, problem.tradeoff)
    steps = 40_000
    regret, bound, most = scaled_regret(problem, 1, steps, seed=2)
    assert most - 0.02 * steps > bound
    assert regret <= bound


@pytest.mark.parametrize(
    "change", [{"n": 0}, {"k": 0}, {"k": -1}, {"m": -1}, {"d": -1}, {"m": 0, "d": 0}, {"norm": 1.5}, {"norm": math.nan}]
)
def test_theorem_bound_refuses_what_the_theorem_does_not_cover(change):
    sound = {"n": 10, "k": 2, "m": 1, "d": 1, "norm": 1.0}
    assert theorem_bound(**sound).gamma > 0
    with pytest.raises(ProblemError, match=next(iter(change))):
        theorem_bound(**(sound | change))
