"""Chances of lists, against all lists there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from plackett_luce import PlackettLuce

from rankfall.errors import ProblemError
from rankfall.estimates import ListChances, position_rewards
from rankfall.estimates.support import effective_size


def test_uniform_lists() -> None:
    even = PlackettLuce([1.0] * 5, 3)
    found = ListChances.uniform([5] * 60, np.ones((60, 3)))
    assert found.down_to == pytest.approx(even.chances(even.lists).down_to)
    assert found.at_position == pytest.approx(even.at_position(even.lists))
    assert found.given()[0] == pytest.approx([1 / 5, 1 / 4, 1 / 3])


def test_shorter_lists_go_on_as_if_nothing_stood_there() -> None:
    found = ListChances.uniform([4, 4], [[True] * 3, [True, False, False]])
    assert found.down_to[1].tolist() == [0.25, 0.25, 0.25]
    assert found.at_position is not None
    assert found.at_position[1].tolist() == [0.25, 1.0, 1.0]


def test_a_mixture_adds_up_over_all_lists() -> None:
    even, uneven = PlackettLuce([1.0] * 4, 2), PlackettLuce([5.0, 1.0, 2.0, 0.1], 2)
    both = ListChances.mixture([(0.3, even.chances(even.lists)), (0.7, uneven.chances(even.lists))])
    assert both.down_to[:, -1].sum() == pytest.approx(1.0)
    share = {tuple(one): chance for one, chance in zip(even.lists.tolist(), both.down_to[:, -1], strict=True)}
    for n, (top, _) in enumerate(even.lists.tolist()):
        assert both.down_to[n, 0] == pytest.approx(sum(p for one, p in share.items() if one[0] == top))
    assert both.at_position is not None
    for n, place in itertools.product(range(len(even.lists)), range(2)):
        item = even.lists[n, place]
        assert both.at_position[n, place] == pytest.approx(sum(p for one, p in share.items() if one[place] == item))


def test_shapes_must_agree() -> None:
    with pytest.raises(ProblemError, match="at_position has shape"):
        ListChances(np.ones((2, 2)), np.ones((1, 2)))


@pytest.mark.parametrize("drawn", [[[0, 1]], [[[0, 1, 2]]], [[[0, 1]], [[0, 1]]], [[0]]])
def test_drawn_lists_must_be_as_many_and_as_long_as_those_shown(drawn: list[object]) -> None:
    assert ListChances.of_drawn([[0, 1]], [[[0, 1]]]).down_to.tolist() == [[1.0, 1.0]]
    with pytest.raises(ProblemError, match=r"shown must be \(lists, k\) and drawn \(lists, draws, k\), got \(1, 2\)"):
        ListChances.of_drawn([[0, 1]], drawn)


@pytest.mark.parametrize(("pool", "free"), [([4, 4], [[True]]), ([4], [True]), (4, [[True]])])
def test_one_pool_for_each_list(pool: object, free: object) -> None:
    with pytest.raises(ProblemError, match=r"pool must be \(lists,\) and free \(lists, k\)"):
        ListChances.uniform(pool, free)  # type: ignore[arg-type]


def test_more_positions_than_items_cannot_be_drawn() -> None:
    for pool in (1, -3, np.nan):
        with pytest.raises(ProblemError, match="more positions are drawn than there are items"):
            ListChances.uniform([pool], [[True] * 3])


def test_effective_sizes_of_weights_of_any_magnitude() -> None:
    weights = np.array([[1.0, 3.0, 0.0], [1.0, 1.0, 0.0]])
    for scale in (1e-300, 1.0, 1e300):
        assert effective_size(scale * weights) == pytest.approx([2.0, 16 / 10, 0.0])


def test_clicks_are_0_or_1() -> None:
    for clicks, said in (([[0, 2, 1]], "0 or 1"), ([[0, np.nan, 1]], "finite"), ([0, 1], "2 axes")):
        with pytest.raises(ProblemError, match=said):
            position_rewards(clicks, "any")
    with pytest.raises(ProblemError, match="counted must be one of clicks, any, got 'first'"):
        position_rewards([[0, 1]], "first")  # type: ignore[arg-type]
