"""Comparisons on simulated users."""

import itertools

import numpy as np
import pytest

from rankfall import PerItem, PositionBased, User
from rankfall.compare import Comparison, Interleaved, MergeDTS, TeamDraft, UniformPairs
from rankfall.compare.interleaving import draft
from rankfall.errors import ProblemError
from rankfall.experiments.comparing import preference_gaps, simulate_comparison

ATTRACTION, EXAMINATION = np.array([0.6, 0.5, 0.3, 0.1]), np.array([1.0, 0.7, 0.4])
USER = User(PerItem(ATTRACTION), PositionBased(EXAMINATION))
LISTS = {"good": [0, 1, 2], "fair": [1, 0, 3], "bad": [3, 2, 1]}


def exact_gap(first: str, second: str) -> float:
    """The probability that one is preferred, ties left out, over all orders of turns and all clicks, less 1/2."""
    won = lost = 0.0
    for turns in itertools.product([(0, 1), (1, 0)], repeat=2):
        items, credit = draft([LISTS[first], LISTS[second]], 3, sum(turns, ()))
        shown = Interleaved(tuple(items), (first, second), credit)
        chances = ATTRACTION[items] * EXAMINATION
        for clicked in itertools.product([False, True], repeat=3):
            chance = float(np.prod(np.where(clicked, chances, 1 - chances))) / 4
            share = shown.preference(first, second, np.flatnonzero(clicked).tolist())
            won += chance * (share == 1.0)
            lost += chance * (share == 0.0)
    return won / (won + lost) - 0.5


def test_gaps_are_those_of_all_that_can_happen() -> None:
    samples = 4000
    gaps = preference_gaps(LISTS, USER, 3, TeamDraft(), samples)
    assert gaps.best == "good"
    assert gaps.gap["good"] == 0.0
    assert gaps.reward["fair"] == USER.reward([1, 0, 3])
    for name in ("fair", "bad"):  # a fifth of the lists at least are no ties
        assert gaps.gap[name] == pytest.approx(exact_gap("good", name), abs=4 * (0.25 / (samples / 5)) ** 0.5)


def test_regret_is_the_sum_of_the_gaps_of_those_compared() -> None:
    gaps = preference_gaps(LISTS, USER, 3, samples=500)

    class Spy(Comparison):
        def next(self, lists: object, k: int, rng: object = None) -> Interleaved:
            shown.append(super().next(lists, k, rng))  # type: ignore[arg-type]
            return shown[-1]

    shown: list[Interleaved] = []
    run = simulate_comparison(Spy(LISTS, UniformPairs()), LISTS, USER, gaps, 200, 3, seed=3, checkpoints=[50, 200])
    assert run.steps.tolist() == [50, 200]
    for at, regret, lost in zip(run.steps, run.regret, run.lost, strict=True):
        pairs = [each.rankers for each in shown[:at]]
        assert regret == pytest.approx(sum((gaps.gap[a] + gaps.gap[b]) / 2 for a, b in pairs))
        assert lost == pytest.approx(sum(USER.reward([0, 1, 2]) - USER.reward(each.items) for each in shown[:at]))


def test_a_run_can_be_made_again_and_finding_the_best_ends_regret() -> None:
    gaps = preference_gaps(LISTS, USER, 3, samples=500)
    runs = [
        simulate_comparison(Comparison(LISTS, MergeDTS(alpha=0.3, c=100.0)), LISTS, USER, gaps, 3000, 3, seed=1)
        for _ in range(2)
    ]
    assert runs[0].regret.tolist() == runs[1].regret.tolist()
    assert runs[0].left[-1] == 1
    assert runs[0].best[-1] == "good"
    assert runs[0].regret[-1] == runs[0].regret[-2]
    assert repr(runs[0]) == f"ComparisonRun(3,000 lists, regret {runs[0].regret[-1]:.4g}, good leads)"


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ProblemError, match="fewer than k"):
        preference_gaps({"a": [0], "b": [1]}, USER, 2)
    with pytest.raises(ProblemError, match="the list of 'b' holds row 9"):
        preference_gaps({"a": [0, 1], "b": [1, 9]}, USER, 2)
    gaps = preference_gaps(LISTS, USER, 3, samples=10)
    with pytest.raises(ProblemError, match="no list or no gap of the ranker 'x'"):
        simulate_comparison(Comparison(["good", "x"]), LISTS, USER, gaps, 10, 3)
