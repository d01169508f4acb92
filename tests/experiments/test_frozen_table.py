import pickle

import numpy as np
import pytest

from rankfall import ProblemError
from rankfall.experiments.frozen_table import FrozenTable, canonical, freeze, merged, thaw


def test_a_table_never_changes_and_travels() -> None:
    given = {"a": [1, {"b": 2.0}], "c": {"d": True}}
    table = FrozenTable(given)
    given["a"][0] = 9  # type: ignore[index]
    assert table["a"] == (1, FrozenTable({"b": 2.0}))
    assert thaw(table) == {"a": [1, {"b": 2.0}], "c": {"d": True}}
    again = pickle.loads(pickle.dumps(table))
    assert again == table
    assert hash(again) == hash(table)
    assert not hasattr(table, "__setitem__")


def test_equal_values_have_one_text() -> None:
    assert canonical({"a": 1, "b": [2.5]}) == canonical(FrozenTable({"b": (2.5,), "a": 1.0}))
    assert canonical({"a": 1}) != canonical({"a": True})
    assert freeze(np.array([1.5, 2.0])) == (1.5, 2.0)


def test_what_toml_cannot_say_is_refused() -> None:
    for value in (None, object(), {"a": None}):
        with pytest.raises(ProblemError, match="cannot stand in a study"):
            freeze(value)
    with pytest.raises(ProblemError, match="names are text"):
        FrozenTable({1: 2})  # type: ignore[dict-item]


def test_a_value_takes_the_place_of_a_table_and_the_other_way_round() -> None:
    assert merged({"a": {"b": 1}}, {"a": 2}) == {"a": 2}
    assert merged({"a": 2}, {"a": {"b": 1}}) == FrozenTable({"a": {"b": 1}})
