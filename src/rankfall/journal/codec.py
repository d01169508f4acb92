"""Arrays and a header as one string of bytes, and back, exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Bytes from which :func:`unpack` gives back the header and the arrays.

    >>> header, arrays = unpack(pack({"who": "a"}, {"w": np.array([0.5, 1.0])}))
    >>> header, arrays["w"]
    ({'who': 'a'}, array([0.5, 1. ]))
    """
    shapes = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    text = json.dumps({"header": header, "arrays": shapes}).encode()
    blocks = (np.ascontiguousarray(array).tobytes() for array in arrays.values())
    return b"".join([len(text).to_bytes(8, "little"), text, *blocks])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays that were packed."""
    end = 8 + int.from_bytes(data[:8], "little")
    text = json.loads(data[8:end])
    arrays = {}
    for name, (dtype, shape) in text["arrays"].items():
        size = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, dtype, size, end).reshape(shape)
        end += size * np.dtype(dtype).itemsize
    return text["header"], arrays
