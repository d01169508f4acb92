"""Estimators, by adding up every list and every click that can happen."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from plackett_luce import PlackettLuce

from rankfall.arrays import FloatArray, IntArray
from rankfall.errors import ProblemError
from rankfall.estimates import (
    CountedAs,
    Estimator,
    ListChances,
    Predicted,
    contributions,
    estimate_all,
    position_rewards,
    predicted,
)

K = 2
LOGGING = PlackettLuce([1.0, 2.0, 3.0, 1.5], K)
CHOSEN = PlackettLuce([4.0, 1.0, 0.5, 0.1], K)
ATTRACTION = np.array([0.7, 0.4, 0.2, 0.5])
Clicks = Callable[[tuple[int, ...], tuple[int, ...]], float]
"""The probability of clicks (0 or 1 for each position) on a list."""


def _probability(chances: list[float], clicks: tuple[int, ...]) -> float:
    return float(np.prod([p if c else 1 - p for p, c in zip(chances, clicks, strict=True)]))


def independent(shown: tuple[int, ...], clicks: tuple[int, ...]) -> float:
    return _probability([ATTRACTION[item] * (0.9, 0.5)[j] for j, item in enumerate(shown)], clicks)


def cascade(shown: tuple[int, ...], clicks: tuple[int, ...]) -> float:
    """Each item is less attractive the more the one above it is like it, and nobody comes back after a click."""
    first, second = shown
    below = 0.0 if clicks[0] else ATTRACTION[second] * (0.3 if (first + second) % 2 else 1.0)
    return _probability([ATTRACTION[first], below], clicks)


def anything(shown: tuple[int, ...], clicks: tuple[int, ...]) -> float:
    """Clicks at the top depend on what stands below."""
    first, second = shown
    return _probability([0.9 * ATTRACTION[first] * ATTRACTION[second], ATTRACTION[second]], clicks)


def every_case(clicks: Clicks) -> tuple[IntArray, FloatArray, FloatArray]:
    """Every list with every clicks on it, and how likely the logging policy and the user make both."""
    rows = []
    for shown, chance in zip(LOGGING.lists.tolist(), LOGGING.probability, strict=True):
        rows += [(shown, each, chance * clicks(tuple(shown), each)) for each in itertools.product((0, 1), repeat=K)]
    lists, clicked, likely = zip(*rows, strict=True)
    return np.array(lists), np.array(clicked, dtype=float), np.array(likely)


def truth(clicks: Clicks, counted: CountedAs) -> float:
    total = 0.0
    for shown, chance in zip(CHOSEN.lists.tolist(), CHOSEN.probability, strict=True):
        for each in itertools.product((0, 1), repeat=K):
            earned = sum(each) if counted == "clicks" else float(any(each))
            total += chance * clicks(tuple(shown), each) * earned
    return total


def any_model(lists: IntArray) -> Predicted:
    """A model of rewards that is wrong, with its means over the policy's choice added up item by item."""
    q = np.add.outer(np.array([0.8, 0.3]), np.array([0.5, 0.1, 0.4, 0.2]))
    value = np.zeros(lists.shape)
    for n, shown in enumerate(lists.tolist()):
        for place in range(K):
            left = [item for item in range(4) if item not in shown[:place]]
            total = sum(CHOSEN.scores[item] for item in left)
            value[n, place] = sum(CHOSEN.scores[item] / total * q[place, item] for item in left)
    return Predicted(q[np.arange(K), lists], value)


def mean(estimator: Estimator, clicks: Clicks, counted: CountedAs) -> float:
    lists, clicked, likely = every_case(clicks)
    chances = LOGGING.chances(lists), CHOSEN.chances(lists)
    each = contributions(estimator, *chances, position_rewards(clicked, counted), any_model(lists))
    return float(likely @ each)


@pytest.mark.parametrize(
    ("estimator", "clicks", "counted"),
    [
        *(("ips", clicks, counted) for clicks in (independent, cascade, anything) for counted in ("clicks", "any")),
        ("iips", independent, "clicks"),
        *(("rips", clicks, counted) for clicks in (independent, cascade) for counted in ("clicks", "any")),
        *(("cascade_dr", clicks, counted) for clicks in (independent, cascade) for counted in ("clicks", "any")),
    ],
)
def test_no_bias_where_the_assumption_holds(estimator: Estimator, clicks: Clicks, counted: CountedAs) -> None:
    assert mean(estimator, clicks, counted) == pytest.approx(truth(clicks, counted), abs=1e-12)


@pytest.mark.parametrize(
    ("estimator", "clicks", "counted"),
    [
        ("iips", cascade, "clicks"),
        ("iips", independent, "any"),
        ("rips", anything, "clicks"),
        ("cascade_dr", anything, "clicks"),
        ("direct", cascade, "clicks"),
    ],
)
def test_bias_where_it_does_not(estimator: Estimator, clicks: Clicks, counted: CountedAs) -> None:
    assert abs(mean(estimator, clicks, counted) - truth(clicks, counted)) > 0.005


def test_a_right_model_leaves_the_spread_of_clicks_only() -> None:
    lists, clicked, likely = every_case(cascade)
    every = [tuple(shown) for shown in CHOSEN.lists.tolist()]
    chance = dict(zip(every, CHOSEN.probability, strict=True))
    top = [sum(chance[one] for one in every if one[0] == item) for item in range(4)]
    rewards = {
        one: [sum(cascade(one, c) * c[j] for c in itertools.product((0, 1), repeat=K)) for j in range(K)]
        for one in every
    }
    below = [sum(chance[one] * rewards[one][1] for one in every if one[0] == item) / top[item] for item in range(4)]
    q = np.array([[ATTRACTION[a] + below[a], rewards[a, b][1]] for a, b in lists.tolist()])
    whole = sum(top[item] * (ATTRACTION[item] + below[item]) for item in range(4))
    value = np.array([[whole, below[a]] for a, _ in lists.tolist()])
    chances = LOGGING.chances(lists), CHOSEN.chances(lists)

    def variance(estimator: Estimator) -> float:
        each = contributions(estimator, *chances, clicked, Predicted(q, value))
        return float(likely @ each**2 - (likely @ each) ** 2)

    assert likely @ contributions("direct", *chances, clicked, Predicted(q, value)) == pytest.approx(whole)
    assert whole == pytest.approx(truth(cascade, "clicks"))
    assert variance("cascade_dr") < 0.8 * variance("rips") < 0.8 * variance("ips")


def test_predictions_from_lists_that_were_drawn() -> None:
    shown = np.array([[0, 1], [2, 0]])
    drawn = np.array([[[0, 1], [0, 2], [1, 0], [0, 1]], [[2, 0]] * 4])
    rewards = np.array([0.5, 0.2, 0.1])
    found = predicted(shown, drawn, lambda lists: rewards[lists] * [1.0, 0.5])
    # Those that begin with 0: 0.5 and then 0.1, 0.05, 0.1; the one that begins with 1: 0.2 and then 0.25.
    assert found.with_shown[0] == pytest.approx([0.5 + 0.25 / 3, 0.1])
    assert found.on_average[0] == pytest.approx([(0.6 + 0.55 + 0.45 + 0.6) / 4, 0.25 / 3])
    assert found.with_shown[1] == pytest.approx([0.35, 0.25])
    chances = ListChances.of_drawn(shown, drawn)
    assert chances.down_to.tolist() == [[0.75, 0.5], [1.0, 1.0]]
    assert chances.at_position is not None
    assert chances.at_position.tolist() == [[0.75, 0.5], [1.0, 1.0]]


def test_a_policy_that_is_the_logging_policy_earned_what_it_earned() -> None:
    rng = np.random.default_rng(0)
    lists = LOGGING.draw(500, rng)
    clicks = (rng.random(lists.shape) < 0.4).astype(float)
    found = estimate_all(LOGGING.chances(lists), LOGGING.chances(lists), clicks, any_model(lists), resamples=200)
    for name in ("ips", "sn_ips", "iips", "sn_iips", "rips", "sn_rips"):
        assert found[name].value == pytest.approx(clicks.sum(axis=1).mean())
        assert found[name].effective.tolist() == pytest.approx([500, 500])
        assert not found[name].warnings


def test_the_two_intervals_agree_on_many_lists() -> None:
    rng = np.random.default_rng(1)
    lists = LOGGING.draw(4_000, rng)
    clicks = (rng.random(lists.shape) < ATTRACTION[lists]).astype(float)
    found = estimate_all(LOGGING.chances(lists), CHOSEN.chances(lists), clicks, any_model(lists), resamples=400)
    for name, one in found.items():
        if name == "direct":
            continue
        assert one.resampled is not None
        assert one.resampled[0] == pytest.approx(one.interval.low, abs=0.4 * one.interval.error)
        assert one.resampled[1] == pytest.approx(one.interval.high, abs=0.4 * one.interval.error)


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    true, inside, rounds = truth(independent, "clicks"), dict.fromkeys(("ips", "iips", "rips", "sn_rips"), 0), 300
    for _ in range(rounds):
        lists = LOGGING.draw(1_000, rng)
        clicks = (rng.random(lists.shape) < ATTRACTION[lists] * [0.9, 0.5]).astype(float)
        found = estimate_all(LOGGING.chances(lists), CHOSEN.chances(lists), clicks)
        for name in inside:
            interval = found[name].interval  # type: ignore[index]
            inside[name] += interval.low <= true <= interval.high
    for count in inside.values():  # 95 % less four standard errors of a share over 300 rounds
        assert count / rounds > 0.90


def test_missing_support_is_told() -> None:
    shown, logged = np.array([[0, 1]] * 50 + [[1, 0]] * 50), ListChances.given_above([[0.5, 1.0]] * 100)
    never = ListChances.of_drawn(shown, np.array([[[0, 2]]] * 100))
    found = estimate_all(logged, never, np.ones((100, 2)))
    assert found["rips"].value == 1.0
    assert np.isnan(found["sn_rips"].value)
    assert "no list of the log agrees with the policy down to position 2" in found["rips"].warnings[0]
    assert "from top to bottom; what is there counts as nothing" in found["ips"].warnings[0]
    assert (found["rips"].reach, found["ips"].reach) == (1, 0)
    half = ListChances.of_drawn(shown, np.array([[[0, 1]], [[2, 1]]] * 50))
    assert "average 0.50 and not 1" in estimate_all(logged, half, np.ones((100, 2)))["rips"].warnings[0]
    low = ListChances(logged.down_to / 2)
    said = estimate_all(low, logged, np.ones((100, 2)))["rips"].warnings
    assert said == (
        "weights at position 1 average 2.00 and not 1: the chances in the log are lower than they can have been",
    )
    few = estimate_all(logged.take(np.arange(4)), half.take(np.arange(4)), np.ones((4, 2)))
    assert "do not trust" in few["rips"].warnings[-1]
    assert few["rips"].reach == 2


@pytest.mark.parametrize(
    ("logged", "chosen", "rewards", "said"),
    [
        ([[0.5, 0.0]] * 2, [[1.0, 1.0]] * 2, [[1, 1]] * 2, "down to position 2 is said to be 0"),
        ([[0.5, 0.5]] * 2, [[1.0]] * 2, [[1, 1]] * 2, "chances of the chosen lists have shape"),
        ([[0.5, 0.5]], [[1.0, 1.0]], [[1, 1]], "two lists at least, got 1"),
        ([[0.5, 1.5]] * 2, [[1.0, 1.0]] * 2, [[1, 1]] * 2, "a longer list cannot be likelier"),
        ([[1.5, 0.5]] * 2, [[1.0, 1.0]] * 2, [[1, 1]] * 2, "must hold probabilities"),
        ([[0.5, 0.5]] * 2, [[1.0, 1.0]] * 2, [[1, np.nan]] * 2, "must be finite"),
    ],
)
def test_what_cannot_be_is_refused(logged: object, chosen: object, rewards: object, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        estimate_all(
            ListChances.given_above(logged),  # type: ignore[arg-type]
            ListChances.given_above(chosen),  # type: ignore[arg-type]
            rewards,  # type: ignore[arg-type]
        )


def test_what_an_estimator_needs() -> None:
    one = ListChances.given_above([[0.5, 0.5]])
    with pytest.raises(ProblemError, match="cascade_dr needs a model"):
        contributions("cascade_dr", one, one, [[1, 0]])
    with pytest.raises(ProblemError, match="iips needs the chance of each item at its position"):
        contributions("iips", one, one, [[1, 0]])
    with pytest.raises(ProblemError, match="sn_rips is a ratio"):
        contributions("sn_rips", one, one, [[1, 0]])
    with pytest.raises(ProblemError, match="no estimator 'IPS'; choose from ips, "):
        contributions("IPS", one, one, [[1, 0]])  # type: ignore[arg-type]
    two, ones = ListChances.given_above([[0.5, 0.5]] * 2), np.ones((2, 2))
    with pytest.raises(ProblemError, match="must be finite"):
        contributions("cascade_dr", two, two, ones, Predicted(ones, ones * np.nan))
    with pytest.raises(ProblemError, match=r"of the model has shape \(1, 2\), and rewards \(2, 2\)"):
        contributions("cascade_dr", two, two, ones, Predicted(ones[:1], ones))


def test_support_of_positions_alone() -> None:
    logged = ListChances.given_above([[0.5, 1.0]] * 100, [[0.5, 0.5]] * 100)
    below = ListChances(np.zeros((100, 2)), np.tile([0.0, 1.0], (100, 1)))
    found = estimate_all(logged, below, np.ones((100, 2)))["iips"]
    assert found.value == 2.0
    assert found.effective.tolist() == [0.0, 100.0]
    assert "no list of the log agrees with the policy at position 1;" in found.warnings[0]
