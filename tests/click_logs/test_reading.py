"""What a click log may look like, and what is said of one that is wrong."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall.click_logs import ClickLog, read_click_log
from rankfall.errors import FileError, ProblemError

GOOD = {"list": ["a", "a"], "position": [1, 2], "item": [1, 2], "click": [0, 1]}
ROWS = "list,position,item,click\nx,1,a,0\nx,2,b,1\nx,3,c,1\ny,1,a,0\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def same(one: ClickLog, other: ClickLog) -> bool:
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("start", "item", "click"))
        and one.items.equals(other.items)
        and one.context.equals(other.context)
    )


# Formats


def test_a_list_may_have_several_clicks_or_none(tmp_path: Path) -> None:
    log = read_click_log(written(tmp_path / "clicks.csv", ROWS))
    assert [(one.name, one.items, one.clicked) for one in log] == [("x", ["a", "b", "c"], [1, 2]), ("y", ["a"], [])]


def test_one_log_is_the_same_in_every_format(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "list": [3, 3, 20, 20],
            "position": [1, 2, 1, 2],
            "item": [7, 8, 8, 7],
            "click": [True, False, True, True],
            "user": ["u", "u", None, None],
            "segment": ["s", "s", "t", "t"],
            "time": pl.Series([1.5, 1.5, 2.0, 2.0]),
            "propensity": [0.25, 0.25, None, None],
        }
    )
    frame.write_csv(tmp_path / "clicks.csv")
    frame.write_csv(tmp_path / "clicks.tsv", separator="\t")
    frame.write_parquet(tmp_path / "clicks.parquet")
    (tmp_path / "folder" / "deeper").mkdir(parents=True)
    frame[:1].write_parquet(tmp_path / "folder" / "1.parquet")
    frame[1:].write_parquet(tmp_path / "folder" / "deeper" / "2.parquet")
    expected = read_click_log(frame)
    for name in ("clicks.csv", "clicks.tsv", "clicks.parquet", "folder"):
        assert same(read_click_log(tmp_path / name), expected), name
        assert same(read_click_log(str(tmp_path / name)), expected), name
    other = {"list": "page", "item": "product", "time": "at"}
    frame.rename(other).with_columns(item=pl.lit("not this one")).write_csv(tmp_path / "other.csv")
    assert same(read_click_log(tmp_path / "other.csv", columns=other), expected)


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4)


@st.composite
def logs(draw: st.DrawFn) -> pl.DataFrame:
    """Rows of a click log in any order, with names and ids of all kinds."""
    names = draw(st.lists(draw(st.sampled_from([TEXT, st.integers(-(2**63), 2**63 - 1)])), min_size=1, unique=True))
    ids = draw(st.lists(draw(st.sampled_from([TEXT, st.integers(0, 99)])), min_size=1, max_size=5, unique=True))
    rows = []
    for name in names:
        shown = draw(st.permutations(ids))[: draw(st.integers(1, len(ids)))]
        rows += [(name, n, item, draw(st.booleans())) for n, item in enumerate(shown, 1)]
    return pl.DataFrame(draw(st.permutations(rows)), schema=["list", "position", "item", "click"], orient="row")


@settings(max_examples=60)
@given(logs(), st.sampled_from(["by_top", "by_list"]))
def test_any_log_is_read_row_by_row(frame: pl.DataFrame, mixed_rows: Any) -> None:
    log = read_click_log(frame, mixed_rows=mixed_rows)
    expected: dict[str, list[tuple[int, Any, bool]]] = {}
    for name, position, item, click in frame.iter_rows():
        expected.setdefault(str(name), []).append((position, item, click))
    assert {one.name for one in log} == set(expected)
    for one in log:
        _, items, clicks = zip(*sorted(expected[one.name]), strict=True)
        assert (tuple(one.items), one.clicked) == (items, [n for n, click in enumerate(clicks) if click])
    with tempfile.TemporaryDirectory() as folder:
        frame.write_csv(Path(folder) / "clicks.csv")
        text = read_click_log(Path(folder) / "clicks.csv", mixed_rows=mixed_rows)
    if text.items.dtype == log.items.dtype and text.context.schema == log.context.schema:
        assert same(text, log)


def test_rows_may_stand_in_any_order() -> None:
    frame = pl.DataFrame(
        {"list": [9, 1, 9, 1], "position": [2, 1, 1, 2], "item": ["b", "b", "a", "a"], "click": [0, 1, 1, 0]}
    )
    assert [one.name for one in read_click_log(frame)] == ["1", "9"]  # by their top items
    assert [one.name for one in read_click_log(frame[::-1])] == ["9", "1"]
    assert [one.name for one in read_click_log(frame[::-1], mixed_rows="by_list")] == ["1", "9"]
    assert [one.items for one in read_click_log(frame)] == [["b", "a"], ["a", "b"]]


def test_ids_in_text_are_numbers_if_all_are_written_so(tmp_path: Path) -> None:
    path = written(tmp_path / "clicks.csv", "list,position,item,click\n7,1,10,0\n7,2,9,1\n")
    assert read_click_log(path).items.to_list() == [9, 10]
    assert read_click_log(path, whole_ids=False).items.to_list() == ["10", "9"]
    assert read_click_log(path).context["list"].dtype == pl.Int64
    written(path, "list,position,item,click\n7,1,10,0\n7,2,009,1\n")
    assert read_click_log(path).items.to_list() == ["009", "10"]
    assert read_click_log(path, whole_ids=True).items.to_list() == [9, 10]


def test_categories_are_text() -> None:
    frame = pl.DataFrame(GOOD).with_columns(item=pl.Series(["y", "x"], dtype=pl.Categorical))
    assert next(iter(read_click_log(frame))).items == ["y", "x"]


@pytest.mark.parametrize("moment", ["2026-01-31T12:00:00Z", "2026-01-31 12:00:00", "1769860800", "1769860800.0"])
def test_times_in_text_are_read(tmp_path: Path, moment: str) -> None:
    rows = f"list,position,item,click,time\n7,1,007,true,{moment}\n7,2,x,0,{moment}\n"
    (one,) = read_click_log(written(tmp_path / "clicks.csv", rows))
    assert (one.items, one.clicked, one.time) == (["007", "x"], [0], 1769860800.0)


def test_times_in_a_zone_are_moments(tmp_path: Path) -> None:
    noon = pl.Series("time", ["2026-01-31T12:00:00Z"] * 2).str.to_datetime(time_zone="UTC")
    for times in (
        noon.dt.convert_time_zone("Asia/Tokyo"),
        noon.dt.replace_time_zone(None),
        noon.cast(pl.Datetime("ms")),
    ):
        pl.DataFrame({**GOOD, "time": times}).write_parquet(tmp_path / "clicks.parquet")
        assert read_click_log(tmp_path / "clicks.parquet").context["time"].to_list() == [1769860800.0]


# What is wrong


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"item": None}, " has no column 'item'; needed are list, position, item, click; it has list, position, click"),
        ({"position": [1, 1]}, ", row 2: list 'a' has a position twice; expected positions 1, 2, ... 2, got 1, 1"),
        ({"position": [1, 3]}, ", row 2: list 'a' has a gap; expected positions 1, 2, ... 2, got 1, 3"),
        ({"position": [0, 1]}, ", row 1: list 'a' has a gap; expected positions 1, 2, ... 2, got 0, 1"),
        ({"item": [2, 2]}, ", row 2: list 'a' has item 2 twice; expected different items"),
        ({"item": ["x", "y"]}, ": column 'item' is String; expected whole numbers"),
        ({"position": [1.0, 2.0]}, ": column 'position' is Float64; expected whole numbers"),
        ({"click": [0, 2]}, ", row 2: click is 2; expected 0 or 1"),
        ({"click": [0.0, 0.5]}, ", row 2: click is 0.5; expected 0 or 1"),
        ({"click": ["0", "yes"]}, ", row 2: click is 'yes'; expected 0 or 1"),
        ({"click": [[0], [1]]}, ": column 'click' is List(Int64); expected 0 or 1"),
        ({"click": [0, None]}, ", row 2: column 'click' is empty"),
        ({"list": [1.5, 1.5]}, ": column 'list' is Float64; expected text or whole numbers"),
        ({"user": ["u", "v"]}, ", row 2: list 'a' has more than one user: 'u' and 'v'; expected the same in all"),
        ({"segment": [None, "v"]}, ", row 2: list 'a' has more than one segment: None and 'v'"),
        ({"user": ["\n", "\n"]}, ", row 1: user is '\\n'; expected 1 to 200 printable characters"),
        ({"time": ["noon", "noon"]}, ", row 1: time is 'noon'; expected a time such as 2026-01-31T12:00:00Z, or"),
        ({"time": [-1, -1]}, ", row 1: time is -1; expected a time such as"),
        ({"time": [True, True]}, ": column 'time' is Boolean; expected a time such as"),
        ({"propensity": [0.5, 0.0]}, ", row 2: propensity is 0.0; expected a probability above 0 and up to 1"),
        ({"propensity": ["x", "x"]}, ": column 'propensity' is String; expected a probability above 0 and up to 1"),
        ({name: [] for name in GOOD}, " has no rows"),
    ],
)
def test_what_is_wrong_with_a_click_log_is_said(tmp_path: Path, columns: dict[str, object], said: str) -> None:
    frame = pl.DataFrame({name: values for name, values in (GOOD | columns).items() if values is not None})
    path = tmp_path / "clicks.parquet"
    frame.write_parquet(path)
    for source, name in ((path, str(path)), (frame, "the log")):
        with pytest.raises(FileError) as caught:
            read_click_log(source, whole_ids=True)
        assert f"{name}{said}" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x,3,c,2", "line 4: click is '2'; expected 0 or 1"),
        ("x,three,c,1", "line 4: position is 'three'; expected a whole number"),
        ("x,4,c,1", "line 4: list 'x' has a gap; expected positions 1, 2, ... 3, got 1, 2, 4"),
        ("x,2,c,1", "line 4: list 'x' has a position twice"),
        (",3,c,1", "line 4: column 'list' is empty"),
        ("x,3,c", "line 4: 3 fields; expected 4: list, position, item, click"),
        ("x,3,c,1,9", "line 4: 5 fields; expected 4: list, position, item, click"),
        ("", "line 4: 0 fields; expected 4: list, position, item, click"),
        ('"x\n",1,c,1\nx,3,c,?', "line 6: click is '?'; expected 0 or 1"),
        ('x,3,"c,1', "line 4 or below: unexpected end of data; expected CSV in UTF-8"),
    ],
)
def test_lines_of_a_csv_are_named(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path / "clicks.csv", ROWS.replace("x,3,c,1", line))
    with pytest.raises(FileError) as caught:
        read_click_log(path)
    assert str(caught.value).startswith(f"{path}, {said}")


def test_an_item_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="line 2: item is 'a'; expected a whole number"):
        read_click_log(written(tmp_path / "clicks.csv", ROWS), whole_ids=True)
    with pytest.raises(FileError, match="column 'item' is Int64; expected text, as ids of the catalog are"):
        read_click_log(pl.DataFrame(GOOD), whole_ids=False)


def test_rows_of_a_folder_are_named_by_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"list": range(6), "position": [1] * 6, "item": range(6), "click": [0, 1, 0, 1, 7, 0]})
    for n in range(3):
        frame[2 * n : 2 * n + 2].write_parquet(tmp_path / f"{n}.parquet")
    with pytest.raises(FileError, match=r"2\.parquet, row 1: click is 7"):
        read_click_log(tmp_path)


def test_columns_by_other_names_must_be_there(tmp_path: Path) -> None:
    path = written(tmp_path / "clicks.csv", ROWS)
    with pytest.raises(FileError, match=r"has no column 'product'.*--column item=NAME says which"):
        read_click_log(path, columns={"item": "product"})
    with pytest.raises(FileError, match="has no column 'when'"):
        read_click_log(path, columns={"time": "when"})
    with pytest.raises(FileError, match="a click log has no 'price'; its columns are list, position"):
        read_click_log(path, columns={"price": "click"})
    with pytest.raises(FileError, match="is not an export of rankfall, so it does not say which model"):
        read_click_log(path, model="default")


def test_no_click_log_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, text, said in (
        ("a.csv", None, "a.csv does not exist"),
        ("a.parquet", None, "a.parquet does not exist"),
        ("b.parquet", "x", "not a readable Parquet file"),
        ("c.csv", "", "c.csv is empty; expected a line with the names of the columns first"),
        ("empty", None, "is a folder without Parquet files; give a .csv, .tsv or .parquet file"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(FileError, match=said):
            read_click_log(tmp_path / name)
    (tmp_path / "d.csv").write_bytes(b"list,position,item,click\n1,1,\xff,0\n")
    with pytest.raises(FileError, match="expected CSV in UTF-8"):
        read_click_log(tmp_path / "d.csv")
    with pytest.raises(ProblemError, match="from a path or a polars frame, got list"):
        read_click_log([1, 2])  # type: ignore[arg-type]
