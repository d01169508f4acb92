"""The greedy ranker (Algorithm 1, lines "Build ranked list"): one LinUCB choice for each position.

An item is ``phi = [c * x, c * z]``: its coverage ``x`` is kept sparse (``start``, ``topic``, ``weight``, a CSR
matrix) because items have few topics; its relevance ``z`` is dense. ``c`` is what the list so far leaves of each
column: ``c_j = prod (1 - phi_b(j))`` over the items placed, for the columns that diminish, and 1 for the others.
"""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def score(
    item: int,
    start: Any,
    topic: Any,
    weight: Any,
    dense: Any,
    left: Any,
    weights: Any,
    covariance: Any,
) -> tuple[float, float]:
    """Mean ``phi . w`` and variance ``phi' P phi`` of one item, given what the list leaves (``left``, c)."""
    d = len(weights) - dense.shape[1]
    mean = 0.0
    variance = 0.0
    for p in range(start[item], start[item + 1]):
        j = topic[p]
        omega = left[j] * weight[p]
        mean += omega * weights[j]
        row = omega * covariance[j, j]
        for q in range(start[item], p):
            row += 2.0 * left[topic[q]] * weight[q] * covariance[j, topic[q]]
        for q in range(dense.shape[1]):
            row += 2.0 * left[d + q] * dense[item, q] * covariance[j, d + q]
        variance += omega * row
    for p in range(dense.shape[1]):
        j = d + p
        value = left[j] * dense[item, p]
        mean += value * weights[j]
        row = value * covariance[j, j]
        for q in range(p):
            row += 2.0 * left[d + q] * dense[item, q] * covariance[j, d + q]
        variance += value * row
    return mean, max(variance, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def place(item: int, start: Any, topic: Any, weight: Any, dense: Any, diminishes: Any, left: Any, phi: Any) -> None:
    """Write the item's features as shown to ``phi``, and take what it covers from ``left``."""
    d = len(left) - dense.shape[1]
    phi[:] = 0.0
    for p in range(start[item], start[item + 1]):
        j = topic[p]
        phi[j] = left[j] * weight[p]
        if diminishes[j]:
            left[j] *= 1.0 - weight[p]
    for p in range(dense.shape[1]):
        j = d + p
        phi[j] = left[j] * dense[item, p]
        if diminishes[j]:
            left[j] *= 1.0 - dense[item, p]


@njit(cache=True, nogil=True, error_model="numpy")
def rank(
    start: Any,
    topic: Any,
    weight: Any,
    dense: Any,
    diminishes: Any,
    weights: Any,
    covariance: Any,
    gamma: float,
    candidates: Any,
    items: Any,
    features: Any,
    means: Any,
    widths: Any,
) -> None:
    """Fill ``items``, ``features``, ``means`` and ``widths``, best position first.

    ``candidates`` are rows in ascending order, so that of equal scores the lowest row wins. After a choice, only
    the items that share a diminishing column with it are scored again: nothing else changed.
    """
    k = len(items)
    n = len(candidates)
    columns = len(weights)
    d = columns - dense.shape[1]
    left = np.ones(columns)
    mean = np.empty(n)
    width = np.empty(n)
    stale = np.ones(n, dtype=np.bool_)
    taken = np.zeros(n, dtype=np.bool_)
    dense_diminishes = d < columns and diminishes[d]
    for position in range(k):
        best = -1
        best_score = -np.inf
        for i in range(n):
            if taken[i]:
                continue
            if stale[i]:
                a, s = score(candidates[i], start, topic, weight, dense, left, weights, covariance)
                mean[i] = a
                width[i] = np.sqrt(s)
                stale[i] = False
            value = mean[i] + gamma * width[i]
            if value > best_score:
                best_score = value
                best = i
        taken[best] = True
        chosen = candidates[best]
        items[position] = chosen
        means[position] = mean[best]
        widths[position] = width[best]
        before = left.copy()
        place(chosen, start, topic, weight, dense, diminishes, left, features[position])
        for i in range(n):
            if dense_diminishes:
                stale[i] = True
                continue
            for p in range(start[candidates[i]], start[candidates[i] + 1]):
                if left[topic[p]] != before[topic[p]]:
                    stale[i] = True
                    break
