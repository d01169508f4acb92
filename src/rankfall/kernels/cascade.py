"""The simulated user of section 4.1: attraction with clipping, and the cascade model's click."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def attract(item: int, left: Any, coverage: Any, appeal: Any, theta: Any) -> float:
    """Attraction of one item where the list so far leaves ``left`` of each topic; clipped to [0, 1] here only.

    ``theta`` is already multiplied by ``1 - tradeoff``; ``appeal`` is ``tradeoff * z . beta`` of every item.
    """
    total: float = appeal[item]
    for j in range(len(left)):
        total += left[j] * coverage[item, j] * theta[j]
    return min(max(total, 0.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def attraction(items: Any, coverage: Any, appeal: Any, theta: Any, out: Any) -> None:
    """Attraction of each item of a list, given those above it."""
    left = np.ones(coverage.shape[1])
    for i in range(len(items)):
        out[i] = attract(items[i], left, coverage, appeal, theta)
        for j in range(len(left)):
            left[j] *= 1.0 - coverage[items[i], j]


@njit(cache=True, nogil=True, error_model="numpy")
def some_click(alpha: Any) -> float:
    """Probability of a click somewhere in the list, ``1 - prod (1 - alpha_i)`` (eq. reward, in expectation)."""
    none = 1.0
    for i in range(len(alpha)):
        none *= 1.0 - alpha[i]
    return 1.0 - none


@njit(cache=True, nogil=True, error_model="numpy")
def first_click(alpha: Any, coins: Any) -> int:
    """Position of the first attractive item, or -1: the item is attractive when its coin is below alpha."""
    for i in range(len(alpha)):
        if coins[i] < alpha[i]:
            return i
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def greedy_list(coverage: Any, appeal: Any, theta: Any, items: Any) -> None:
    """The greedy benchmark of section 3.2: at every position the most attractive item, ties to the lowest row."""
    n, d = coverage.shape
    left = np.ones(d)
    taken = np.zeros(n, dtype=np.bool_)
    for position in range(len(items)):
        best = -1
        best_value = -1.0
        for item in range(n):
            if taken[item]:
                continue
            value = attract(item, left, coverage, appeal, theta)
            if value > best_value:
                best_value = value
                best = item
        taken[best] = True
        items[position] = best
        for j in range(d):
            left[j] *= 1.0 - coverage[best, j]
