"""The simulated user of section 4.1: attraction with clipping, and the cascade model's click."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.jit import compiled, entry, inner, leaf


class UserArrays(NamedTuple):
    """What attracts a user, over L items and d topics."""

    start: Any  # (L + 1) coverage by item, sparse: entries start[a] to start[a + 1]
    topic: Any  # (nnz) the topic of each entry
    weight: Any  # (nnz) and its coverage
    appeal: Any  # (L) tradeoff * z . beta
    theta: Any  # (d) (1 - tradeoff) * theta


def user_arrays(coverage: Any, appeal: Any, theta: Any) -> UserArrays:
    """Lay out coverage (L, d) for the kernels."""
    row, column = np.nonzero(coverage)
    start = np.searchsorted(row, np.arange(len(coverage) + 1))
    column = np.ascontiguousarray(column)  # a view otherwise, and for kernels of another type
    return UserArrays(start, column, coverage[row, column], np.array(appeal), np.array(theta))


@leaf
def attract(item: int, user: UserArrays, left: Any) -> float:
    """Attraction of one item where the list so far leaves ``left`` of each topic; clipped to [0, 1] here only."""
    total = user.appeal[item]
    for p in range(user.start[item], user.start[item + 1]):
        j = user.topic[p]
        total += left[j] * user.weight[p] * user.theta[j]
    return min(max(total, 0.0), 1.0)


@leaf
def cover(item: int, user: UserArrays, left: Any) -> None:
    """Take what the item covers from ``left``."""
    for p in range(user.start[item], user.start[item + 1]):
        left[user.topic[p]] *= 1.0 - user.weight[p]


@entry
def attraction(items: Any, user: UserArrays, left: Any, out: Any) -> None:
    """Attraction of each item of a list, given those above it; ``left`` (d) is work space."""
    left[:] = 1.0
    for i in range(len(items)):
        out[i] = attract(items[i], user, left)
        cover(items[i], user, left)


@compiled
def attractions(lists: Any, user: UserArrays, out: Any) -> None:
    """Attraction of each item of each list (lists, k), given those above it."""
    left = np.empty(len(user.theta))
    for i in range(len(lists)):
        attraction(lists[i], user, left, out[i])


@entry
def covered(left: Any) -> tuple[float, float]:
    """Topics a list touches at all; and topics it covers, weighted by how well: ``sum g_j`` (eq. topic coverage)."""
    touched = 0.0
    weighted = 0.0
    for j in range(len(left)):
        touched += left[j] < 1.0
        weighted += 1.0 - left[j]
    return touched, weighted


@inner
def some_click(alpha: Any) -> float:
    """Probability of a click somewhere in the list, ``1 - prod (1 - alpha_i)`` (eq. reward, in expectation)."""
    none = 1.0
    for i in range(len(alpha)):
        none *= 1.0 - alpha[i]
    return 1.0 - none


@inner
def first_click(alpha: Any, coins: Any) -> int:
    """Position of the first attractive item, or -1: the item is attractive when its coin is below alpha."""
    for i in range(len(alpha)):
        if coins[i] < alpha[i]:
            return i
    return -1


@compiled
def greedy_list(user: UserArrays, items: Any) -> None:
    """The greedy benchmark of section 3.2: at every position the most attractive item, ties to the lowest row."""
    n = len(user.appeal)
    left = np.ones(len(user.theta))
    taken = np.zeros(n, dtype=np.bool_)
    for position in range(len(items)):
        best = -1
        highest = -1.0
        for item in range(n):
            if not taken[item]:
                value = attract(item, user, left)
                if value > highest:
                    highest = value
                    best = item
        taken[best] = True
        items[position] = best
        cover(best, user, left)
