"""The one container for arrays: arrays by name and a JSON header, as one string of bytes, exactly.

::

    8 bytes   RANKFALL
    4 bytes   CRC-32 of everything after it, little-endian, as is the length
    4 bytes   length of the text
    text      JSON: {"header": ..., "arrays": {name: [dtype, shape], ...}}
    arrays    one after the other, each at a multiple of 64 bytes

Saved policies, prepared data, catalogs and checkpoints are all written so. Nothing in it is ever executed. What version
0.1.0 wrote into stores (a length of 8 bytes, the text, the arrays, without a check) is read as well.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"RANKFALL"
_ALIGNED = 64
_BEGIN = len(MAGIC) + 4  # the CRC is of what begins here


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Bytes from which :func:`unpack` gives back the header and the arrays.

    >>> header, arrays = unpack(pack({"who": "a"}, {"w": np.array([0.5, 1.0])}))
    >>> header, arrays["w"]
    ({'who': 'a'}, array([0.5, 1. ]))
    """
    shapes = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    text = json.dumps({"header": header, "arrays": shapes}).encode()
    parts = [len(text).to_bytes(4, "little"), text]
    end = _BEGIN + 4 + len(text)
    for array in arrays.values():
        start = _aligned(end)
        parts += [bytes(start - end), np.ascontiguousarray(array).tobytes()]
        end = start + array.nbytes
    body = b"".join(parts)
    return b"".join([MAGIC, zlib.crc32(body).to_bytes(4, "little"), body])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays that were packed, the arrays as read-only views; raises ValueError for other bytes.

    >>> unpack(b"RANKFALL and something else")
    Traceback (most recent call last):
    ValueError: the bytes are damaged: their check sum does not fit
    """
    if data.startswith(MAGIC):
        if zlib.crc32(memoryview(data)[_BEGIN:]) != int.from_bytes(data[len(MAGIC) : _BEGIN], "little"):
            raise ValueError("the bytes are damaged: their check sum does not fit")
        start, size, aligned = _BEGIN + 4, int.from_bytes(data[_BEGIN : _BEGIN + 4], "little"), _aligned
    else:
        start, size, aligned = 8, int.from_bytes(data[:8], "little"), _as_it_is
    end = start + size
    text = json.loads(data[start:end])
    arrays = {}
    for name, (dtype, shape) in text["arrays"].items():
        begin, count = aligned(end), int(np.prod(shape))
        arrays[name] = np.frombuffer(data, dtype, count, begin).reshape(shape)
        end = begin + count * np.dtype(dtype).itemsize
    return text["header"], arrays


def _aligned(place: int) -> int:
    return -(-place // _ALIGNED) * _ALIGNED


def _as_it_is(place: int) -> int:
    return place
