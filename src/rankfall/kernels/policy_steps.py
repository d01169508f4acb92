"""One loop for every policy that has compiled steps, against every simulated user.

A policy has them if it gives its state as a named tuple of arrays whose class is registered by :func:`steps`, with two
kernels: one that shows a list, and one that learns from its clicks. Numba compiles the loop once for each such class,
when it is first used.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rankfall.kernels.jit import compiled
from rankfall.kernels.simulated_user import SimulatedUser, look, room_to_see

_SHOW: dict[type, Any] = {}
_LEARN: dict[type, Any] = {}


def steps(state: type, show: Callable[..., None], learn: Callable[..., bool]) -> None:
    """Register the two kernels of a class of states.

    Parameters
    ----------
    show : takes the state, a row of random numbers and the list (k) to fill, whose rows it may read: the last one.
    learn : takes the state, the list and which positions (k) were clicked; returns whether the next list can be shown.
        If not, the loop ends, and Python does what is left to do.
    """
    _SHOW[state], _LEARN[state] = show, learn


def _show(state: Any, draws: Any, shown: Any) -> None:
    """Fill ``shown`` with the list of a policy; compiled for each class of states."""
    raise NotImplementedError


def _learn(state: Any, shown: Any, clicked: Any) -> bool:
    """Learn from the clicks on the list; compiled for each class of states."""
    raise NotImplementedError


@overload(_show, strict=False)
def _compiled_show(state: Any, draws: Any, shown: Any) -> Any:  # noqa: ARG001 - their types
    kernel = _SHOW[state.instance_class]
    return lambda state, draws, shown: kernel(state, draws, shown)


@overload(_learn, strict=False)
def _compiled_learn(state: Any, shown: Any, clicked: Any) -> Any:  # noqa: ARG001 - their types
    kernel = _LEARN[state.instance_class]
    return lambda state, shown, clicked: kernel(state, shown, clicked)


@compiled
def play(state: Any, user: SimulatedUser, coins: Any, draws: Any, best: float, totals: Any) -> int:
    """Show, click and learn, one step for each row of ``coins`` (steps, k) until ``learn`` stops it; how many it made.

    ``draws`` (steps, any) holds the random numbers of the policy. ``totals`` (steps + 1, 4) is filled from its first
    row on: regret, lists clicked, topics touched and topics covered, summed.
    """
    k = coins.shape[1]
    seen, shown = room_to_see(user, k), np.empty(k, dtype=np.int64)
    for step in range(len(coins)):
        _show(state, draws[step], shown)
        some = look(user, shown, coins[step], seen)
        before, after = totals[step], totals[step + 1]
        after[0] = before[0] + (best - seen.told[0])
        after[1] = before[1] + some
        after[2] = before[2] + seen.told[1]
        after[3] = before[3] + seen.told[2]
        if not _learn(state, shown, seen.clicked):
            return step + 1
    return len(coins)
