"""States as bytes: nothing twice, and every bit."""

import numpy as np
import pytest

from rankfall.array_container import pack
from rankfall.policies.forgetting import Discount, Forgetting, Window
from rankfall.policies.linear.ridge import Ridge
from rankfall.service.packed_states import pack_state, unpack_state


def learned(columns: int, forgetting: Forgetting | None = None) -> dict[str, np.ndarray]:
    rng, model = np.random.default_rng(columns), Ridge(columns, forgetting)
    for n in range(40):
        features = rng.normal(size=(5, columns)) * (rng.random((5, columns)) < 0.4)  # most are zero, as topics are
        model.learn(features, np.eye(5)[n % 5])
    return model.arrays()


def bits(arrays: dict[str, np.ndarray]) -> dict[str, tuple[tuple[int, ...], bytes]]:
    return {name: (array.shape, array.tobytes()) for name, array in arrays.items()}


@pytest.mark.parametrize("forgetting", [None, Discount(0.9), Window(7)])
@pytest.mark.parametrize("columns", [1, 2, 28])
def test_every_bit_comes_back(columns: int, forgetting: Forgetting | None) -> None:
    arrays = learned(columns, forgetting)
    assert bits(unpack_state(pack_state(arrays))) == bits(arrays)


@pytest.mark.parametrize("columns", [28, 100])
def test_a_symmetric_matrix_is_kept_by_half(columns: int) -> None:
    arrays = learned(columns)
    whole = sum(array.nbytes for array in arrays.values())
    assert len(pack_state(arrays)) < 0.6 * whole


def test_what_is_not_quite_symmetric_is_kept_whole() -> None:
    zero = {"gram": np.array([[1.0, 0.0], [-0.0, 1.0]])}
    wide = {"gram": np.zeros((2, 3)), "counts": np.zeros((2, 2), dtype=np.int64)}
    nothing = {"gram": np.zeros((0, 0))}
    for arrays in (zero, wide, nothing):
        assert bits(unpack_state(pack_state(arrays))) == bits(arrays)


def test_states_of_earlier_and_of_later_versions() -> None:
    arrays = learned(3)
    assert bits(unpack_state(pack({"version": 1}, arrays))) == bits(arrays)
    assert bits(unpack_state(pack({}, arrays))) == bits(arrays)  # as 0.1.0 had it
    with pytest.raises(ValueError, match="it has version 9; this one reads up to version 2"):
        unpack_state(pack({"version": 9}, arrays))
