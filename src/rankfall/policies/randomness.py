"""Where policies that draw take their random numbers from."""

from __future__ import annotations

import numpy as np

from rankfall.errors import RankError


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The caller's generator; without one, a new generator with a fixed seed."""
    if rng is None:
        return np.random.default_rng(0)
    if not isinstance(rng, np.random.Generator):
        raise RankError(f"rng must be a numpy.random.Generator or None, got {type(rng).__name__}")
    return rng
