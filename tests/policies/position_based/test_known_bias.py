"""PBM-UCB and PBM-TS against their equations, their posterior, and the problem they promise to solve."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from rankfall import PBMTS, PBMUCB, PerItem, PositionBased, User, check_policy, simulate
from rankfall.errors import ProblemError
from rankfall.kernels import position_based as kernels

KAPPA = [0.9, 0.6, 0.3]
THETA = [0.45, 0.35, 0.25, 0.15, 0.05]


class PlainUCB:
    """PBM-UCB line by line, with loops over items and positions."""

    def __init__(self, n: int, kappa: list[float], epsilon: float) -> None:
        self.N = [[0] * len(kappa) for _ in range(n)]
        self.S = [[0] * len(kappa) for _ in range(n)]
        self.kappa, self.epsilon, self.t = kappa, epsilon, 1

    def bound(self, i: int) -> float:
        if not sum(self.N[i]):
            return math.inf
        M = sum(k * n for k, n in zip(self.kappa, self.N[i], strict=True))
        delta = (1 + self.epsilon) * math.log(self.t)
        return sum(self.S[i]) / M + math.sqrt(sum(self.N[i]) / M) * math.sqrt(delta / (2 * M))

    def rank(self) -> list[int]:
        best = sorted(range(len(self.N)), key=lambda i: (-self.bound(i), i))[: len(self.kappa)]
        shown = [0] * len(self.kappa)
        for item, place in zip(best, sorted(range(len(self.kappa)), key=lambda p: (-self.kappa[p], p)), strict=True):
            shown[place] = item
        return shown

    def update(self, shown: list[int], clicks: tuple[int, ...]) -> None:
        for place, item in enumerate(shown):
            self.N[item][place] += 1
            self.S[item][place] += place in clicks
        self.t += 1


@pytest.mark.parametrize("kappa", [KAPPA, [0.3, 1.0, 0.6], [1.0, 1.0]], ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_pbm_ucb_is_its_listing(kappa: list[float], epsilon: float) -> None:
    policy, plain = PBMUCB(5, examination=kappa, epsilon=epsilon), PlainUCB(5, kappa, epsilon)
    user, rng = User(PerItem(THETA), PositionBased(kappa)), np.random.default_rng(0)
    for _ in range(500):
        ranking = policy.rank(len(kappa))
        assert ranking.items.tolist() == plain.rank()
        clicks = user.click(ranking.items, rng.random(len(kappa)))
        policy.update(ranking, clicks)
        plain.update(ranking.items.tolist(), clicks)  # type: ignore[arg-type]
    np.testing.assert_allclose(policy.scores(rng), [plain.bound(i) for i in range(5)], rtol=1e-12)


def test_the_bounds_of_public_code_are_the_same() -> None:
    """What ``opponents/pbm_ucb.py`` of github.com/gaudel/ranking_bandits (commit 1fe4a38b) gave for these counts."""
    policy = PBMUCB(5, examination=[0.4, 1.0, 0.7], epsilon=0.5)
    views = [[31, 31, 22], [37, 28, 25], [23, 16, 26], [26, 25, 6], [14, 13, 31]]
    clicks = [[7, 19, 12], [7, 17, 10], [2, 8, 7], [3, 8, 0], [2, 2, 3]]
    counts = {"shown": np.array(views, dtype=float), "clicked": np.array(clicks, dtype=float)}
    policy.restore({**policy.state(), **counts, "n_updates": np.array(199)})
    bounds = [0.9569732983384297, 0.8774672909950558, 0.762016028222095, 0.6578287588673892, 0.550408500235192]
    np.testing.assert_allclose(policy.scores(np.random.default_rng(0)), bounds, rtol=1e-12)
    assert policy.rank(3).items.tolist() == [2, 0, 1]


def counts(*by_position: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Views and clicks of one item at each position."""
    table = np.array([by_position], dtype=float)
    return table[:, :, 0].copy(), table[:, :, 1].copy()


SEEN = {
    "nothing": [(0, 0), (0, 0), (0, 0)],
    "no clicks": [(30, 0), (4, 0), (0, 0)],
    "one miss": [(1, 0), (0, 0), (0, 0)],
    "one click": [(1, 1), (0, 0), (0, 0)],
    "clicks only": [(40, 40), (10, 10), (0, 0)],
    "one position": [(0, 0), (50, 12), (0, 0)],
    "all positions": [(200, 80), (150, 41), (300, 44)],
    "more clicks than can be": [(0, 0), (0, 0), (200, 75)],
    "thousands": [(40_000, 16_500), (9_000, 2_400), (500, 70)],
    "rare": [(90_000, 3), (10, 0), (0, 0)],
    "high": [(20, 18), (20, 12), (20, 6)],
}


@pytest.mark.parametrize("kappa", [KAPPA, [1.0, 0.75, 0.1]], ids=str)
@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_samples_have_the_posterior(seen: list[tuple[int, int]], kappa: list[float]) -> None:
    n, (N, S), known = 4000, counts(*seen), np.array(kappa)

    def log_density(x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = S[0] * np.log(x[:, None]) * (S[0] > 0)
            missed = np.where(N[0] > S[0], (N[0] - S[0]) * np.log1p(-known * x[:, None]), 0.0)
        return (np.where(S[0] > 0, terms, 0.0) + missed).sum(axis=1)

    coarse = np.linspace(1e-9, 1 - 1e-9, 200_001)
    likely = log_density(coarse)
    inside = coarse[likely > likely.max() - 40]
    grid = np.linspace(inside[0], inside[-1], 200_001)
    density = np.exp(log_density(grid) - likely.max())
    cdf = integrate.cumulative_trapezoid(density, grid, initial=0.0)
    cdf /= cdf[-1]
    items = np.zeros(n, dtype=np.int64)
    samples, accepted, rng = [], 0, np.random.default_rng(1)
    while len(samples) < n:
        out = np.empty(1)
        kernels.sample(items[:1], N, S, known, rng.random((1, 1, 2)), out)
        accepted += 1
        if not np.isnan(out[0]):
            samples.append(out[0])
    assert 0.0 <= min(samples) <= max(samples) <= 1.0
    found = stats.kstest(samples, lambda x: np.interp(x, grid, cdf))
    assert found.statistic < 2.2 / math.sqrt(n)  # exceeded once in 10,000 times
    assert n / accepted > 0.6


def test_with_full_examination_it_is_thompson_sampling_of_coins() -> None:
    policy, rng = PBMTS(1, examination=[1.0]), np.random.default_rng(0)
    policy.arrays["shown"][0, 0], policy.arrays["clicked"][0, 0] = 50.0, 12.0
    samples = [policy.scores(rng)[0] for _ in range(4000)]
    assert stats.kstest(samples, stats.beta(13, 39).cdf).statistic < 2.2 / math.sqrt(4000)


def test_the_best_item_goes_where_users_look_most_around_what_is_fixed() -> None:
    policy = PBMUCB(6, examination=[0.2, 1.0, 0.5])
    policy.arrays["shown"][:] = 1000.0
    policy.arrays["clicked"][:, 1] = [100, 900, 300, 800, 700, 200]
    policy._n_updates = 1000
    assert policy.rank(3).items.tolist() == [4, 1, 3]
    assert policy.rank(3, fixed={1: 0}).items.tolist() == [3, 0, 1]
    assert policy.rank(3, exclude=[1]).items.tolist() == [2, 3, 4]
    assert policy.rank(5).items.tolist() == [4, 1, 3, 2, 5]  # below what is known of, in order


@pytest.mark.parametrize("make", [PBMUCB, PBMTS])
def test_the_contract_holds(make: type) -> None:
    check_policy(make(7, examination=KAPPA))
    check_policy(make(7))


@pytest.mark.parametrize(("make", "most"), [(PBMUCB, 0.5), (PBMTS, 0.2)])
def test_they_find_the_best_list(make: type, most: float) -> None:
    user = User(PerItem(THETA), PositionBased(KAPPA))
    run = simulate(make(5, examination=KAPPA), user, steps=5000, k=3, seed=1, checkpoints=[2500, 5000])
    first, last = run.regret[0], run.regret[1] - run.regret[0]
    assert last < most * 2500 * (user.reward(user.best(3)) - user.reward([4, 3, 2])) / 2
    assert last < first


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"examination": []}, "above 0 for each position"),
        ({"examination": [0.5, 0.0]}, "above 0 for each position"),
        ({"examination": [1.5]}, "above 0 for each position"),
        ({"examination": [0.5, 0.4], "k": 3}, "2 numbers, and k is 3"),
        ({"k": 0}, "k must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        PBMTS(5, **settings)
