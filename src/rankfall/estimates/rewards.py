"""What clicks on a list count as, position by position."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, finite
from rankfall.errors import ProblemError

CountedAs: TypeAlias = Literal["clicks", "any"]
"""The number of clicks on a list, or 1 if there is any."""


def position_rewards(clicks: ArrayLike, counted: CountedAs) -> FloatArray:
    """(lists, k) what each position earns, from the clicks (lists, k): what a list earns is their sum.

    Of ``any`` click the first one earns it, so that what a position earns depends on the items above it and on none
    below, whenever clicks do.

    >>> position_rewards([[0, 1, 1]], "any")
    array([[0., 1., 0.]])
    """
    clicked = finite("clicks", clicks, 2, ProblemError)
    if counted not in get_args(CountedAs):
        raise ProblemError(f"counted must be one of {', '.join(get_args(CountedAs))}, got {counted!r}")
    if ((clicked != 0.0) & (clicked != 1.0)).any():
        raise ProblemError("clicks must be 0 or 1 at each position")
    if counted == "clicks":
        return clicked
    return np.where(np.cumsum(clicked, axis=1) == 1.0, clicked, 0.0)
