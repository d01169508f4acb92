"""How a policy and a user meet, many steps in one call: in a general loop, or faster where the two allow it.

:data:`EPISODES` has one function for each kind of pair. Given a policy and a user it returns how to play them, or None
if they are not of its kind. All of them do the same, to the bit; the first that fits is taken, and the last one fits
every pair. To add a faster form for another kind of pair, write one such function and put it before those that are
slower.
"""

from __future__ import annotations

import numpy as np

from rankfall.experiments.episodes.general import any_policy_with_any_user, any_policy_with_user
from rankfall.experiments.episodes.linear import (
    conservative_policy_with_cascade_user,
    linear_policy_with_cascade_user,
    weighted_policy_with_cascade_user,
)
from rankfall.experiments.episodes.play import Episode, Play
from rankfall.experiments.episodes.stepwise import policy_with_compiled_steps
from rankfall.policies.policy import PolicyLike
from rankfall.users import Environment

COMPILED: tuple[Episode, ...] = (
    linear_policy_with_cascade_user,
    conservative_policy_with_cascade_user,
    weighted_policy_with_cascade_user,
    policy_with_compiled_steps,
)
"""Those that run without the interpreter, so that threads run side by side."""

EPISODES: tuple[Episode, ...] = (*COMPILED, any_policy_with_user, any_policy_with_any_user)


def episode_for(policy: PolicyLike, user: Environment, k: int, best: float, rng: np.random.Generator) -> Play:
    """The fastest way there is to play this policy and this user.

    Parameters
    ----------
    k : positions in a list.
    best : expected reward of the best list, which regret is measured against.
    rng : the policy's own randomness.
    """
    plays = (episode(policy, user, k, best, rng) for episode in EPISODES)
    return next(play for play in plays if play is not None)


def is_compiled(policy: PolicyLike, user: Environment, k: int) -> bool:
    """Whether this policy and this user run as one compiled loop."""
    rng = np.random.default_rng(0)
    return any(episode(policy, user, k, 0.0, rng) is not None for episode in COMPILED)
