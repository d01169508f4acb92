"""Policies with compiled steps and users of any click model: one loop, which runs without the interpreter."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.experiments.episodes.play import USER_METHODS, Play, unchanged
from rankfall.kernels import policy_steps
from rankfall.kernels.cascade import user_arrays
from rankfall.kernels.simulated_user import SimulatedUser
from rankfall.policies.policy import Policy, PolicyLike
from rankfall.users import Environment, Hybrid, PerItem, User
from rankfall.users.click_models import REWARDS, ClickModel


def policy_with_compiled_steps(
    policy: PolicyLike, user: Environment, k: int, best: float, rng: np.random.Generator
) -> Play | None:
    """A policy of ours that has compiled steps, and a user of one of our attractions and click models."""
    if not isinstance(policy, Policy) or not type(policy).__module__.startswith("rankfall."):
        return None  # a subclass may have changed anything
    one, person = policy, simulated_user(user, k)
    if person is None or one.compiled_state(k, rng) is None:
        return None

    def play(coins: FloatArray, totals: FloatArray) -> None:
        draws = rng.random((len(coins), one.numbers_drawn(k)))
        done = 0
        while done < len(coins):
            state = one.compiled_state(k, rng)
            lists = policy_steps.play(state, person, coins[done:], draws[done:], best, totals[done:])
            one.after_compiled(lists)
            done += lists

    return play


def simulated_user(user: Environment, k: int) -> SimulatedUser | None:
    """A user as the kernels know them, for lists of ``k``; None for users they do not know."""
    if not unchanged(user, User, *USER_METHODS):
        return None
    assert isinstance(user, User)
    if type(user.clicks).chain is not ClickModel.chain or (user.clicks.positions or k) < k:
        return None
    what = user.attraction
    if unchanged(what, PerItem, "of", "covered") and what.alone is not None:
        attraction, topics = user_arrays(np.empty((len(what.alone), 0)), what.alone, np.empty(0)), False
    elif unchanged(what, Hybrid, "of", "covered"):
        assert isinstance(what, Hybrid)
        attraction, topics = what.arrays, True
    else:
        return None
    examination, termination = map(np.array, user.clicks.chain(k))
    if user.clicks.single and (termination != 1.0).any():
        return None
    return SimulatedUser(attraction, topics, examination, termination, REWARDS.index(user.rewarded))
