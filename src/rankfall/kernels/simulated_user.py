"""A simulated user of any attraction and click model: how they see a list, where they click, and what it is worth.

The click models are those of :mod:`rankfall.users.click_models`, one chain with ``e_i`` and ``v_i`` by position. All
sums and products are in the order of the plain forms there, so that both give the same bits.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.cascade import UserArrays, attraction, covered, some_click
from rankfall.kernels.jit import compiled, inner

ANY, CLICKS, SATISFIED = 0, 1, 2
"""What counts as reward, by its place in :data:`rankfall.users.click_models.REWARDS`."""


class SimulatedUser(NamedTuple):
    """What attracts a user, and how they go through a list of k."""

    attraction: UserArrays
    topics: bool  # whether there are topics to cover
    examination: Any  # (k) e_i
    termination: Any  # (k) v_i
    reward: int  # ANY, CLICKS or SATISFIED


class ListSeen(NamedTuple):
    """A list as the user saw it: work space, and what came of it."""

    clicked: Any  # (k) booleans
    chances: Any  # (k) p_i = e_i alpha_i
    left: Any  # (topics) what the list leaves of each topic
    told: Any  # (3) expected reward, topics touched, topics covered


@compiled
def room_to_see(user: SimulatedUser) -> ListSeen:
    """Work space for the lists of this user."""
    k = len(user.examination)
    return ListSeen(np.zeros(k, dtype=np.bool_), np.empty(k), np.empty(len(user.attraction.theta)), np.empty(3))


@inner
def _reward(user: SimulatedUser, chances: Any) -> float:
    """Expected reward; see :func:`rankfall.users.click_models.expected`."""
    if user.reward == ANY:
        return some_click(chances)
    left = 1.0
    total = 0.0
    for i in range(len(chances)):
        total = total + left * chances[i]
        left = left * (1.0 - user.termination[i] * chances[i])
    return total if user.reward == CLICKS else 1.0 - left


@inner
def look(user: SimulatedUser, shown: Any, coins: Any, seen: ListSeen) -> bool:
    """Show a list: fills ``seen``; whether anything was clicked.

    One coin decides on click and satisfaction, as in :func:`rankfall.users.click_models.several`; where the first click
    ends a list for sure, that is its only one.
    """
    attraction(shown, user.attraction, seen.left, seen.chances)
    for i in range(len(shown)):
        seen.chances[i] = user.examination[i] * seen.chances[i]
    seen.told[0] = _reward(user, seen.chances)
    seen.told[1], seen.told[2] = covered(seen.left) if user.topics else (math.nan, math.nan)
    seen.clicked[:] = False
    some = False
    for i in range(len(shown)):
        if coins[i] < seen.chances[i]:
            seen.clicked[i] = some = True
            if coins[i] < user.termination[i] * seen.chances[i]:
                break
    return some
