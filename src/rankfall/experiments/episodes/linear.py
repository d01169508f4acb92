"""Linear policies with the user of the paper: compiled loops, which run without the interpreter."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.errors import RankError
from rankfall.experiments.episodes.play import USER_METHODS, Play, unchanged
from rankfall.kernels import thompson
from rankfall.kernels.cascade import UserArrays
from rankfall.kernels.episode import episode
from rankfall.policies.linear.columns import LARGEST, check_size
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.settings import EpsilonSettings
from rankfall.policies.policy import PolicyLike
from rankfall.users import Cascade, Environment, Hybrid, User


def linear_policy_with_cascade_user(
    policy: PolicyLike, user: Environment, k: int, best: float, rng: np.random.Generator
) -> Play | None:
    """A linear policy without forgetting and context, and a user with hybrid attraction who clicks by the cascade."""
    arrays = arrays_of(user)
    if arrays is None or not unchanged(policy, LinearPolicy, "rank", "update", "choose", "learn", "teach"):
        return None
    assert isinstance(policy, LinearPolicy)
    if policy.forgetting is not None or policy.context is not None:
        return None
    if policy.exploration == "thompson":
        return _with_drawn_weights(policy, arrays, best, rng)
    return _with_bounds(policy, arrays, k, best, rng)


def arrays_of(user: Environment) -> UserArrays | None:
    """What the kernels need to know of a user with hybrid attraction and cascade clicks; None for other users."""
    if not unchanged(user, User, *USER_METHODS):
        return None
    assert isinstance(user, User)
    if not unchanged(user.clicks, Cascade, "chain", "single", "satisfaction") or user.rewarded != "any":
        return None
    if not unchanged(user.attraction, Hybrid, "of", "covered"):
        return None
    assert isinstance(user.attraction, Hybrid)
    return user.attraction.arrays


def _with_bounds(policy: LinearPolicy, user: UserArrays, k: int, best: float, rng: np.random.Generator) -> Play:
    """Items ordered by mean or upper confidence bound; what epsilon leaves to chance is drawn as ``rank`` draws it."""
    settings, everything = policy.settings, np.arange(policy.n_items)
    epsilon = settings.epsilon if isinstance(settings, EpsilonSettings) else None

    def play(coins: FloatArray, totals: FloatArray) -> None:
        drawn = np.full((0 if epsilon is None else len(coins), k), -1)
        for items in drawn:
            if epsilon is not None and rng.random() < epsilon:
                items[:] = rng.permutation(everything)[:k]
        whole_list = policy.learns_from == "all"
        largest = episode(*policy.compiled(k), policy.pruning, whole_list, LARGEST, user, coins, drawn, best, totals)
        check_size(largest, RankError)

    return play


def _with_drawn_weights(policy: LinearPolicy, user: UserArrays, best: float, rng: np.random.Generator) -> Play:
    """Thompson sampling: a row of normal numbers for each step, as ``rank`` draws them."""

    def play(coins: FloatArray, totals: FloatArray) -> None:
        normals = rng.standard_normal((len(coins), len(policy.weights)))
        whole_list = policy.learns_from == "all"
        largest, scored = thompson.episode(*policy.drawing(), whole_list, LARGEST, user, coins, normals, best, totals)
        policy.count(scored)
        check_size(largest, RankError)

    return play
