"""An estimate with its error: by the normal approximation, and by resampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray

_Z = 1.959963984540054  # 95 % of a normal distribution lies within so many standard deviations


@dataclass(frozen=True)
class Interval:
    """An estimate, its standard error, and a 95 % interval (normal approximation)."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """Lower end."""
        return self.value - _Z * self.error

    @property
    def high(self) -> float:
        """Upper end."""
        return self.value + _Z * self.error


def bootstrap(
    value: Callable[[FloatArray], float], lists: int, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The ends of a 95 % percentile interval: ``value`` of how often each list was drawn again (lists,).

    Resamples without a value (NaN) are left out.

    >>> earned = np.array([0.0, 1.0, 1.0, 0.0])
    >>> bootstrap(lambda times: times @ earned / 4, 4, 1000, np.random.default_rng(0))
    (0.0, 1.0)
    """
    values = np.empty(resamples)
    for i in range(resamples):
        again = rng.integers(0, lists, lists)
        values[i] = value(np.bincount(again, minlength=lists).astype(np.float64))
    values = values[~np.isnan(values)]
    if not len(values):
        return np.nan, np.nan
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
