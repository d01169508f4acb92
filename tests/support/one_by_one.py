"""Lists for which every item is scored at every position, one after the other: what all rankers must give."""

import numpy as np
from numba import njit

from rankfall.kernels import item_scores
from rankfall.kernels.item_scores import Items
from rankfall.kernels.ridge import State

# The one definition of a score, by itself: kernels have no entry from Python to it.
mean_of, variance_of, place = (
    njit(kernel.py_func) for kernel in (item_scores.mean_of, item_scores.variance_of, item_scores.place)
)


def score_of(row: int, items: Items, state: State, left: np.ndarray) -> tuple[float, float]:
    """Mean and width of an item."""
    scaled = np.empty(items.dense.shape[1])
    mean = mean_of(row, items, left, state.weights)
    return mean, np.sqrt(variance_of(row, items, left, state.covariance, scaled))


def one_by_one(
    items: Items, state: State, gamma: float, allowed: list[int], fixed: dict[int, int], k: int
) -> tuple[list[int], list[float], list[float], np.ndarray]:
    """Algorithm 1 as it is written: at each position every item is scored, and the first of the highest is taken."""
    columns = len(state.weights)
    left, phi = np.ones(columns), np.empty((k, columns))
    rows: list[int] = []
    means: list[float] = []
    widths: list[float] = []
    for position in range(k):
        scored = {}
        for row in [fixed[position]] if position in fixed else [row for row in allowed if row not in rows]:
            scored[row] = score_of(row, items, state, left)
        best = max(scored, key=lambda row: (scored[row][0] + gamma * scored[row][1], -row))
        rows.append(best)
        means.append(scored[best][0])
        widths.append(scored[best][1])
        place(best, items, left, phi[position])
    return rows, means, widths, phi
