"""What the pairs of a clicked and an unclicked item say, when lists are drawn from a Plackett-Luce model.

A list R is drawn item by item, each with probability ``exp(f) / D_t``, where ``D_t`` sums ``exp(f)`` over what is left
at position t. R* is the list with the items at i < j exchanged. Numerators are then the same, and of the denominators
only those at i < t <= j differ, where R* still has the i-th item to give instead of the j-th. So

    P(R*) / P(R) = prod over i < t <= j of D_t / (D_t - exp(f_j) + exp(f_i)).

All sums are taken over what is left, in logarithms: nothing is subtracted, so nothing cancels or overflows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_bounds import insert
from rankfall.kernels.jit import compiled, entry, inlined_entry, leaf
from rankfall.kernels.policy_steps import steps

Array = np.ndarray[Any, Any]


@leaf
def log_sum(a: float, b: float) -> float:
    """``log(exp(a) + exp(b))``."""
    high, low = (a, b) if a >= b else (b, a)
    if low == -np.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@inlined_entry
def logistic(x: float) -> float:
    """``1 / (1 + exp(-x))``, of any x."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-min(x, 700.0)))
    y = math.exp(max(x, -700.0))
    return y / (1.0 + y)


@inlined_entry
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


@inlined_entry
def score(features: Array, weights: Array, out: Array) -> None:
    """``f(a) = w . phi_a`` of every item, for ``features`` (L, n)."""
    for e in range(len(out)):
        total = 0.0
        for j in range(len(weights)):
            total += features[e, j] * weights[j]
        out[e] = total


@leaf
def _left_over(scores: Array, rest: float, left: Array) -> None:
    k = len(scores)
    left[k] = rest
    for t in range(k - 1, -1, -1):
        left[t] = log_sum(left[t + 1], scores[t])


@compiled
def left_over(scores: Array, rest: float) -> Array:
    """``log D_t`` for every position, and after the last: ``rest``, the log-sum over items not in the list."""
    left = np.empty(len(scores) + 1)
    _left_over(scores, rest, left)
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


@inlined_entry
def gradient(
    scores: Array, rest: float, clicked: Array, features: Array, left: Array, weights: Array, out: Array
) -> bool:
    """What the clicks on a list say of the model, into ``out`` (n); whether there was a pair.

    A clicked item is preferred to an unclicked one if that was seen: every item down to the one below the last click.
    A pair (c, u) weighs ``rho * s (1 - s)`` with ``s = logistic(f_c - f_u)`` and ``rho = P(R*) / (P(R) + P(R*))``.

    Parameters
    ----------
    scores : (k) of the list, as it was shown.
    rest : the log-sum of the scores of what was not shown.
    clicked : (k) booleans.
    features : (k, n) of the list.
    left : (k + 1) work space.
    weights : (k) the sum of all pairs' weights for every item: plus where it is preferred, minus where it is not.
    """
    k, last = len(scores), -1
    for t in range(k):
        weights[t] = 0.0
        if clicked[t]:
            last = t
    out[:] = 0.0
    found = False
    if last < 0:
        return found
    _left_over(scores, rest, left)
    for c in range(last + 1):
        if not clicked[c]:
            continue
        for u in range(min(k, last + 2)):
            if clicked[u]:
                continue
            found = True
            rho = logistic(log_ratio(scores, left, min(c, u), max(c, u)))
            s = logistic(scores[c] - scores[u])
            weight = rho * s * logistic(scores[u] - scores[c])
            weights[c] += weight
            weights[u] -= weight
    for t in range(k):
        for j in range(len(out)):
            out[j] += weights[t] * features[t, j]
    return found


class PDGDSteps(NamedTuple):
    """PDGD."""

    features: Any  # (L, n)
    weights: Any  # (n)
    scores: Any  # (L) of the weights
    rate: Any  # (1) eta
    decay: float
    rng: Any
    rows: Any  # (L) 0, 1, ...
    noise: Any  # (L) work space
    of_list: Any  # (k) scores of the list
    rest: Any  # (1) the log-sum of the other scores
    as_shown: Any  # (k, n) work space
    left: Any  # (k + 1) work space
    pairs: Any  # (k) work space
    gradient: Any  # (n) work space


@leaf
def _show(state: PDGDSteps, _: Any, shown: Any) -> None:
    for e in range(len(state.noise)):
        u = 1.0
        while u >= 1.0:
            u = 1.0 - state.rng.random()
        state.noise[e] = -math.log(-math.log(u))  # as NumPy draws from a Gumbel distribution
    state.rest[0] = draw(state.rows, state.scores, state.noise, shown, state.of_list)


@leaf
def _learn(state: PDGDSteps, shown: Any, clicked: Any) -> bool:
    n = len(state.weights)
    for t in range(len(shown)):
        for j in range(n):
            state.as_shown[t, j] = state.features[shown[t], j]
    if gradient(state.of_list, state.rest[0], clicked, state.as_shown, state.left, state.pairs, state.gradient):
        for j in range(n):
            state.weights[j] += state.rate[0] * state.gradient[j]
        state.rate[0] *= state.decay
        score(state.features, state.weights, state.scores)
    return True


steps(PDGDSteps, _show, _learn)
