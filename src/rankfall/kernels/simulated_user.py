"""A simulated user of any attraction and click model: how they see a list, where they click, and what it is worth.

Clicks and rewards are those of :mod:`rankfall.kernels.clicks`, which knows items that attract alike wherever they
stand. Where attraction depends on the items above, it is worked out for the list, and the positions are the items.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.cascade import UserArrays, attraction, covered
from rankfall.kernels.clicks import ClickArrays, clicks, reward
from rankfall.kernels.jit import compiled, leaf


class SimulatedUser(NamedTuple):
    """What attracts a user, and how they go through a list of k."""

    clicks: ClickArrays  # over L items, or over k positions if attraction depends on the items above
    reward: int  # what counts: ANY, CLICKS or SATISFIED of the kernels of clicks
    depends: bool  # whether attraction depends on the items above
    attraction: UserArrays  # over L items, if it does
    satisfaction: Any  # (L) if it does


class ListSeen(NamedTuple):
    """A list as the user saw it: work space, and what came of it."""

    clicked: Any  # (k) booleans
    told: Any  # (3) expected reward, topics touched, topics covered
    left: Any  # (topics) what the list leaves of each topic
    reached: Any  # (k + 1)
    places: Any  # (k) 0, 1, ...


@compiled
def room_to_see(user: SimulatedUser, k: int) -> ListSeen:
    """Work space for lists of ``k``."""
    topics = len(user.attraction.theta)
    return ListSeen(np.zeros(k, dtype=np.bool_), np.empty(3), np.empty(topics), np.empty(k + 1), np.arange(k))


@leaf
def look(user: SimulatedUser, shown: Any, coins: Any, seen: ListSeen) -> bool:
    """Show a list: fills ``seen``; whether anything was clicked."""
    items = shown
    seen.told[1] = seen.told[2] = math.nan
    if user.depends:
        attraction(shown, user.attraction, seen.left, user.clicks.attraction)
        for i in range(len(shown)):
            user.clicks.satisfaction[i] = user.satisfaction[shown[i]]
        items = seen.places
        seen.told[1], seen.told[2] = covered(seen.left)
    seen.told[0] = reward(user.clicks, items, user.reward, seen.reached)
    return clicks(user.clicks, items, coins, seen.clicked) > 0
