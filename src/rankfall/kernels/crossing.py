"""A ridge model whose columns are crossed with the context of a request: ``c (x) phi``.

Over p numbers of context and n features it has ``p n`` columns, block by block: block i has those of ``c_i phi``.
Within one request c is constant. With ``M = c (x) I``, the mean of an item is ``phi . M' w`` and its variance
``phi' (M' P M) phi``: a plain model of n columns, of which rankers need not know where it comes from.
"""

from typing import Any

import numpy as np

from rankfall.kernels.jit import compiled, entry
from rankfall.kernels.ridge import State, refresh, solve


@entry
def collapse(state: State, c: Any, weights: Any, covariance: Any) -> None:
    """Write ``M' w`` to ``weights`` (n) and ``M' P M`` to ``covariance`` (n, n), which is exactly symmetric."""
    n = len(weights)
    weights[:] = 0.0
    for i in range(n):
        covariance[i, :] = 0.0
    for a in range(len(c)):
        if c[a] == 0.0:
            continue
        for j in range(n):
            weights[j] += c[a] * state.weights[a * n + j]
        for b in range(len(c)):
            if c[b] == 0.0:
                continue
            value = c[a] * c[b]
            for i in range(n):
                row, out = state.covariance[a * n + i], covariance[i]
                for j in range(n):
                    out[j] += value * row[b * n + j]
    for i in range(n):
        for j in range(i):
            covariance[j, i] = covariance[i, j]


@compiled
def evidence(gram: Any, moment: Any, ratio: Any, squares: float, seen: float) -> float:
    """How likely what was seen is, if each column were scaled by ``ratio`` (n) more than it is; higher is likelier.

    With ``G = O - I`` and ``O' = I + R G R``, it is ``-log|O'| / 2 - seen / 2 log(squares - b' R O'^-1 R b)``: the log
    marginal likelihood of ridge regression with noise of the variance that makes it largest, but for a constant.
    ``squares`` is the sum of squared rewards, ``moment`` is b and ``seen`` the number of observations.
    """
    n = len(moment)
    upper = np.empty((n, n))  # O' = upper' upper
    for i in range(n):
        for j in range(i, n):
            upper[i, j] = ratio[i] * gram[i, j] * ratio[j]
        upper[i, i] = 1.0 + ratio[i] * (gram[i, i] - 1.0) * ratio[i]
    half = np.empty(n)  # upper'^-1 R b
    for i in range(n):
        half[i] = ratio[i] * moment[i]
    logarithm, fit = 0.0, 0.0
    for p in range(n):
        row = upper[p]
        logarithm += np.log(row[p])
        scale = 1.0 / np.sqrt(row[p])
        for j in range(p, n):
            row[j] *= scale
        half[p] *= scale
        fit += half[p] * half[p]
        value = half[p]
        for j in range(p + 1, n):
            half[j] -= value * row[j]
        for i in range(p + 1, n):
            value = row[i]
            if value != 0.0:
                below = upper[i]
                for j in range(i, n):
                    below[j] -= value * row[j]
    unexplained = max(squares - fit, 1e-9 * squares)
    return -0.5 * logarithm - 0.5 * seen * np.log(unexplained)


@compiled
def rescale(state: State, ratio: Any) -> None:
    """Make the model the one of columns that are scaled by ``ratio`` (n) more than they are, with the same prior."""
    n = len(ratio)
    for i in range(n):
        state.gram[i, i] -= 1.0
        for j in range(n):
            state.gram[i, j] = ratio[i] * state.gram[i, j] * ratio[j]
        state.gram[i, i] += 1.0
        state.moment[i] *= ratio[i]
    refresh(state)
    solve(state)
