"""The greedy ranker (Algorithm 1, lines "Build ranked list"): one LinUCB choice for each position, every item scored.

This is the plain form. :mod:`rankfall.kernels.shortlists` gives the same lists and looks at far fewer items.
"""

from typing import Any

import numpy as np

from rankfall.kernels.item_scores import Items, mean_of, place, variance_of
from rankfall.kernels.jit import compiled, inner
from rankfall.kernels.ridge import State


@inner
def _score(item: int, items: Items, state: State, left: Any, scaled: Any) -> tuple[float, float]:
    """Mean and width of a row that is fixed. A function of its own, so that the loop below stays small and fast."""
    mean = mean_of(item, items, left, state.weights)
    return mean, np.sqrt(variance_of(item, items, left, state.covariance, scaled))


@compiled
def rank(
    items: Items, state: State, gamma: float, candidates: Any, out: Any, features: Any, means: Any, widths: Any
) -> int:
    """Fill ``out`` (rows, best first), ``features``, ``means`` and ``widths``; return how many scores it took.

    ``out`` comes in with -1 where the choice is free; a row it holds already stays there, and is no candidate.
    ``candidates`` are rows in ascending order, so that of equal scores the lowest row wins. After a choice, only the
    items that share a diminishing column with it are scored again: nothing else changed.
    """
    n = len(candidates)
    m = items.dense.shape[1]
    left = np.ones(len(state.weights))
    before = np.ones(len(state.weights))
    scaled = np.empty(m)
    mean, width = np.empty(n), np.empty(n)
    stale = np.ones(n, dtype=np.bool_)
    taken = np.zeros(n, dtype=np.bool_)
    scored = 0
    for position in range(len(out)):
        if out[position] >= 0:
            means[position], widths[position] = _score(out[position], items, state, left, scaled)
            scored += 1
        else:
            best = -1
            best_score = -np.inf
            for i in range(n):
                if taken[i]:
                    continue
                if stale[i]:
                    mean[i] = mean_of(candidates[i], items, left, state.weights)
                    width[i] = np.sqrt(variance_of(candidates[i], items, left, state.covariance, scaled))
                    stale[i] = False
                    scored += 1
                score = mean[i] + gamma * width[i]
                if score > best_score or best < 0:
                    best_score = score
                    best = i
            taken[best] = True
            out[position] = candidates[best]
            means[position] = mean[best]
            widths[position] = width[best]
        before[:] = left
        place(out[position], items, left, features[position])
        if items.relevance_diminishes:
            stale[:] = True
        elif items.coverage_diminishes:
            for i in range(n):
                for p in range(items.start[candidates[i]], items.start[candidates[i] + 1]):
                    if left[items.topic[p]] != before[items.topic[p]]:
                        stale[i] = True
    return scored
