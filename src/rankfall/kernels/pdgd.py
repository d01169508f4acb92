"""What the pairs of a clicked and an unclicked item say, when lists are drawn from a Plackett-Luce model.

A list R is drawn item by item, each with probability ``exp(f) / D_t``, where ``D_t`` sums ``exp(f)`` over what is left
at position t. R* is the list with the items at i < j exchanged. Numerators are then the same, and of the denominators
only those at i < t <= j differ, where R* still has the i-th item to give instead of the j-th. So

    P(R*) / P(R) = prod over i < t <= j of D_t / (D_t - exp(f_j) + exp(f_i)).

All sums are taken over what is left, in logarithms: nothing is subtracted, so nothing cancels or overflows.
"""

import math
from typing import Any

import numpy as np

from rankfall.kernels.item_bounds import insert
from rankfall.kernels.jit import compiled, entry, inner

Array = np.ndarray[Any, Any]


@inner
def log_sum(a: float, b: float) -> float:
    """``log(exp(a) + exp(b))``."""
    high, low = (a, b) if a >= b else (b, a)
    if low == -np.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@entry
def logistic(x: float) -> float:
    """``1 / (1 + exp(-x))``, of any x."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-min(x, 700.0)))
    y = math.exp(max(x, -700.0))
    return y / (1.0 + y)


@entry
def draw(rows: Array, scores: Array, noise: Array, items: Array, shown: Array) -> float:
    """Fill ``items`` with the rows of highest score plus noise, best first, and ``shown`` with their scores.

    With Gumbel ``noise`` (one for each of ``rows``; it is overwritten) that is a draw from the Plackett-Luce model.
    Returns the log-sum of the scores of the other rows, minus infinity of none.
    """
    size = 0
    for i in range(len(rows)):
        size = insert(i, scores[rows[i]] + noise[i], size, items, shown)
    for t in range(len(items)):
        i = items[t]
        noise[i] = np.inf  # placed
        items[t] = rows[i]
        shown[t] = scores[rows[i]]
    high = -np.inf
    for i in range(len(rows)):
        if noise[i] < np.inf:
            high = max(high, scores[rows[i]])
    total = 0.0
    for i in range(len(rows)):
        if noise[i] < np.inf:
            total += math.exp(scores[rows[i]] - high)
    return high + math.log(total) if total > 0.0 else high


@compiled
def left_over(scores: Array, rest: float) -> Array:
    """``log D_t`` for every position, and after the last: ``rest``, the log-sum over items not in the list."""
    k = len(scores)
    left = np.empty(k + 1)
    left[k] = rest
    for t in range(k - 1, -1, -1):
        left[t] = log_sum(left[t + 1], scores[t])
    return left


@compiled
def log_probability(scores: Array, rest: float) -> float:
    """``log P(R)`` of a list with these scores."""
    left = left_over(scores, rest)
    total = 0.0
    for t in range(len(scores)):
        total += scores[t] - left[t]
    return total


@entry
def log_ratio(scores: Array, left: Array, i: int, j: int) -> float:
    """``log P(R*) - log P(R)``, where R* exchanges positions i < j."""
    total = 0.0
    others = left[j + 1]  # what is left at t, without the j-th item
    for t in range(j, i, -1):
        if t < j:
            others = log_sum(others, scores[t])
        total += left[t] - log_sum(others, scores[i])
    return total


@compiled
def pair_weights(scores: Array, rest: float, clicked: Array) -> Array:
    """The sum of all pairs' weights for every item of a list: plus where it is preferred, minus where it is not.

    A clicked item is preferred to an unclicked one if that was seen: every item down to the one below the last click.
    A pair (c, u) weighs ``rho * s (1 - s)`` with ``s = logistic(f_c - f_u)`` and ``rho = P(R*) / (P(R) + P(R*))``.
    """
    k = len(scores)
    weights = np.zeros(k)
    last = -1
    for t in range(k):
        if clicked[t]:
            last = t
    if last < 0:
        return weights
    seen = min(k, last + 2)
    left = left_over(scores, rest)
    for c in range(last + 1):
        if not clicked[c]:
            continue
        for u in range(seen):
            if clicked[u]:
                continue
            rho = logistic(log_ratio(scores, left, min(c, u), max(c, u)))
            s = logistic(scores[c] - scores[u])
            weight = rho * s * logistic(scores[u] - scores[c])
            weights[c] += weight
            weights[u] -= weight
    return weights
