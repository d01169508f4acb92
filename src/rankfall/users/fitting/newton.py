"""The maximum of a smooth function that is concave, or nearly: Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from rankfall.arrays import FloatArray

Surface: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
"""Takes a point (n,), gives the value there, the gradient (n,) and the negative Hessian (n, n)."""

_SHORTEST = 2.0**-40


class Maximum(NamedTuple):
    """Where it is, the steps taken, and whether the last one was too small to matter."""

    point: FloatArray
    steps: int
    converged: bool


def maximise(surface: Surface, start: FloatArray, *, tolerance: float = 1e-10, steps: int = 100) -> Maximum:
    """Climb from ``start``, halving steps that lead too little upwards.

    It ends when a whole step promises less than this share of the value.

    >>> def parabola(point):
    ...     return -1.0 - float((point - 3.0) @ (point - 3.0)), -2.0 * (point - 3.0), 2.0 * np.eye(2)
    >>> maximise(parabola, np.zeros(2)).point
    array([3., 3.])
    """
    here, (value, gradient, curvature) = start, surface(start)
    for taken in range(steps):
        direction = _solved(curvature, gradient)
        promised = float(gradient @ direction)
        if promised <= tolerance * abs(value):
            return Maximum(here, taken, True)
        length = 1.0
        while True:
            there = here + length * direction
            found = surface(there)
            if found[0] >= value + 1e-4 * length * promised:
                break
            length /= 2.0
            if length < _SHORTEST:  # rounding hides what is left to gain
                return Maximum(here, taken, True)
        here, (value, gradient, curvature) = there, found
    return Maximum(here, steps, False)


def _solved(curvature: FloatArray, gradient: FloatArray) -> FloatArray:
    """A step upwards: Newton's; where the surface is not concave or flat, shorter along the directions that are not."""
    scale = np.abs(np.diag(curvature))
    scale = np.maximum(scale, 1e-12 * max(float(scale.max(initial=0.0)), 1e-300))
    extra = 1e-12
    while True:
        try:
            factor = np.linalg.cholesky(curvature + np.diag(extra * scale))
        except np.linalg.LinAlgError:
            extra = max(1e-6, 10.0 * extra)
            continue
        step: FloatArray = np.linalg.solve(factor.T, np.linalg.solve(factor, gradient))
        return step
