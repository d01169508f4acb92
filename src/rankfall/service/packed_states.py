"""States of owners as bytes, for checkpoints: nothing twice, and every bit.

Of a symmetric matrix only the lower half is kept, if the other half has the same bits. The matrices of a linear policy
are such: gram and covariance. Neither can be had from the other bit for bit, for the covariance follows every
observation in steps of its own; nor is anything else in a state large.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.array_container import pack, unpack
from rankfall.arrays import IntArray

VERSION = 2
"""Version 1 had all arrays as they are."""


def pack_state(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Bytes from which :func:`unpack_state` gives back the arrays.

    >>> arrays = {"gram": np.array([[2.0, 0.1], [0.1, 3.0]]), "moment": np.array([1.0, 0.5])}
    >>> {name: array.tolist() for name, array in unpack_state(pack_state(arrays)).items()}
    {'gram': [[2.0, 0.1], [0.1, 3.0]], 'moment': [1.0, 0.5]}
    """
    halves = [name for name, array in arrays.items() if _symmetric(array)]
    kept = {name: array[_lower(len(array))] if name in halves else array for name, array in arrays.items()}
    return pack({"version": VERSION, "halves": halves}, kept)


def unpack_state(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a state, also of an earlier version; raises ValueError for other bytes."""
    header, arrays = unpack(data)
    version = header.get("version", 1)
    if version > VERSION:
        raise ValueError(f"it has version {version}; this one reads up to version {VERSION}")
    for name in header.get("halves", ()):
        arrays[name] = _whole(arrays[name])
    return arrays


def _symmetric(array: NDArray[Any]) -> bool:
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.dtype != np.float64:
        return False
    bits = np.ascontiguousarray(array).view(np.int64)
    return bool((bits == bits.T).all())


def _whole(half: NDArray[Any]) -> NDArray[Any]:
    n = (int((8 * len(half) + 1) ** 0.5) - 1) // 2
    whole = np.empty((n, n), half.dtype)
    rows, columns = _lower(n)
    whole[rows, columns] = half
    whole[columns, rows] = half
    return whole


@lru_cache(64)
def _lower(n: int) -> tuple[IntArray, IntArray]:
    """Rows and columns of the lower half of a matrix."""
    return np.tril_indices(n)
