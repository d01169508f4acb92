"""Logs in which nothing was left to chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankfall.arrays import IntArray
from rankfall.estimates import CountedAs
from rankfall.estimates.without_chances import item_position_means, prefix_bounds
from rankfall.users import Cascade, DependentClick, PerItem, PositionBased, User
from rankfall.users.fitting import draw_log

ALPHA = [0.6, 0.1, 0.4, 0.3]


def clicks_of(user: User, lists: IntArray) -> IntArray:
    return draw_log(user, lists)["click"].to_numpy().reshape(lists.shape)


@pytest.mark.parametrize("counted", ["any", "clicks"])
@pytest.mark.parametrize("wanted", list(itertools.permutations(range(4), 2)))
def test_bounds_hold_and_meet_where_lists_agree(counted: CountedAs, wanted: tuple[int, ...]) -> None:
    user = User(PerItem(ALPHA), DependentClick([0.5, 0.5]), counted)
    shown = np.array([[0, 1], [0, 2]] * 4_000)
    found = prefix_bounds(shown, np.broadcast_to(np.array(wanted), (8_000, 1, 2)), clicks_of(user, shown), counted)
    truth = user.reward(list(wanted))
    assert found.low.value - 4 * found.low.error < truth < found.high.value + 4 * found.high.error
    if wanted[0] != 0:
        assert found.agreed == 0.0
        assert (found.low.value, found.high.value) == (0.0, 1.0 if counted == "any" else 2.0)
    elif wanted[1] in (1, 2):  # half of the lists are the very same
        assert found.agreed == 1.5
        assert found.high.value - found.low.value < (0.6 if counted == "clicks" else 0.4)
    else:
        assert found.agreed == 1.0


def test_bounds_of_the_lists_that_were_shown_are_what_they_earned() -> None:
    shown = np.array([[0, 1, 2], [3, 2, -1]] * 50)
    clicks = np.array([[0, 1, 0], [1, 0, 0]] * 50)
    found = prefix_bounds(shown, shown[:, None], clicks, "clicks")
    assert found.low.value == found.high.value == 1.0
    assert found.agreed == 2.5


def test_click_rates_of_items_at_positions() -> None:
    user = User(PerItem(ALPHA), PositionBased([0.9, 0.4]))
    lists = np.array(list(itertools.permutations(range(3), 2)) * 3_000)
    found = item_position_means(lists, np.broadcast_to(np.array([2, 0]), (len(lists), 1, 2)), clicks_of(user, lists))
    assert found.missing == 0.0
    assert abs(found.interval.value - user.reward([2, 0])) < 4 * found.interval.error
    rates = [0.9 * 0.4, 0.4 * 0.6]  # of 6,000 views each
    assert found.interval.error == pytest.approx(np.sqrt(sum(p * (1 - p) / 6_000 for p in rates)), rel=0.05)


def test_items_never_shown_at_a_position_are_told() -> None:
    shown = np.array([[0, 1]] * 10)
    found = item_position_means(shown, np.array([[[0, 3]]] * 10), clicks_of(User(PerItem(ALPHA), Cascade()), shown))
    assert found.missing == 0.5


def test_intervals_of_items_seen_a_few_times_hold_the_truth() -> None:
    rng, held, shown = np.random.default_rng(0), 0, np.repeat(np.arange(40), 2)[:, None]
    for _ in range(500):
        rates = rng.uniform(0.2, 0.8, 40)
        found = item_position_means(shown, shown[:, None], rng.random((80, 1)) < rates[shown])
        held += found.interval.low <= rates.mean() <= found.interval.high
    assert 0.9 < held / 500 < 0.98  # 95 % are wanted; a variance that divides by the views gives less


def test_items_seen_once_have_no_interval() -> None:
    shown = np.arange(5)[:, None]
    assert np.isnan(item_position_means(shown, shown[:, None], shown == 2).interval.error)
