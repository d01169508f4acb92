"""Kernels of ranked bandits: one bandit for each position, and a list made of what they choose.

``K`` positions have a bandit, ``L`` is the number of items. Lists may be longer (filled up in row order) or shorter.
``allowed`` (L) says which items may be chosen; ``items`` and ``chosen`` (k) receive the list and the bandits' own
choices, -1 where there was no choice of a bandit to learn from. ``items`` comes in with -1 where the choice is free; a
row it holds already stays there.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfall.kernels.jit import compiled, leaf

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


@leaf
def nth_free(allowed: BoolArray, shown: BoolArray, nth: int) -> int:
    """The ``nth`` row (from 0) that may be shown and is not yet."""
    last = -1
    for row in range(len(allowed)):
        if allowed[row] and not shown[row]:
            last = row
            if nth == 0:
                return row
            nth -= 1
    return last


@leaf
def _place(choice: int, free: int, coin: float, allowed: BoolArray, shown: BoolArray) -> int:
    """The item to show where a bandit chose ``choice``: that one, or any of the ``free`` ones if it is shown above."""
    if not shown[choice]:
        return choice
    return nth_free(allowed, shown, min(int(coin * free), free - 1))


@leaf
def ucb_list_in(
    counts: FloatArray,
    sums: FloatArray,
    plays: FloatArray,
    exploration: float,
    allowed: BoolArray,
    coins: FloatArray,
    items: IntArray,
    chosen: IntArray,
    shown: BoolArray,
    index: FloatArray,
) -> None:
    """UCB1 at each position: the highest ``sums / counts + sqrt(exploration log(plays) / counts)``, untried first.

    ``coins`` (2 k): the first k decide between equals, the others what is shown when the choice is shown above.
    ``shown`` and ``index`` (L) are work space.
    """
    k, L = len(items), len(allowed)
    shown[:] = False
    free = 0
    for row in range(L):
        free += allowed[row]
    for position in range(k):
        chosen[position] = -1
        if items[position] >= 0:
            continue
        if position < len(counts):
            width = exploration * math.log(max(plays[position], 1.0))
            best, equals = -math.inf, 0
            for row in range(L):
                if allowed[row]:
                    n = counts[position, row]
                    index[row] = math.inf if n == 0 else sums[position, row] / n + math.sqrt(width / n)
                    if index[row] > best:
                        best, equals = index[row], 1
                    elif index[row] == best:
                        equals += 1
            nth = min(int(coins[position] * equals), equals - 1)
            for row in range(L):
                if allowed[row] and index[row] == best:
                    if nth == 0:
                        chosen[position] = row
                        break
                    nth -= 1
            items[position] = _place(chosen[position], free, coins[k + position], allowed, shown)
        else:
            items[position] = nth_free(allowed, shown, 0)
        shown[items[position]] = True
        free -= 1


@compiled
def ucb_list(
    counts: FloatArray,
    sums: FloatArray,
    plays: FloatArray,
    exploration: float,
    allowed: BoolArray,
    coins: FloatArray,
    items: IntArray,
    chosen: IntArray,
) -> None:
    """:func:`ucb_list_in`, with work space of its own."""
    shown, index = np.empty(len(allowed), dtype=np.bool_), np.empty(len(allowed))
    ucb_list_in(counts, sums, plays, exploration, allowed, coins, items, chosen, shown, index)


class Exp3Table(NamedTuple):
    """Probabilities at each of K positions over L items, kept from list to list."""

    probabilities: Any  # (K, L)
    stale: Any  # (K) where they must be worked out anew
    exponents: Any  # (K, L) log weights, from the highest one down, and what exp makes of them
    weights: Any  # (K, L)


@compiled
def exp3_table(K: int, L: int) -> Exp3Table:
    """A table in which nothing is worked out yet."""
    return Exp3Table(np.empty((K, L)), np.ones(K, dtype=np.bool_), np.full((K, L), np.nan), np.empty((K, L)))


@leaf
def _probabilities(log_weights: FloatArray, gamma: float, allowed: BoolArray, position: int, at: Exp3Table) -> None:
    """Work out a row of the table; mostly one weight has changed since the last time."""
    exponents, weights, out = at.exponents[position], at.weights[position], at.probabilities[position]
    highest, total, arms = -math.inf, 0.0, 0
    for row in range(len(allowed)):
        if allowed[row]:
            arms += 1
            highest = max(highest, log_weights[row])
    for row in range(len(allowed)):
        exponent = log_weights[row] - highest if allowed[row] else -math.inf
        if exponents[row] != exponent:
            exponents[row] = exponent
            weights[row] = math.exp(exponent)
        total += weights[row]
    for row in range(len(allowed)):
        out[row] = (1.0 - gamma) * weights[row] / total + gamma / arms if allowed[row] else 0.0


@compiled
def exp3_probabilities(log_weights: FloatArray, gamma: float, allowed: BoolArray) -> FloatArray:
    """``(1 - gamma) w / sum(w) + gamma / L`` at each position, over the items that are allowed."""
    at = exp3_table(log_weights.shape[0], log_weights.shape[1])
    for position in range(len(log_weights)):
        _probabilities(log_weights[position], gamma, allowed, position, at)
    found: FloatArray = at.probabilities
    return found


@leaf
def exp3_list_in(
    log_weights: FloatArray,
    gamma: float,
    allowed: BoolArray,
    coins: FloatArray,
    items: IntArray,
    chosen: IntArray,
    odds: FloatArray,
    shown: BoolArray,
    at: Exp3Table,
) -> None:
    """EXP3 at each position; ``odds`` receives the probability with which each choice was drawn.

    ``coins`` (2 k): the first k draw the choices, the others what is shown when the choice is shown above. ``shown``
    (L) is work space.
    """
    k, L = len(items), len(allowed)
    shown[:] = False
    free = 0
    for row in range(L):
        free += allowed[row]
    for position in range(k):
        chosen[position] = -1
        odds[position] = 0.0
        if items[position] >= 0:
            continue
        if position < len(log_weights):
            if at.stale[position]:
                _probabilities(log_weights[position], gamma, allowed, position, at)
                at.stale[position] = False
            p = at.probabilities[position]
            below = 0.0
            for row in range(L):
                if allowed[row]:
                    below += p[row]
                    if p[row] > 0.0:
                        chosen[position] = row
                        if coins[position] < below:
                            break
            odds[position] = p[chosen[position]]
            items[position] = _place(chosen[position], free, coins[k + position], allowed, shown)
        else:
            items[position] = nth_free(allowed, shown, 0)
        shown[items[position]] = True
        free -= 1


@compiled
def exp3_list(
    log_weights: FloatArray,
    gamma: float,
    allowed: BoolArray,
    coins: FloatArray,
    items: IntArray,
    chosen: IntArray,
    odds: FloatArray,
) -> None:
    """:func:`exp3_list_in` a table of its own."""
    at, shown = exp3_table(log_weights.shape[0], log_weights.shape[1]), np.empty(len(allowed), dtype=np.bool_)
    exp3_list_in(log_weights, gamma, allowed, coins, items, chosen, odds, shown, at)
