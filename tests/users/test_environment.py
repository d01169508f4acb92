"""The simulated user, its oracles and Theorem 1, against the paper's formulas."""

import itertools
import math

import numpy as np
import pytest
import specification
from hypothesis import given
from hypothesis import strategies as st

import rankfall
from rankfall import CascadeUser, ContractError, ProblemError, check_environment, theorem_bound
from rankfall.users import eta


class Problem:
    """Items and a user with preferences that are nonnegative and attractions that lie in [0, 1]."""

    def __init__(self, rng, n=6, d=3, m=2, tradeoff=0.5, appeal=1.0, broad=False):
        self.x = rng.random((n, d)) * (rng.random((n, d)) < 0.7)
        if broad:  # one item with something of every topic, the others with all of one: what misleads the greedy
            self.x = np.eye(d)[rng.integers(d, size=n)]
            self.x[0] = rng.uniform(0.3, 0.9, d)
        self.z = rng.random((n, m))
        self.theta = rng.dirichlet(np.ones(d)) * appeal  # sums to at most 1, so x' theta <= 1
        self.beta = rng.dirichlet(np.ones(m)) * appeal
        self.tradeoff = tradeoff
        self.user = CascadeUser(self.x, self.z, self.theta, self.beta, tradeoff)

    def alpha(self, R):
        return specification.attraction(self.x, self.z, self.theta, self.beta, self.tradeoff, list(R))

    def w_star(self):
        return np.concatenate([(1 - self.tradeoff) * self.theta, self.tradeoff * self.beta])

    def alpha_max(self):
        return max(self.alpha([a])[0] for a in range(len(self.x)))


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, m = draw(st.integers(1, 7)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return Problem(rng, n, d, m, tradeoff=draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])))


def lists(data, problem):
    R = data.draw(st.permutations(range(len(problem.x))))
    return R[: data.draw(st.integers(1, len(R)))]


# --- attraction ---------------------------------------------------------------------------------------------------


def test_attraction_by_hand():
    """Tradeoff 0.25. Item 1 stands below item 0, which leaves 0.2 of topic 0 and all of topic 1."""
    user = CascadeUser(
        coverage=[[0.8, 0.0], [0.5, 0.4], [0.0, 1.0]],
        relevance=[[1.0], [0.5], [0.0]],
        theta=[0.6, 0.4],
        beta=[0.8],
        tradeoff=0.25,
    )
    expected = [
        0.25 * 0.8 + 0.75 * (0.8 * 0.6),  # 0.56
        0.25 * 0.4 + 0.75 * (0.2 * 0.5 * 0.6 + 0.4 * 0.4),  # 0.265
        0.25 * 0.0 + 0.75 * (0.6 * 1.0 * 0.4),  # 0.18: item 1 leaves 0.6 of topic 1
    ]
    np.testing.assert_allclose(user.attraction_of([0, 1, 2]), expected, rtol=1e-14)
    np.testing.assert_allclose(user.attraction_of([0, 1, 2]), [0.56, 0.265, 0.18], rtol=1e-12)


@given(problems(), st.data())
def test_attraction_is_the_formula_of_section_4_1(problem, data):
    R = lists(data, problem)
    np.testing.assert_allclose(problem.user.attraction_of(R), problem.alpha(R), rtol=0, atol=1e-14)


def test_a_large_tradeoff_means_relevance_and_a_small_one_diversity():
    def user(tradeoff):
        return CascadeUser([[1.0], [1.0]], [[0.1], [0.2]], [0.7], [1.0], tradeoff)

    np.testing.assert_allclose(user(1.0).attraction_of([0, 1]), [0.1, 0.2], rtol=1e-15)
    np.testing.assert_allclose(user(0.0).attraction_of([0, 1]), [0.7, 0.0], atol=1e-15)


def test_attraction_is_clipped_to_probabilities_and_the_share_is_told():
    user = CascadeUser(np.zeros((4, 1)), [[2.0], [-1.0], [0.5], [1.0]], [0.0], [1.0], tradeoff=1.0)
    assert user.attraction_of([0, 1, 2, 3]).tolist() == [1.0, 0.0, 0.5, 1.0]
    assert user.attraction.share_clipped == 0.5
    assert user.reward([1]) == 0.0
    assert user.reward([1, 0]) == 1.0


@given(problems())
def test_nothing_is_clipped_where_attractions_are_probabilities(problem):
    assert problem.user.attraction.share_clipped == 0.0


# --- reward and clicks --------------------------------------------------------------------------------------------


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


# --- oracles ------------------------------------------------------------------------------------------------------


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


def test_optimum_refuses_problems_too_large_to_search():
    user = Problem(np.random.default_rng(0), n=200).user
    assert len(user.optimum(1)) == 1
    with pytest.raises(ProblemError, match="7,880,400 lists"):
        user.optimum(3)


# --- Theorem 1 ----------------------------------------------------------------------------------------------------


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


# --- the checker --------------------------------------------------------------------------------------------------


class Broken(CascadeUser):
    """A sound user, to be broken in one way by each subclass."""

    def __init__(self):
        rng = np.random.default_rng(31)
        super().__init__(rng.random((8, 2)), rng.random((8, 2)), [0.3, 0.3], [0.2, 0.3])


class PromisesTooMuch(Broken):
    def reward(self, items):
        return min(1.0, super().reward(items) + 0.05)


class RewardIsNotANumber(Broken):
    def reward(self, items):
        return math.nan


class ClicksOutOfRange(Broken):
    def click(self, items, coins):
        position = super().click(items, coins)
        return None if position is None else position + 1


class ClicksAreFloats(Broken):
    def click(self, items, coins):
        position = super().click(items, coins)
        return None if position is None else float(position)


class BestHoldsDuplicates(Broken):
    def best(self, k):
        return np.zeros(k, dtype=np.int64)


class BestIsTooShort(Broken):
    def best(self, k):
        return super().best(k)[:-1]


class BestIsNoRow(Broken):
    def best(self, k):
        return super().best(k) + self.n_items


class TossesItsOwnCoins(Broken):
    def __init__(self):
        super().__init__()
        self.own = np.random.default_rng(32)

    def click(self, items, coins):
        return super().click(items, self.own.random(len(coins)))


class Raises(Broken):
    def click(self, items, coins):
        raise RuntimeError("no user today")


def test_checker_accepts_a_sound_user():
    for k in (1, 3, 8):
        check_environment(Broken(), k, trials=5_000)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (PromisesTooMuch, r"reward\(.*\) is 0\.\d+, and 0\.\d+ was earned on average in \d+ lists"),
        (RewardIsNotANumber, "finite number.*got nan"),
        (ClicksOutOfRange, "position from 0 to 2, got 3"),
        (ClicksAreFloats, r"position from 0 to 2, got \d\.0"),
        (BestHoldsDuplicates, r"best\(3\) must be 3 different rows.*\[0, 0, 0\]"),
        (BestIsTooShort, r"best\(3\) must be 3 different rows"),
        (BestIsNoRow, "different rows from 0 to 7"),
        (TossesItsOwnCoins, "depend on the coins alone"),
        (Raises, "raised RuntimeError: no user today"),
    ],
)
def test_checker_names_what_is_broken(broken, problem):
    with pytest.raises(ContractError, match=problem) as caught:
        check_environment(broken(), trials=5_000)
    assert broken.__name__ in str(caught.value)


def test_checker_lists_everything_that_is_broken():
    class Both(PromisesTooMuch, ClicksOutOfRange):
        pass

    with pytest.raises(ContractError, match="position from 0 to 2") as caught:
        check_environment(Both(), trials=5_000)
    assert "was earned on average" in str(caught.value)


# --- refusals -----------------------------------------------------------------------------------------------------

SOUND = {
    "coverage": [[0.1, 0.2], [0.3, 0.4]],
    "relevance": [[1.0], [2.0]],
    "theta": [0.5, 0.5],
    "beta": [0.1],
    "tradeoff": 0.5,
}


def test_the_problem_that_the_next_test_spoils_is_sound():
    assert CascadeUser(**SOUND).n_items == 2


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("coverage", [[0.1, math.nan], [0.3, 0.4]], r"coverage holds nan at \[0, 1\]"),
        ("coverage", [[0.1, 1.5], [0.3, 0.4]], r"coverage must lie in \[0, 1\]"),
        ("coverage", [[0.1, -0.5], [0.3, 0.4]], r"coverage must lie in \[0, 1\]"),
        ("coverage", [0.1, 0.2], "coverage must have 2 axes"),
        ("coverage", [[0.1, 0.2]], "coverage has 1 rows, relevance 2"),
        ("coverage", [[0.1, 0.2], [0.3]], "coverage must be numbers in a rectangular array"),
        ("relevance", [[1.0], [math.inf]], r"relevance holds inf at \[1, 0\]"),
        ("relevance", [["a"], ["b"]], "relevance must be numbers"),
        ("theta", [0.5], "theta has 1 entries for 2 columns"),
        ("theta", [math.nan, 0.5], "theta holds nan"),
        ("beta", [0.1, 0.2], "beta has 2 entries for 1 columns"),
        ("beta", [[0.1]], "beta must have 1 axes"),
        ("tradeoff", 2, "tradeoff must be a number in.*got 2"),
        ("tradeoff", -0.1, "tradeoff"),
        ("tradeoff", math.nan, "tradeoff"),
        ("tradeoff", "half", "tradeoff"),
    ],
)
def test_a_user_that_makes_no_sense_is_refused(argument, value, message):
    with pytest.raises(ProblemError, match=message):
        CascadeUser(**(SOUND | {argument: value}))


@pytest.mark.parametrize("k", [-1, 0, 3, 1.5, "2", None, True])
@pytest.mark.parametrize("oracle", ["best", "optimum"])
def test_oracles_refuse_lists_that_cannot_be(oracle, k):
    with pytest.raises(ProblemError, match="k must be a whole number"):
        getattr(CascadeUser(**SOUND), oracle)(k)


@pytest.mark.parametrize("k", [-1, 0, 1.5])
def test_eta_refuses_lists_that_cannot_be(k):
    with pytest.raises(ProblemError, match="k must be a whole number"):
        eta(k, highest=0.5)


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


@pytest.mark.parametrize(
    "change", [{"n": 0}, {"k": 0}, {"k": -1}, {"m": -1}, {"d": -1}, {"m": 0, "d": 0}, {"norm": 1.5}, {"norm": math.nan}]
)
def test_theorem_bound_refuses_what_the_theorem_does_not_cover(change):
    sound = {"n": 10, "k": 2, "m": 1, "d": 1, "norm": 1.0}
    assert theorem_bound(**sound).gamma > 0
    with pytest.raises(ProblemError, match=next(iter(change))):
        theorem_bound(**(sound | change))


def test_covered_counts_topics_and_weighs_them() -> None:
    user = CascadeUser([[0.5, 0.0, 0.2], [0.5, 0.0, 0.0]], [[0.0], [0.0]], [0.3, 0.3, 0.4], [0.0], 0.5)
    assert user.covered([0, 1]) == (2.0, pytest.approx(0.75 + 0.2))
    assert user.covered([1]) == (1.0, pytest.approx(0.5))
