"""Linear policies whose observations have weights, with the user of the paper: a compiled loop."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.errors import RankError
from rankfall.experiments.episodes.linear import arrays_of
from rankfall.experiments.episodes.play import Play, unchanged
from rankfall.kernels.weighted_ridge import episode
from rankfall.policies.linear.columns import LARGEST, check_size
from rankfall.policies.linear.weighted import WeightedPolicy
from rankfall.policies.policy import PolicyLike
from rankfall.users import Environment


def weighted_policy_with_cascade_user(
    policy: PolicyLike,
    user: Environment,
    k: int,
    best: float,
    rng: np.random.Generator,  # noqa: ARG001 - it draws nothing
) -> Play | None:
    """A :class:`WeightedPolicy` by upper bounds, and a user with hybrid attraction who clicks by the cascade."""
    arrays = arrays_of(user)
    if arrays is None or not unchanged(policy, WeightedPolicy, "rank", "update", "choose", "learn", "teach"):
        return None
    assert isinstance(policy, WeightedPolicy)
    if policy.exploration != "ucb":
        return None

    def play(coins: FloatArray, totals: FloatArray) -> None:
        whole_list = policy.learns_from == "all"
        largest = episode(
            *policy.compiled(k), policy.pruning, whole_list, LARGEST, arrays, coins, policy.rule, policy.second,
            policy.least_variance, best, totals,
        )  # fmt: skip
        check_size(largest, RankError)

    return play
