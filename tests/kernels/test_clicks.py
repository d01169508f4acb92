"""Compiled clicks and rewards, to the bit those of a user."""

import numpy as np
import pytest
from user_kinds import PAIRS, attraction, clicks

from rankfall import Hybrid, User
from rankfall.kernels.clicks import simulated
from rankfall.users.click_models import REWARDS


@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_clicks_and_rewards_are_those_of_the_user(model, reward):
    rng = np.random.default_rng(PAIRS.index((model, reward)))
    n = 400
    for kind in ("per_item", "linear"):
        user = User(attraction(kind, rng), clicks(model, rng), reward)
        for k in (1, 4, 5):
            lists, coins = np.array([rng.permutation(6)[:k] for _ in range(n)]), rng.random((n, k))
            coins[: n // 2] *= 0.3  # more clicks
            clicked, rewards = np.full((n, k), np.nan), np.empty(n)
            simulated(user.arrays(k), lists, coins, REWARDS.index(reward), clicked, rewards, np.empty(k + 1))
            for items, flips, row, value in zip(lists, coins, clicked, rewards, strict=True):
                click = user.click(items, flips)
                positions = [] if click is None else [click] if isinstance(click, int) else list(click)
                assert np.flatnonzero(row).tolist() == positions
                assert user.reward(items) == value


def test_users_whose_attraction_depends_on_the_list_have_no_arrays():
    user = User(Hybrid([[0.5]], [[1.0]], [1.0], [1.0]), clicks("cascade", None))
    assert user.arrays(1) is None
