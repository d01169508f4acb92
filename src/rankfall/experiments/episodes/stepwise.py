"""Policies with compiled steps and users of any click model: one loop, which runs without the interpreter."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.experiments.episodes.play import USER_METHODS, Play, unchanged
from rankfall.kernels import policy_steps
from rankfall.kernels.cascade import UserArrays, user_arrays
from rankfall.kernels.simulated_user import SimulatedUser
from rankfall.policies.policy import Policy, PolicyLike
from rankfall.users import ClickChain, Environment, Hybrid, PerItem, User
from rankfall.users.click_models import REWARDS
from rankfall.users.user import chain_arrays

NOTHING: UserArrays = user_arrays(np.empty((0, 0)), np.empty(0), np.empty(0))


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
    if not unchanged(user, User, *USER_METHODS, "arrays"):
        return None
    assert isinstance(user, User)
    model = user.clicks
    if not type(model).__module__.startswith("rankfall.") or (model.positions or k) < k:
        return None
    reward, what = REWARDS.index(user.rewarded), user.attraction
    if unchanged(what, PerItem, "of", "covered"):
        arrays = user.arrays(k)
        return None if arrays is None else SimulatedUser(arrays, reward, False, NOTHING, np.empty(0))
    if not unchanged(what, Hybrid, "of", "covered") or isinstance(model, ClickChain):
        return None  # a click chain would need the satisfaction of each list
    assert isinstance(what, Hybrid)
    satisfaction = model.satisfaction(np.arange(user.n_items), np.empty(0))
    of_items = np.ones(user.n_items) if satisfaction is None else np.array(satisfaction)
    return SimulatedUser(chain_arrays(model.chain(k), np.zeros(k), None), reward, True, what.arrays, of_items)
