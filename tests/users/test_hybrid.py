"""Hybrid attraction, against the formula of section 4.1."""

import math

import numpy as np
import pytest
from cascade_problems import SOUND, lists, problems
from hypothesis import given
from hypothesis import strategies as st

from rankfall import CascadeUser, Hybrid, ProblemError


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


def test_covered_counts_topics_and_weighs_them() -> None:
    user = CascadeUser([[0.5, 0.0, 0.2], [0.5, 0.0, 0.0]], [[0.0], [0.0]], [0.3, 0.3, 0.4], [0.0], 0.5)
    assert user.covered([0, 1]) == (2.0, pytest.approx(0.75 + 0.2))
    assert user.covered([1]) == (1.0, pytest.approx(0.5))


def test_the_problem_that_the_next_test_spoils_is_sound():
    assert Hybrid(**SOUND).n_items == 2


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
def test_attraction_that_makes_no_sense_is_refused(argument, value, message):
    with pytest.raises(ProblemError, match=message):
        Hybrid(**(SOUND | {argument: value}))
