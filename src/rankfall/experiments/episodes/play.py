"""What an episode is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.policies.policy import PolicyLike
from rankfall.users import Environment

Play: TypeAlias = Callable[[FloatArray, FloatArray], None]
"""Plays one step for each row of coins (n, k), and fills in ``totals`` (n + 1, 4) what there is after each of them:
regret, clicks, topics touched, and topics covered, summed from the beginning. Its first row comes in with the sums so
far."""

Episode: TypeAlias = Callable[[PolicyLike, Environment, int, float, np.random.Generator], Play | None]
"""Takes policy, user, k, reward of the best list, and the policy's randomness; gives how to play them, or None."""

USER_METHODS = ("click", "view", "decide", "reward", "covered")
"""The methods of a :class:`User` that a simulation depends on, besides ``best``."""


def unchanged(one: object, kind: type, *methods: str) -> bool:
    """Whether ``one`` is of this kind and has these methods as the class has them, not overridden by a subclass.

    >>> class Loud(str):
    ...     def lower(self) -> str:
    ...         return self.upper()
    >>> unchanged(Loud(), str, "upper"), unchanged(Loud(), str, "upper", "lower"), unchanged(1, str)
    (True, False, False)
    """
    return isinstance(one, kind) and all(getattr(type(one), name) is getattr(kind, name) for name in methods)
