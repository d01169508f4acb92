"""Rewards other than a click: learned as ridge regression has it, in any order, or refused in words."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_policies import LINEAR

from rankfall import (
    POLICIES,
    CascadeHybrid,
    CascadeLinUCB,
    Catalog,
    Discount,
    FeedbackError,
    ProblemError,
    Rewards,
    Window,
    make_policy,
)
from rankfall.policies import LinearPolicy

RNG = np.random.default_rng(1)
CATALOG = Catalog(RNG.random((9, 2)) * (RNG.random((9, 2)) < 0.7), RNG.normal(size=(9, 2)))


def seen_of(feedback: str, clicks: list[int], length: int) -> int:
    if feedback == "all" or not clicks:
        return length
    return clicks[0 if feedback == "cascade" else -1] + 1


Told = tuple[list[int], dict[int, float], list[tuple[int, float]]]
"""Clicks, what was earned by then, and what came later."""


def told() -> st.SearchStrategy[list[Told]]:
    at, reward = st.integers(0, 3), st.floats(-2, 8, allow_subnormal=False)
    clicks = st.lists(at, max_size=2, unique=True).map(sorted)
    one = st.tuples(clicks, st.dictionaries(at, reward, max_size=3), st.lists(st.tuples(at, reward), max_size=3))
    return st.lists(one, min_size=1, max_size=6)


@settings(max_examples=60)
@given(lists=told(), name=st.sampled_from(sorted(LINEAR)), feedback=st.sampled_from(["cascade", "last_click", "all"]))
def test_the_state_is_ridge_regression_of_what_was_earned(lists: list[Told], name: str, feedback: Any) -> None:
    """Against a direct solution in plain NumPy, with the outcomes in two orders."""
    forward, backward = (LINEAR[name](CATALOG, feedback=feedback) for _ in range(2))
    rng = np.random.default_rng(0)
    shown = []
    for clicks, rewards, _ in lists:
        ranking = forward.rank(4, rng=rng)
        forward.update(ranking, clicks, rewards)
        backward.update(ranking, clicks, rewards)
        shown.append(ranking)
    later = [(n, at, reward) for n, (_, _, more) in enumerate(lists) for at, reward in more]
    for policy, order in ((forward, later), (backward, later[::-1])):
        for n, at, reward in order:
            policy.add_outcome(shown[n], lists[n][0], at, reward)
    rows, earned = [], []
    for n, (clicks, rewards, more) in enumerate(lists):
        for position in range(seen_of(feedback, clicks, 4)):
            rows.append(shown[n].features[position])
            earned.append(rewards.get(position, 0.0) + sum(reward for at, reward in more if at == position))
    phi = np.array(rows)
    expected = np.linalg.solve(np.eye(phi.shape[1]) + phi.T @ phi, phi.T @ np.array(earned))
    for policy in (forward, backward):
        np.testing.assert_allclose(policy.weights, expected, rtol=1e-9, atol=1e-9)
        assert policy.n_updates == len(lists)
    np.testing.assert_array_equal(forward.covariance, backward.covariance)


def test_lists_after_an_outcome_are_those_of_the_plain_ranker() -> None:
    """Shortlists hold for a while as the model moves; outcomes move it too."""
    rng = np.random.default_rng(4)
    catalog = Catalog(rng.random((200, 4)) * (rng.random((200, 4)) < 0.4), rng.normal(size=(200, 3)) / 3)
    fast, plain = CascadeHybrid(catalog, gamma=0.1), CascadeHybrid(catalog, gamma=0.1)
    plain.pruning = False
    for turn in range(60):
        ranking = fast.rank(5)
        assert ranking.items.tolist() == plain.rank(5).items.tolist()
        for policy in (fast, plain):
            policy.update(ranking, turn % 5)
            policy.add_outcome(ranking, turn % 5, turn % 3, (turn % 7 - 2) / 10)


def test_a_reward_of_one_for_each_click_is_a_click() -> None:
    for feedback in ("cascade", "last_click", "all"):
        one, other = (CascadeHybrid(CATALOG, feedback=feedback) for _ in range(2))
        click = Rewards({"click": 3.0}).click
        for clicks in ([1, 3], [], [0]):
            ranking = one.rank(4)
            one.update(ranking, clicks)
            other.update(ranking, clicks, dict.fromkeys(clicks, click))
        states = [{name: array.tobytes() for name, array in policy.state().items()} for policy in (one, other)]
        assert states[0] == states[1]


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in LINEAR])
def test_others_refuse_rewards_in_words_and_learn_nothing(name: str) -> None:
    policy: Any = make_policy(name, CATALOG, k=3, steps=100)
    ranking = policy.rank(3)
    with pytest.raises(ProblemError, match=f"{name} cannot learn rewards: it "):
        policy.update(ranking, 0, {0: 5.0})
    with pytest.raises(ProblemError, match=f"{name} cannot learn rewards: it "):
        policy.add_outcome(ranking, 0, 0, 5.0)
    assert policy.n_updates == 0


@pytest.mark.parametrize("forgetting", [Discount(0.9), Window(3)])
def test_a_policy_that_forgets_learns_rewards_and_no_later_outcomes(forgetting: Any) -> None:
    policy = CascadeLinUCB(CATALOG, forgetting=forgetting)
    ranking = policy.rank(3)
    policy.update(ranking, 1, {1: 5.0})
    np.testing.assert_allclose(policy.weights, np.linalg.solve(policy.model.gram, 5.0 * ranking.features[1]))
    before = policy.weights
    with pytest.raises(ProblemError, match="cannot learn what a list earns later"):
        policy.add_outcome(ranking, 1, 1, 1.0)
    assert policy.weights.tolist() == before.tolist()


@pytest.mark.parametrize("reward", [np.nan, np.inf, "5", None])
def test_rewards_that_are_no_numbers_are_refused(reward: Any) -> None:
    policy: LinearPolicy = CascadeLinUCB(CATALOG)
    ranking = policy.rank(3)
    with pytest.raises(FeedbackError, match="the reward at position 1 must be a number"):
        policy.update(ranking, 1, {1: reward})
    with pytest.raises(FeedbackError, match="the reward at position 1 must be a number"):
        policy.add_outcome(ranking, 1, 1, reward)
    with pytest.raises(FeedbackError, match="a position of rewards must be a whole number from 0 to 2, got 3"):
        policy.add_outcome(ranking, 1, 3, 1.0)
    with pytest.raises(FeedbackError, match="rewards must map positions to numbers"):
        policy.update(ranking, 1, [1.0])  # type: ignore[arg-type]
    assert policy.n_updates == 0


def test_scale_does_not_matter() -> None:
    """The same lists, whatever the unit: rewards are shares of the largest."""
    one, other = Rewards({"click": 1, "purchase": 5}), Rewards({"click": 20, "purchase": 100})
    assert (one.click, one.earned("purchase", 3)) == (other.click, other.earned("purchase", 3)) == (0.2, 3.0)
    assert one.earned("nothing we know") == 0.0
    with pytest.raises(ProblemError, match="one reward at least must be above 0"):
        Rewards({"click": 0})
    with pytest.raises(ProblemError, match="the reward of 'click' must be a number"):
        Rewards({"click": float("nan")})
