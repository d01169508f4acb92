"""Tabular cascading policies against their papers' listings, on the problems they promise to solve."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from rankfall import DCMKLUCB, CascadeDUCB, CascadeKLUCB, CascadeSWUCB, CascadeTS, CascadeUCB1, Catalog
from rankfall.errors import FeedbackError, ProblemError
from rankfall.experiments.simulation import simulate
from rankfall.kernels import item_bounds as bounds
from rankfall.policies import Ranking, check_policy

MAKE = {
    "CascadeUCB1": CascadeUCB1,
    "CascadeKLUCB": CascadeKLUCB,
    "CascadeTS": CascadeTS,
    "CascadeDUCB": lambda n: CascadeDUCB(n, discount=0.98),
    "CascadeSWUCB": lambda n: CascadeSWUCB(n, window=60),
    "DCMKLUCB": DCMKLUCB,
    "DCMKLUCB in another order": lambda n: DCMKLUCB(n, termination=[0.1, 0.5, 0.3]),
}


class Items:
    """A user with an attraction for each item; with ``termination`` one who clicks on until satisfied."""

    def __init__(self, attraction, termination=None):
        self.attraction = np.array(attraction, dtype=float)
        self.termination = termination

    @property
    def n_items(self):
        return len(self.attraction)

    def reward(self, items):
        left = 1.0
        for k, a in enumerate(items):
            left *= 1.0 - self.attraction[a] * (1.0 if self.termination is None else self.termination[k])
        return 1.0 - left

    def click(self, items, coins):
        """One coin for each position: below attraction a click, below attraction * termination the last one."""
        clicks = []
        for k, a in enumerate(items):
            if coins[k] < self.attraction[a]:
                clicks.append(k)
                if self.termination is None:
                    return k
                if coins[k] < self.attraction[a] * self.termination[k]:
                    break
        return tuple(clicks) or None

    def best(self, k):
        order = np.argsort(-self.attraction, kind="stable")[:k]
        if self.termination is None:
            return order
        items = np.empty(k, dtype=np.int64)
        items[np.argsort(-np.array(self.termination[:k]), kind="stable")] = order
        return items


# The listings in plain Python: nothing of ours, symbols of the papers, an item never observed above all others.


def largest(U, K):
    return sorted(range(len(U)), key=lambda e: (-U[e], e))[:K]


def kl(p, q):
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def kl_ucb(w, budget):
    """max{q in [w, 1] : kl(w, q) <= budget} by halving."""
    if w == 1:
        return 1.0
    low, high = w, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if middle > 0 and kl(w, middle) > budget:
            high = middle
        else:
            low = middle
    return low


class PlainUCB1:
    def __init__(self, L):
        self.T, self.w, self.t = [0] * L, [0.0] * L, 1

    def bound(self, e):
        return self.w[e] + math.sqrt(1.5 * math.log(self.t - 1) / self.T[e])

    def rank(self, K, rng):
        return largest([self.bound(e) if self.T[e] else math.inf for e in range(len(self.T))], K)

    def observed(self, A, C):
        return A if C is None else A[: C + 1]

    def update(self, A, C):
        for k, e in enumerate(self.observed(A, C)):
            self.T[e] += 1
            hit = k in C if isinstance(C, tuple) else k == C
            self.w[e] = ((self.T[e] - 1) * self.w[e] + hit) / self.T[e]
        self.t += 1


class PlainKLUCB(PlainUCB1):
    def bound(self, e):
        log = math.log(self.t)
        return kl_ucb(self.w[e], (log + 3 * math.log(max(log, 1))) / self.T[e])


class PlainDCM(PlainKLUCB):
    v = None

    def observed(self, A, C):
        return A if C is None else A[: max(C) + 1]

    def rank(self, K, rng):
        A = super().rank(K, rng)
        if self.v is None:
            return A
        placed = [None] * K
        for item, k in zip(A, sorted(range(K), key=lambda k: -self.v[k]), strict=True):
            placed[k] = item
        return placed


class PlainReorderedDCM(PlainDCM):
    v = (0.1, 0.5, 0.3)


class PlainTS:
    def __init__(self, L):
        self.alpha, self.beta = [1.0] * L, [1.0] * L

    def rank(self, K, rng):
        g = [rng.standard_gamma(a) for a in self.alpha]
        h = [rng.standard_gamma(b) for b in self.beta]
        return largest([x / (x + y) for x, y in zip(g, h, strict=True)], K)

    def update(self, A, C):
        for k, e in enumerate(A if C is None else A[: C + 1]):
            self.alpha[e] += k == C
            self.beta[e] += k != C


class PlainHistory:
    """The non-stationary ones, with sums over the whole history each time: ``weight(age)`` of a step, age from 0."""

    def __init__(self, L):
        self.L, self.history = L, []

    def rank(self, K, rng):
        U = []
        for e in range(self.L):
            N = X = 0.0
            for age, (observed, clicked) in enumerate(reversed(self.history)):
                N += self.weight(age) * (e in observed)
                X += self.weight(age) * (e == clicked)
            U.append(X / N + self.width(len(self.history), N) if N > 0 else math.inf)
        return largest(U, K)

    def update(self, A, C):
        self.history.append((A, None) if C is None else (A[: C + 1], A[C]))


class PlainDUCB(PlainHistory):
    gamma, epsilon = 0.98, 0.5

    def weight(self, age):
        return self.gamma**age

    def width(self, steps, N):
        return 2 * math.sqrt(self.epsilon * math.log((1 - self.gamma**steps) / (1 - self.gamma)) / N)


class PlainSWUCB(PlainHistory):
    tau, epsilon = 60, 0.5

    def weight(self, age):
        return 1.0 if age < self.tau else 0.0

    def width(self, steps, N):
        return math.sqrt(self.epsilon * math.log(min(steps, self.tau)) / N)


PLAIN = {
    "CascadeUCB1": PlainUCB1,
    "CascadeKLUCB": PlainKLUCB,
    "CascadeTS": PlainTS,
    "CascadeDUCB": PlainDUCB,
    "CascadeSWUCB": PlainSWUCB,
    "DCMKLUCB": PlainDCM,
    "DCMKLUCB in another order": PlainReorderedDCM,
}


@pytest.mark.parametrize("name", MAKE)
def test_keeps_the_contract(name):
    for policy in (MAKE[name](6), MAKE[name](Catalog(relevance=np.eye(5)))):
        check_policy(policy)


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("seed", [0, 1])
def test_picks_are_those_of_the_listing(name, seed):
    several = name.startswith("DCM")
    user = Items(np.random.default_rng(seed).uniform(0.05, 0.6, 7), (0.5, 0.7, 0.6) if several else None)
    ours, plain = MAKE[name](7), PLAIN[name](7)
    coins, mine, theirs = (np.random.default_rng(seed + i) for i in (1, 2, 2))
    waiting = []
    for step in range(400):
        shown, expected = ours.rank(3, rng=mine), plain.rank(3, theirs)
        assert shown.items.tolist() == expected, step
        waiting.append((shown, expected, user.click(expected, coins.random(3))))
        if step % 50 < 40:  # answers come one by one; then none for ten steps, and then the last ones first
            for shown, expected, click in reversed(waiting):
                ours.update(shown, click)
                plain.update(expected, click)
            waiting.clear()


@settings(max_examples=300, deadline=None)
@given(
    observed=st.integers(1, 10**6),
    share=st.floats(0, 1),
    budget=st.floats(0, 40),
)
def test_kl_bound_is_the_root(observed, share, budget):
    clicked = round(share * observed)
    N, X, out = np.array([float(observed)]), np.array([float(clicked)]), np.empty(1)
    bounds.kl_bounds(N, X, budget, out)
    w, q = clicked / observed, out[0]
    assert w <= q <= 1
    top = np.nextafter(1.0, 0.0)
    if w == 1 or observed * kl(w, top) <= budget:
        assert q >= top
    elif budget:
        low = max(w, 1e-300)
        exact = brentq(lambda x: kl(w, x) - budget / observed, low, top, xtol=1e-16, rtol=1e-15, maxiter=1000)
        # kl is flat at w, so that near it the root itself is only known to the root of a rounding
        assert q == pytest.approx(exact, rel=1e-9, abs=1e-12 + 4e-16 / max(exact - w, 1e-8))
    else:
        assert q == pytest.approx(w, abs=1e-7)


def test_kl_list_is_the_top_of_all_bounds():
    rng = np.random.default_rng(3)
    for _ in range(200):
        N = rng.integers(0, 50, 30).astype(float) * (rng.random(30) < 0.9)
        X = np.floor(N * rng.random(30))
        every, items, scores = np.empty(30), np.empty(6, dtype=np.int64), np.empty(6)
        bounds.kl_bounds(N, X, 5.0, every)
        bounds.kl_list(np.arange(30), N, X, 5.0, items, scores)
        assert items.tolist() == largest(every.tolist(), 6)
        assert np.array_equal(scores, every[items])


def test_upper_bounds_are_what_lists_are_ordered_by():
    policy = CascadeKLUCB(5)
    simulate(policy, Items([0.5, 0.4, 0.3, 0.2, 0.1]), 50, 2)
    shown = policy.rank(5)
    assert np.array_equal(shown.scores, policy.upper_bounds()[shown.items])
    assert (np.diff(shown.scores) <= 0).all()


def test_every_item_is_observed_first():
    for click in (None, 0):
        policy, steps = CascadeKLUCB(8), 0
        while (policy.observed == 0).any():
            policy.update(policy.rank(4), click)
            steps += 1
        assert steps == (2 if click is None else 8)  # L / K when nobody clicks, L when all click the first


def test_thompson_samples_follow_the_posterior():
    policy = CascadeTS(3, prior=(2.0, 3.0))
    for items, click in [((0, 1), 1), ((1, 0), 0), ((0, 2), None), ((0, 1), 0)]:
        policy.update(Ranking(items), click)
    posterior = [(2 + 1, 3 + 2), (2 + 2, 3 + 0), (2 + 0, 3 + 1)]
    rng = np.random.default_rng(0)
    drawn = np.empty((4000, 3))
    for row in drawn:
        shown = policy.rank(3, rng=rng)
        row[shown.items] = shown.scores
    for item, (alpha, beta) in enumerate(posterior):
        assert stats.kstest(drawn[:, item], stats.beta(alpha, beta).cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.06  # independent


def test_dcm_learns_down_to_the_last_click():
    policy = DCMKLUCB(6)
    policy.update(Ranking([5, 3, 1, 0]), [2, 0])
    policy.update(Ranking([4, 5]), None)
    policy.update(Ranking([2, 5]), ())
    assert policy.observed.tolist() == [0, 1, 1, 1, 1, 3]
    assert policy.clicked.tolist() == [0, 1, 0, 0, 0, 1]


def test_the_most_attractive_stands_where_users_leave_most():
    policy = DCMKLUCB(4, termination=[0.2, 0.9, 0.5])
    for item, clicks in enumerate([9, 7, 5, 3]):
        for i in range(10):
            policy.update(Ranking([item]), 0 if i < clicks else None)
    assert policy.rank(3).items.tolist() == [2, 0, 1]
    assert policy.rank(2).items.tolist() == [1, 0]
    assert policy.rank(4).items.tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize("name", ["CascadeUCB1", "CascadeKLUCB", "CascadeTS", "DCMKLUCB"])
def test_the_order_of_answers_does_not_matter(name):
    rng = np.random.default_rng(4)
    answers = [(Ranking(rng.permutation(6)[:3]), [None, 0, 1, 2][rng.integers(4)]) for _ in range(60)]
    one, other = MAKE[name](6), MAKE[name](6)
    for ranking, click in answers:
        one.update(ranking, click)
    for i in rng.permutation(60):
        other.rank(3, rng=rng)  # lists that are never answered leave no trace
        other.update(*answers[i])
    for key, value in one.state().items():
        assert np.array_equal(value, other.state()[key])


def test_a_window_forgets_and_a_wide_one_does_not():
    rng = np.random.default_rng(5)
    narrow, wide, plain = CascadeSWUCB(6, window=5), CascadeSWUCB(6, window=1000), CascadeUCB1(6)
    answers = [(Ranking(rng.permutation(6)[: rng.integers(1, 5)]), [None, 0][rng.integers(2)]) for _ in range(50)]
    for ranking, click in answers:
        for policy in (narrow, wide, plain):
            policy.update(ranking, click)
    last = CascadeUCB1(6)
    for ranking, click in answers[-5:]:
        last.update(ranking, click)
    for key in ("observed", "clicked"):
        assert np.array_equal(wide.state()[key], plain.state()[key])
        assert np.array_equal(narrow.state()[key], last.state()[key])
    kept = narrow.state()
    ids = json.loads(kept["ids"].tobytes())
    for row, hit, (ranking, click) in zip(kept["window"], kept["hits"], answers[-5:], strict=True):
        seen = len(ranking) if click is None else click + 1
        assert [ids[place] for place in row.tolist()[:seen]] == ranking.items[:seen].tolist()
        assert row.tolist()[seen:] == [-1] * (len(row) - seen)
        assert hit == (-1 if click is None else click)


@pytest.mark.parametrize("name", MAKE)
def test_copies_learn_on_their_own(name):
    policy = MAKE[name](5)
    simulate(policy, Items([0.5, 0.4, 0.3, 0.2, 0.1], (0.5, 0.5) if "DCM" in name else None), 100, 2)
    before, twin = policy.state(), copy.deepcopy(policy)
    twin.update(twin.rank(2), 0)
    for key, value in policy.state().items():
        assert np.array_equal(value, before[key])
        value[...] = 0  # what is handed out is a copy
    assert np.array_equal(policy.observed, before["observed"])
    assert twin.n_updates == policy.n_updates + 1


@pytest.mark.parametrize("name", MAKE)
def test_a_ranking_of_other_rows_is_refused(name):
    policy = MAKE[name](4)
    for ranking in (Ranking([0, 4]), Ranking(np.empty(0, dtype=np.int64))):
        with pytest.raises(FeedbackError, match="rows from 0 to 3"):
            policy.update(ranking, None)
    assert policy.n_updates == 0
    assert not policy.observed.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CascadeUCB1(0), "items"),
        (lambda: CascadeUCB1(2.5), "items"),
        (lambda: CascadeUCB1(3, exploration=-1), "exploration"),
        (lambda: CascadeKLUCB(3, exploration=float("nan")), "exploration"),
        (lambda: CascadeTS(3, prior=(1, 0)), "prior"),
        (lambda: CascadeTS(3, prior=(1, 1, 1)), "prior"),
        (lambda: CascadeDUCB(3), "steps"),
        (lambda: CascadeDUCB(3, discount=1), "discount"),
        (lambda: CascadeDUCB(3, steps=0), "steps"),
        (lambda: CascadeSWUCB(3), "steps"),
        (lambda: CascadeSWUCB(3, window=0), "window"),
        (lambda: CascadeSWUCB(3, window=5, epsilon=-1), "epsilon"),
        (lambda: DCMKLUCB(3, termination=[[0.5]]), "termination"),
    ],
)
def test_settings_that_make_no_sense(make, message):
    with pytest.raises(ProblemError, match=message):
        make()


def test_constants_of_the_papers():
    assert CascadeDUCB(3, steps=100_000).discount == pytest.approx(1 - 1 / (4 * 100_000**0.5))
    assert CascadeSWUCB(3, steps=100_000).window == round(2 * (100_000 * math.log(100_000)) ** 0.5)
    assert CascadeSWUCB(3, steps=1).window == 1


ATTRACTION = [0.1, 0.6, 0.1, 0.1, 0.1, 0.6, 0.1, 0.1]


@pytest.mark.parametrize("name", ["CascadeUCB1", "CascadeKLUCB", "CascadeTS", "DCMKLUCB"])
def test_regret_is_sublinear(name):
    user = Items(ATTRACTION, (0.8, 0.8) if name == "DCMKLUCB" else None)
    runs = [simulate(MAKE[name](8), user, 8000, 2, seed, checkpoints=[800, 8000]).regret for seed in range(3)]
    early, late = np.mean(runs, axis=0)
    assert math.log10(late / early) < 0.8


@pytest.mark.parametrize("kind", [CascadeDUCB, CascadeSWUCB])
def test_regret_of_forgetting_is_sublinear_in_the_horizon(kind):
    """Discount and window are set by the horizon, so that regret at one is compared with regret at another."""
    user = Items([0.02, 0.6, 0.02, 0.6, 0.02])
    early, late = (
        np.mean([simulate(kind(5, steps=n), user, n, 2, seed, checkpoints=[n]).regret for seed in range(3)])
        for n in (1000, 10_000)
    )
    assert math.log10(late / early) < 0.8


def test_forgetting_pays_where_users_change():
    """Half way the best items lose their attraction; what was learned of them now misleads."""
    phases = [0.1, 0.9, 0.5, 0.1, 0.9, 0.5, 0.1], [0.1, 0.1, 0.5, 0.1, 0.1, 0.5, 0.1]
    n = 12_000

    def regret(policy):
        rng, total = np.random.default_rng(6), 0.0
        for attraction in phases:
            user = Items(attraction)
            best = user.reward(user.best(2))
            for coins in rng.random((n // 2, 2)):
                shown = policy.rank(2)
                policy.update(shown, user.click(shown.items, coins))
                total += best - user.reward(shown.items)
        return total

    stationary = min(regret(CascadeUCB1(7)), regret(CascadeKLUCB(7)))
    assert regret(CascadeDUCB(7, steps=n)) < stationary
    assert regret(CascadeSWUCB(7, steps=n)) < stationary
