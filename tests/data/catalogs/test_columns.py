"""What a column is taken for, and what is said of rows that do not fit."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import FileError
from rankfall.click_logs.tables import table_of
from rankfall.data.catalogs.columns import MOST_LEVELS, WIDEST, look_at
from rankfall.recipe import Category, Embedding, Number


def look(values: list, kind: str | None = None):
    frame = pl.DataFrame({"c": values}, strict=False)
    return look_at(table_of(frame), frame["c"], kind)


SKEWED = np.exp(np.linspace(-2, 4, 100)).tolist()


@pytest.mark.parametrize(
    ("values", "kind", "feature"),
    [
        ([1, 2, 3], None, "c"),
        ([True, False], None, "c"),
        (["1.5", "2", None], None, "c"),
        (SKEWED, None, "log_c"),
        (SKEWED, "number", "c"),
        ([1, 2, 3], "log", "log_c"),
        ([0.0, *SKEWED], None, "log_c"),
        ([-value for value in SKEWED], None, "c"),
        (["a", "b", "a", "b"], None, "c=a"),
        ([1, 2, 1, 2], "category", "c=1"),
        ([[1.0, 2.0], [3.0, 4.0]], None, "c_0"),
        (["[1, 2]", "[3, 4]"], None, "c_0"),
    ],
)
def test_what_it_is_taken_for(values: list, kind: str | None, feature: str) -> None:
    found = look(values, kind)
    assert found.rule is not None, found.note
    assert found.rule.features[0] == feature
    assert np.isfinite(found.rule.values(found.cells)).all()


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([1, 1, 1], "the same for all items"),
        (["x", "x"], "the same for all items"),
        ([None, None], "empty"),
        (["2024-01-01", "2024-02-01"], "dates are not used"),
        ([f"story {n}" for n in range(9)], "9 different values for 9 items"),
        ([{"a": 1}], "type Struct"),
        ([[1.0, 2.0], [1.0, 2.0]], "the same for all items"),
    ],
)
def test_what_is_dropped(values: list, why: str) -> None:
    found = look(values)
    assert found.rule is None
    assert why in found.note


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=3, max_size=50))
def test_numbers_have_mean_0_and_deviation_1(values: list[float | None]) -> None:
    given_ = np.array([value for value in values if value is not None])
    found = look(values, "number") if len(given_) else None
    if found is None or found.rule is None or given_.std() < 1e-6:
        return
    assert isinstance(found.rule, Number)
    made = found.rule.values(found.cells)[:, 0]
    book = (given_ - given_.mean()) / given_.std()
    there = [row for row, value in enumerate(values) if value is not None]
    np.testing.assert_allclose(made[there], np.clip(book, -3, 3), atol=1e-6)
    assert all(made[row] == 0 for row, value in enumerate(values) if value is None)


def test_rare_levels_are_other() -> None:
    values = [f"l{n:02}" for n in range(30) for _ in range(10)] + ["once", None]
    rule = look(values).rule
    assert isinstance(rule, Category)
    assert len(rule.levels) == MOST_LEVELS
    made = rule.values(["l00", "once", None, "never seen"])
    assert made.argmax(axis=1).tolist() == [0, MOST_LEVELS, MOST_LEVELS, MOST_LEVELS]


def test_wide_vectors_are_turned_to_their_main_directions() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 40)) + 5.0
    found = look(flat.tolist())
    assert isinstance(found.rule, Embedding)
    assert len(found.rule.features) == WIDEST
    assert "100% of the variance" in found.note
    made = found.rule.values(found.cells)
    apart = flat - flat.mean(axis=0)
    np.testing.assert_allclose(
        made @ made.T * found.rule.scale**2, apart @ apart.T, atol=1e-8
    )  # as far apart as before
    assert np.isclose((made**2).sum(axis=1).mean(), 1.0)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "2", "n/a"], r"items.csv, line 4: c is 'n/a'; expected a number, or nothing\. --as c=category"),
        (["1", "n/a", "n/a", "4"], r"line 3: .*\(1 more rows are like it\)"),
        (["1", "inf"], "line 3: c is 'inf'; expected a finite number"),
        (["[1, 2]", "[1]"], "line 3: c has 1 numbers; expected 2"),
        (["[1, 2]", "[1, x]"], "line 3: c is '.1, x.'; expected a list"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, cells: list[str], message: str) -> None:
    path = tmp_path / "items.csv"
    pl.DataFrame({"id": list(range(len(cells))), "c": cells}).write_csv(path)
    table = table_of(path)
    with pytest.raises(FileError, match=message):
        look_at(table, table.collect(["c"])["c"])
