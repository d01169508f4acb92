"""Ridge regression with identity prior, one observation at a time.

The paper's block form (H, u, M, y, B of Algorithm 1) is this regression on ``phi = [omega, z]``:
``O = I + sum phi phi'``, ``b = sum of the clicked phi``, ``w = [theta, beta] = O^-1 b``.
Here O is ``gram``, O^-1 is ``covariance``, b is ``moment`` and w is ``weights``.
"""

from typing import Any

import numpy as np
from numba import njit

REFRESH_EVERY = 1000
"""Observations after which the covariance is computed afresh from the gram matrix."""


@njit(cache=True, nogil=True, error_model="numpy")
def invert(gram: Any, inverse: Any) -> None:
    """Write the inverse of a positive definite matrix, by Cholesky; exactly symmetric."""
    n = len(gram)
    lower = np.zeros((n, n))  # gram = lower lower'
    for i in range(n):
        for j in range(i + 1):
            total = gram[i, j]
            for l in range(j):  # noqa: E741
                total -= lower[i, l] * lower[j, l]
            lower[i, j] = np.sqrt(total) if i == j else total / lower[j, j]
    half = np.zeros((n, n))  # half = lower^-1
    for j in range(n):
        half[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for l in range(j, i):  # noqa: E741
                total -= lower[i, l] * half[l, j]
            half[i, j] = total / lower[i, i]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for l in range(i, n):  # noqa: E741
                total += half[l, i] * half[l, j]
            inverse[i, j] = total
            inverse[j, i] = total


@njit(cache=True, nogil=True, error_model="numpy")
def observe(gram: Any, covariance: Any, moment: Any, phi: Any, reward: float) -> None:
    """One observation: O += phi phi', b += reward phi, and O^-1 by the Sherman-Morrison identity."""
    n = len(phi)
    gain = np.empty(n)  # O^-1 phi
    spread = 1.0  # 1 + phi' O^-1 phi
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += covariance[i, j] * phi[j]
        gain[i] = total
        spread += phi[i] * total
    scale = 1.0 / np.sqrt(spread)
    for i in range(n):
        gain[i] *= scale
    for i in range(n):
        for j in range(n):
            gram[i, j] += phi[i] * phi[j]
            covariance[i, j] -= gain[i] * gain[j]
        moment[i] += reward * phi[i]


@njit(cache=True, nogil=True, error_model="numpy")
def learn(gram: Any, covariance: Any, moment: Any, weights: Any, counts: Any, features: Any, rewards: Any) -> None:
    """Learn from one list: row i of ``features`` was seen and earned ``rewards[i]``.

    ``counts`` holds the lists learned from, and the observations since the last refresh.
    """
    for i in range(len(rewards)):
        observe(gram, covariance, moment, features[i], rewards[i])
    counts[0] += 1
    counts[1] += len(rewards)
    if counts[1] >= REFRESH_EVERY:
        invert(gram, covariance)
        counts[1] = 0
    n = len(weights)
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += covariance[i, j] * moment[j]
        weights[i] = total
