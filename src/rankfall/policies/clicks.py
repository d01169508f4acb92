"""Clicks on a list: 0-based positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from rankfall.arrays import whole
from rankfall.errors import FeedbackError

Click: TypeAlias = int | Iterable[int] | None
"""A 0-based position, several of them, or None for no click."""


def all_clicks(click: Any, length: int) -> list[int]:
    """Every 0-based position that was clicked, from the top, each once.

    >>> all_clicks([3, 1, 3], 5), all_clicks(2, 5), all_clicks(None, 5)
    ([1, 3], [2], [])
    """
    if click is None:
        return []
    if type(click) is int and 0 <= click < length:  # what simulated users give; their steps take microseconds
        return [click]
    if type(click) is tuple:
        before, plain = -1, True
        for one in click:
            if type(one) is not int or one <= before:
                plain = False
                break
            before = one
        if plain and before < length:
            return list(click)
    many = isinstance(click, Iterable) and not isinstance(click, str | bytes) and np.ndim(click) > 0  # type: ignore[arg-type]
    several = click if many else [click]
    return sorted({whole("click", one, FeedbackError, low=0, high=length - 1) for one in several})


def first_click(click: Any, length: int) -> int | None:
    """The first position that was clicked, or None for no click.

    >>> first_click([3, 1], 5), first_click(None, 5), first_click([], 5)
    (1, None, None)
    >>> first_click(5, 5)
    Traceback (most recent call last):
    rankfall.errors.FeedbackError: click must be a whole number from 0 to 4, got 5
    """
    return min(all_clicks(click, length), default=None)
