"""Comparisons on known preferences: compiled loops against the methods themselves, and what they lose."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankfall.arrays import FloatArray, IntArray
from rankfall.compare import DoubleThompson, Duels, MergeDTS, Method, SelfSparring, Together, UniformPairs
from rankfall.errors import ProblemError
from rankfall.experiments.dueling import ALONE, played, simulate_duels
from rankfall.kernels.duels import preferred

METHODS = [
    DoubleThompson(),
    DoubleThompson(alpha=0.1),
    MergeDTS(),
    MergeDTS(batch=4, alpha=0.3, c=100.0),
    MergeDTS(batch=6, alpha=0.1, c=10.0, seed=3),
    SelfSparring(),
]


def strengths(n: int, seed: int = 0) -> FloatArray:
    """Preferences in which ranker 2 is preferred to every other one."""
    worth = np.random.default_rng(seed).normal(scale=0.8, size=n)
    worth[2] = worth.max() + 0.3
    preferences: FloatArray = 1.0 / (1.0 + np.exp(worth[None, :] - worth[:, None]))
    return (preferences + 1.0 - preferences.T) / 2.0


def plainly(duels: Duels, preferences: FloatArray, steps: int, rng: np.random.Generator) -> IntArray:
    """The loop of :func:`played` with ``choose`` and ``learn`` only."""
    picks = np.full((steps, 2), ALONE)
    for step in range(steps):
        pair = duels.choose(rng)
        picks[step, : len(pair)] = pair
        if len(pair) == 2:
            duels.learn({(pair[0], pair[1]): float(rng.random() < preferences[pair])})  # type: ignore[index]
    return picks


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("n", [2, 3, 20])
def test_compiled_loops_pick_the_same(method: Method, n: int) -> None:
    preferences = strengths(max(n, 3))[:n, :n]
    one, other = Duels(n, method), Duels(n, method)
    rng, twin = np.random.default_rng(1), np.random.default_rng(1)
    expected = plainly(one, preferences, 2_500, rng)
    found = np.concatenate([played(other, preferences, steps, twin) for steps in (1, 499, 2_000)])
    assert np.array_equal(found, expected)
    assert rng.random() == twin.random()
    for name, array in one.state().items():
        assert np.array_equal(other.state()[name], array), name
    if n == 20 and isinstance(method, MergeDTS) and method.alpha < 1.0:
        assert int(one.arrays["stage"]) > 1  # batches were merged on the way


def test_regret_is_half_of_both_gaps() -> None:
    preferences = strengths(5)
    steps = np.array([10, 400, 1_000])
    run = simulate_duels(Duels(5, DoubleThompson()), preferences, 1_000, seed=4, checkpoints=steps)
    picks = plainly(Duels(5, DoubleThompson()), preferences, 1_000, np.random.default_rng(4))
    gap = preferences[2] - 0.5
    each = [(gap[i] + gap[i if j == ALONE else j]) / 2 for i, j in picks.tolist()]
    assert run.regret == pytest.approx(np.cumsum(each)[steps - 1])
    alone = [(i, j) in ((2, ALONE), (2, 2)) for i, j in picks.tolist()]
    assert run.found == pytest.approx([np.mean(alone[a:b]) for a, b in itertools.pairwise([0, 10, 400, 1_000])])


@pytest.mark.parametrize(
    "method", [DoubleThompson(), MergeDTS(batch=4, alpha=0.3, c=100.0), SelfSparring(), UniformPairs()], ids=str
)
def test_methods_find_the_best_but_those_that_draw_pairs_at_random(method: Method) -> None:
    preferences = strengths(12)
    run = simulate_duels(Duels(12, method), preferences, 6_000)
    mean = (preferences[2] - 0.5).mean()
    if isinstance(method, UniformPairs):
        assert run.regret[-1] == pytest.approx(6_000 * mean, rel=0.05)
    else:
        assert run.regret[-1] < 0.5 * 6_000 * mean
        assert run.found[-1] > 0.9


def test_how_likely_a_drawn_preference_is_above_half() -> None:
    """Of whole numbers of wins: at least as many heads as it takes, of as many coins."""
    wins = np.array([[0.0, 3.0, 50.0], [1.0, 0.0, 7.0], [5.0, 60.0, 0.0]])
    first, second = np.triu_indices(3, 1)
    found = np.empty(3)
    preferred(wins, first, second, found)
    expected = [_heads(wins[i, j], wins[j, i]) for i, j in zip(first, second, strict=True)]
    assert found == pytest.approx(expected, rel=1e-12)
    shares = np.array([[0.0, 2.3, 4000.5], [0.7, 0.0, 100_000.0], [3900.0, 99_700.0, 0.0]])
    preferred(shares, first, second, found)
    for chance, i, j in zip(found, first, second, strict=True):
        drawn = np.random.default_rng(0).beta(1.0 + shares[i, j], 1.0 + shares[j, i], 100_000)
        assert chance == pytest.approx((drawn > 0.5).mean(), abs=4 * 0.5 / np.sqrt(100_000))


def _heads(a: float, b: float) -> float:
    """P(Beta(1 + a, 1 + b) > 1/2) = P(at most a of a + b + 1 coins are heads)."""
    coins = int(a + b) + 1
    chance = [0.5**coins]
    for heads in range(int(a)):
        chance.append(chance[-1] * (coins - heads) / (heads + 1))
    return float(np.sum(chance))


@pytest.mark.parametrize(
    ("method", "preferences", "said"),
    [
        (DoubleThompson(), np.full((3, 3), 0.5), "no ranker is preferred to all 2 others; one is to 0"),
        (DoubleThompson(), np.full((2, 3), 0.5), r"shape \(2, 3\), and there are 3 rankers"),
        (DoubleThompson(), np.full((3, 3), 0.7), "adding up to 1"),
        (Together(), strengths(3), "compares 3 rankers at once"),
    ],
)
def test_what_cannot_be_played(method: Method, preferences: FloatArray, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        simulate_duels(Duels(3, method), preferences, 10)
