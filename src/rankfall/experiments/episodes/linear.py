"""Linear policies with the user of the paper: compiled loops, which run without the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.errors import RankError
from rankfall.experiments.episodes.play import USER_METHODS, Play, unchanged
from rankfall.kernels import conservative, thompson, weighted_ridge
from rankfall.kernels.cascade import UserArrays
from rankfall.kernels.episode import Visits, episode
from rankfall.kernels.ridge import State
from rankfall.policies.linear.columns import check_size
from rankfall.policies.linear.conservative import C4UCB
from rankfall.policies.linear.lin_ucb import CascadeLinUCB
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.settings import EpsilonSettings
from rankfall.policies.linear.weighted import WeightedPolicy
from rankfall.policies.policy import PolicyLike
from rankfall.users import Cascade, Environment, Hybrid, User

_METHODS = ("rank", "update", "choose", "learn", "teach")
"""The methods of a linear policy that its kernels stand for."""

Own: TypeAlias = Callable[[int], tuple[Any, ...]]
"""What a kernel takes beside policy and visits, for so many steps."""


def linear_policy_with_cascade_user(
    policy: PolicyLike, user: Environment, k: int, best: float, rng: np.random.Generator
) -> Play | None:
    """A linear policy without forgetting and context, and a user with hybrid attraction who clicks by the cascade."""
    arrays = arrays_of(user)
    if arrays is None or not is_linear(policy):
        return None
    assert isinstance(policy, LinearPolicy)
    if policy.forgetting is not None or policy.context is not None:
        return None
    if policy.exploration == "thompson":
        columns = len(policy.weights)  # a normal number for each of them and each step, as ``rank`` draws them
        return _play(thompson.episode, policy, k, best, arrays, lambda steps: (rng.standard_normal((steps, columns)),))
    settings, everything = policy.settings, np.arange(policy.n_items)
    epsilon = settings.epsilon if isinstance(settings, EpsilonSettings) else None

    def drawn(steps: int) -> tuple[IntArray]:
        """What epsilon leaves to chance, as ``rank`` draws it."""
        lists = np.full((0 if epsilon is None else steps, k), -1)
        for items in lists:
            if epsilon is not None and rng.random() < epsilon:
                items[:] = rng.permutation(everything)[:k]
        return (lists,)

    return _play(episode, policy, k, best, arrays, drawn)


def conservative_policy_with_cascade_user(
    policy: PolicyLike,
    user: Environment,
    k: int,
    best: float,
    rng: np.random.Generator,  # noqa: ARG001 - it draws nothing
) -> Play | None:
    """A :class:`C4UCB` without context, and a user with hybrid attraction who clicks by the cascade."""
    arrays = arrays_of(user)
    if arrays is None or not unchanged(policy, C4UCB, *_METHODS):
        return None
    assert isinstance(policy, C4UCB)
    if policy.context is not None or policy.exploration != "ucb":
        return None
    share, reward = policy.settings.share, policy.settings.baseline_reward
    baseline, known = policy.baseline(k), -1.0 if reward is None else reward

    def own(_steps: int) -> tuple[FloatArray, float, IntArray, float]:
        return policy.account, share, baseline, known

    return _play(conservative.episode, policy, k, best, arrays, own)


def weighted_policy_with_cascade_user(
    policy: PolicyLike,
    user: Environment,
    k: int,
    best: float,
    rng: np.random.Generator,  # noqa: ARG001 - it draws nothing
) -> Play | None:
    """A :class:`WeightedPolicy` by upper bounds, and a user with hybrid attraction who clicks by the cascade."""
    arrays = arrays_of(user)
    if arrays is None or not unchanged(policy, WeightedPolicy, *_METHODS):
        return None
    assert isinstance(policy, WeightedPolicy)
    if policy.exploration != "ucb":
        return None

    def own(_steps: int) -> tuple[int, State, float]:
        return policy.rule, policy.second, policy.least_variance

    return _play(weighted_ridge.episode, policy, k, best, arrays, own)


def is_linear(policy: object, *methods: str) -> bool:
    """Whether it makes lists and learns as the kernels of linear policies do, and has these methods unchanged too."""
    kind = CascadeLinUCB if isinstance(policy, CascadeLinUCB) and not policy.settings.cut else LinearPolicy
    return unchanged(policy, kind, *_METHODS, *methods)


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


def _play(kernel: Callable[..., float], policy: LinearPolicy, k: int, best: float, user: UserArrays, own: Own) -> Play:
    """Play by a kernel; ``own`` gives what it alone takes, for n steps."""

    def play(coins: FloatArray, totals: FloatArray) -> None:
        check_size(kernel(policy.compiled(k), Visits(user, coins, best, totals), *own(len(coins))), RankError)

    return play
