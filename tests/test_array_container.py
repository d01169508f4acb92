"""Arrays come back exactly from their container, and damage is noticed."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall.array_container import pack, unpack

ARRAYS = {"a": np.array([[np.pi, -0.0]]), "none": np.zeros((0, 3)), "n": np.array(7), "i": np.arange(3)[::-1]}
HEADER = {"topics": ["ü", "\ud800"]}


def check(data: bytes) -> None:
    header, back = unpack(data)
    assert header == HEADER
    assert list(back) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()


def test_packing_is_exact() -> None:
    check(pack(HEADER, ARRAYS))


def test_arrays_are_aligned_and_read_only() -> None:
    data = pack({"a": 1}, {"first": np.arange(3, dtype=np.uint8), "second": np.arange(4.0)})
    second = unpack(data)[1]["second"]
    assert data.index(second.tobytes()) % 64 == 0
    assert not second.flags.writeable


def test_what_0_1_0_packed_is_read() -> None:
    """A length of 8 bytes, the text, the arrays: no check sum, nothing between."""
    shapes = {name: [array.dtype.str, array.shape] for name, array in ARRAYS.items()}
    text = json.dumps({"header": HEADER, "arrays": shapes}).encode()
    blocks = (np.ascontiguousarray(array).tobytes() for array in ARRAYS.values())
    check(b"".join([len(text).to_bytes(8, "little"), text, *blocks]))


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place: int, flip: int) -> None:
    data = bytearray(pack(HEADER, ARRAYS))
    data[place % len(data)] ^= flip
    with pytest.raises((ValueError, KeyError, TypeError)):
        unpack(bytes(data))


@given(st.integers(0, 10_000))
def test_a_part_is_not_enough(length: int) -> None:
    data = pack(HEADER, ARRAYS)
    with pytest.raises((ValueError, KeyError, TypeError)):
        unpack(data[: length % len(data)])
