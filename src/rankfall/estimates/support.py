"""Whether a log can say anything about a policy: effective sample size, and support that is missing."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray

FEW = 30
"""Lists that an interval by the normal approximation needs at least."""


def effective_size(weights: FloatArray) -> FloatArray:
    """(k,) how many lists of the policy itself would say as much, by position: ``(sum w)^2 / sum w^2``.

    >>> effective_size(np.array([[2.0], [2.0], [0.0], [0.0]]))
    array([2.])
    """
    squares = (weights**2).sum(axis=0)
    size: FloatArray = weights.sum(axis=0) ** 2 / np.where(squares > 0.0, squares, 1.0)
    return size


def warnings_of(weights: FloatArray) -> tuple[str, ...]:
    """What makes an estimate with these weights (lists, k) doubtful, in words.

    Weights are 1 on average if the logging policy may show all that the other one shows. Where their mean is lower by
    more than chance explains, it may not; and where few lists carry all the weight, chance cannot be told.
    """
    n = len(weights)
    mean = weights.mean(axis=0)
    told = []
    if not mean.all():
        place = int(np.argmin(mean != 0.0)) + 1
        told.append(
            f"support is missing: no list of the log agrees with the policy down to position {place}; what is below "
            "counts as nothing, so the value is too low"
        )
    error = weights.std(axis=0) / np.sqrt(n)
    low = (mean > 0.0) & (mean + 3.0 * error < 0.95)
    if low.any():
        place = int(np.argmax(low))
        told.append(
            f"support is missing: weights at position {place + 1} average {mean[place]:.2f} and not 1, so the log does "
            "not have all that the policy shows; self-normalised values speak of the part that it has"
        )
    size = effective_size(weights)
    if (size < FEW).any():
        place = int(np.argmax(size < FEW))
        told.append(
            f"from position {place + 1} on the effective sample size is {size[place:].min():.1f} or so: do not trust "
            "the interval"
        )
    return tuple(told)
