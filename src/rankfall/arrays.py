"""What comes in from outside is checked here once; inside, arrays are trusted."""

import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfall.errors import RankfallError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

_INT64 = np.dtype(np.int64)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, read-only."""
    array.setflags(write=False)  # in half the time that array.flags takes
    return array


def finite(name: str, value: ArrayLike, ndim: int, error: type[RankfallError]) -> FloatArray:
    """A read-only C-ordered float64 copy of ``value`` with ``ndim`` axes and no NaN or infinity.

    >>> finite("theta", [0.5, 0.5], 1, RankfallError)
    array([0.5, 0.5])
    >>> finite("theta", [0.5, float("nan")], 1, RankfallError)
    Traceback (most recent call last):
    rankfall.errors.RankfallError: theta holds nan at [1]; every value must be finite
    """
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as problem:
        raise error(f"{name} must be numbers in a rectangular array: {problem}") from None
    if array.ndim != ndim:
        raise error(f"{name} must have {ndim} axes, got shape {array.shape}")
    fine = np.isfinite(array)
    if np.count_nonzero(fine) < array.size:
        where = [int(i) for i in np.argwhere(~fine)[0]]
        raise error(f"{name} holds {array[tuple(where)]} at {where}; every value must be finite")
    return frozen(array)


def number(name: str, value: Any, error: type[RankfallError], *, low: float = -np.inf, high: float = np.inf) -> float:
    """``value`` as a finite float within [low, high].

    >>> number("gamma", -1, RankfallError, low=0)
    Traceback (most recent call last):
    rankfall.errors.RankfallError: gamma must be a number in [0, inf), got -1
    """
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        result = np.nan
    if isinstance(value, str | bytes | bool) or not (np.isfinite(result) and low <= result <= high):
        opening, closing = "(" if low == -np.inf else "[", ")" if high == np.inf else "]"
        raise error(f"{name} must be a number in {opening}{low:g}, {high:g}{closing}, got {value!r}")
    return result


def whole(name: str, value: Any, error: type[RankfallError], *, low: int, high: int | None = None) -> int:
    """``value`` as an int within [low, high].

    >>> whole("k", 2.5, RankfallError, low=1)
    Traceback (most recent call last):
    rankfall.errors.RankfallError: k must be a whole number from 1 on, got 2.5
    """
    span = f"from {low} on" if high is None else f"from {low} to {high}"
    message = f"{name} must be a whole number {span}, got {value!r}"
    if isinstance(value, bool | np.bool_):
        raise error(message)
    try:
        result = operator.index(value)
    except TypeError:
        raise error(message) from None
    if result < low or (high is not None and result > high):
        raise error(message)
    return result


def rows(name: str, value: Iterable[int], n_items: int, error: type[RankfallError]) -> IntArray:
    """Distinct row numbers below ``n_items``, in the order given.

    >>> rows("candidates", [3, 1], 4, RankfallError)
    array([3, 1])
    >>> rows("candidates", [3, 3], 4, RankfallError)
    Traceback (most recent call last):
    rankfall.errors.RankfallError: candidates holds 3 twice; each row at most once
    >>> rows("candidates", 3, 4, RankfallError)
    Traceback (most recent call last):
    rankfall.errors.RankfallError: candidates must be a flat sequence of row numbers, got 3
    """
    if type(value) is np.ndarray:
        array, ours = value, False
    elif not isinstance(value, Iterable):
        raise error(f"{name} must be a flat sequence of row numbers, got {value!r}")
    else:
        array, ours = np.asarray(value if hasattr(value, "__array__") else list(value)), type(value) is list
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim == 1 and array.dtype == _INT64 and array.size <= 64:  # a list as shown: plain numbers are faster
        plain = array.tolist()
        if min(plain) >= 0 and max(plain) < n_items and len(set(plain)) == len(plain):
            return array if ours else array.copy()
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise error(f"{name} must be a flat sequence of row numbers, got {array.dtype} of shape {array.shape}")
    outside = (array < 0) | (array >= n_items)
    if outside.any():
        raise error(f"{name} holds row {array[outside][0]}; rows go from 0 to {n_items - 1}")
    ordered = np.sort(array)
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        raise error(f"{name} holds {ordered[1:][twice][0]} twice; each row at most once")
    return array.astype(np.int64)


def fill(own: NDArray[Any], name: str, given: NDArray[Any]) -> None:
    """Put what was saved in the place of an array; raises ValueError where it does not fit, or is not finite."""
    if own.shape != given.shape or own.dtype != given.dtype or not np.isfinite(given).all():
        raise ValueError(f"{name} is {given.dtype} of shape {given.shape}, not {own.dtype} of {own.shape}")
    own[...] = given
