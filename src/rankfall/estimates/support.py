"""Whether a log can say anything about a policy: effective sample size, and support that is missing."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import BoolArray, FloatArray

FEW = 30
"""Lists that an interval by the normal approximation needs at least."""


def effective_size(weights: FloatArray) -> FloatArray:
    """(k,) how many lists of the policy itself would say as much, by position: ``(sum w)^2 / sum w^2``.

    >>> effective_size(np.array([[2.0], [2.0], [0.0], [0.0]]))
    array([2.])
    """
    highest = weights.max(axis=0)
    shares = weights / np.where(highest > 0.0, highest, 1.0)  # squares of large weights would overflow
    squares = (shares**2).sum(axis=0)
    size: FloatArray = shares.sum(axis=0) ** 2 / np.where(squares > 0.0, squares, 1.0)
    return size


def warnings_of(weights: FloatArray, below: str, *, whole: bool = False, alone: bool = False) -> tuple[str, ...]:
    """What makes an estimate with these weights (lists, k) doubtful, in words.

    Weights are 1 on average if the logging policy may show all that the other one shows. Where their mean is lower by
    more than chance explains, it may not; where it is higher, the chances in the log cannot be right; and where few
    lists carry all the weight, chance cannot be told. ``below`` says what comes of positions without any weight;
    ``whole`` that weights are of whole lists, ``alone`` that they are of each position, whatever stands above.
    """
    n = len(weights)
    mean = weights.mean(axis=0)
    told = []
    if not mean.all():
        place = int(np.argmin(mean != 0.0)) + 1
        where = "from top to bottom" if whole else f"at position {place}" if alone else f"down to position {place}"
        told.append(f"support is missing: no list of the log agrees with the policy {where}; {below}")
    error = weights.std(axis=0) / np.sqrt(n)
    low, high = (mean > 0.0) & (mean + 3.0 * error < 0.95), mean - 3.0 * error > 1.05
    if low.any():
        told.append(
            f"support is missing: {_average(mean, low, whole)}, so the log does not have all that the policy shows"
        )
    if high.any():
        told.append(f"{_average(mean, high, whole)}: the chances in the log are lower than they can have been")
    size = effective_size(weights)
    few = (size > 0.0) & (size < FEW)
    if few.any():
        place = int(np.argmax(few))
        where = "" if whole else f"at position {place + 1} " if alone else f"from position {place + 1} on "
        told.append(f"{where}few lists count (effective sample size {size[place]:.1f}): do not trust the interval")
    return tuple(told)


def _average(mean: FloatArray, which: BoolArray, whole: bool) -> str:
    place = int(np.argmax(which))
    where = "" if whole else f" at position {place + 1}"
    return f"weights{where} average {mean[place]:.2f} and not 1"
