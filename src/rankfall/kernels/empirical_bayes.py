"""What a prior makes of many users at once: the expectation step of learning the prior itself.

Of user u with sums G_u and h_u, and with a prior of precision K and pull K mu, the ridge model is ``O_u = K + G_u``,
``m_u = O_u^-1 (K mu + h_u)``. Sums run over columns of rows, so that they use vectors without being reordered.
"""

from typing import Any

import numpy as np

from rankfall.kernels.jit import compiled, inner


@inner
def invert_in_place(matrix: Any) -> float:
    """Turn a positive definite matrix into its inverse (Gauss-Jordan), and return the logarithm of its determinant."""
    n = len(matrix)
    logarithm = 0.0
    for p in range(n):
        row = matrix[p]
        logarithm += np.log(row[p])
        scale = 1.0 / row[p]
        row[p] = 1.0
        for j in range(n):
            row[j] *= scale
        for i in range(n):
            if i != p:
                other = matrix[i]
                value = other[p]
                other[p] = 0.0
                for j in range(n):
                    other[j] -= value * row[j]
    return logarithm


@compiled
def expect(grams: Any, moments: Any, precision: Any, pull: Any, means: Any, covariance: Any) -> tuple[float, float]:
    """Write m_u to ``means`` (users, n) and the sum of O_u^-1 to ``covariance`` (n, n).

    Returns the sums of ``log |O_u|`` and of ``m_u . (K mu + h_u)``.
    """
    users, n = moments.shape
    work, moment = np.empty((n, n)), np.empty(n)
    covariance[:] = 0.0
    logarithm, fit = 0.0, 0.0
    for u in range(users):
        for i in range(n):
            for j in range(n):
                work[i, j] = precision[i, j] + grams[u, i, j]
            moment[i] = pull[i] + moments[u, i]
        logarithm += invert_in_place(work)
        mean = means[u]
        mean[:] = 0.0
        for i in range(n):
            value = moment[i]
            row, total = work[i], covariance[i]
            for j in range(n):
                mean[j] += value * row[j]
                total[j] += row[j]
        for i in range(n):
            fit += mean[i] * moment[i]
    return logarithm, fit
