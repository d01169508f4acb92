from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankfall import Catalog, CatalogError, FileError

X = [[0.9, 0.0], [0.8, 0.1], [0.0, 0.5]]
Z = [[1.0, -2.0, 0.5], [0.0, 0.0, 0.0], [3.0, 1.0, 1.0]]


def catalog(**changes: object) -> Catalog:
    given = {"coverage": X, "relevance": Z, "ids": ["a", "b", "c"], "titles": ["A", "B", "C"], "topics": ["t", "u"]}
    return Catalog(**{**given, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coverage": [[0.5, np.nan], [0, 0], [0, 0]]}, r"coverage holds nan at \[0, 1\]"),
        ({"relevance": [[1, 2, 3], [4, 5, np.inf], [0, 0, 0]]}, r"relevance holds inf at \[1, 2\]"),
        ({"coverage": [[0.5, 1.5], [0, 0], [0, 0]]}, r"coverage is 1.5 at row 0, topic 1.*\[0, 1\]"),
        ({"coverage": [[-0.1, 0], [0, 0], [0, 0]]}, r"coverage is -0.1"),
        ({"coverage": [0.5, 0.5, 0.5]}, r"coverage must have 2 axes, got shape \(3,\)"),
        ({"coverage": [[0.5, 0.5], [0.5]]}, "rectangular"),
        ({"coverage": [["x", "y"]] * 3}, "coverage must be numbers"),
        ({"coverage": X[:2]}, "coverage has 2 rows and relevance 3"),
        ({"coverage": None, "relevance": None, "ids": None}, "needs coverage, relevance or ids"),
        ({"ids": ["a", "b"]}, "2 ids for 3 items"),
        ({"ids": ["a", "b", "a"]}, "id 'a' is given to more than one item"),
        ({"ids": ["a", "b", 3]}, "all whole numbers or all strings"),
        ({"ids": [1.5, 2.5, 3.5]}, "id 1.5 is a float"),
        ({"ids": [None, 1, 2]}, "id None is a NoneType"),
        ({"ids": [True, 1, 2]}, "id True is a bool"),
        ({"ids": [1, 2, 2**70]}, "64 bits"),
        ({"titles": ["A", "B"]}, "2 titles, expected 3"),
        ({"titles": ["A", "B", 3]}, "titles must be strings, got 3"),
        ({"topics": ["t"]}, "1 topics, expected 2"),
        ({"topics": ["t", "t"]}, "different names"),
        ({"topics": "tu"}, "one string"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, object], message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        catalog(**changes)


def test_it_cannot_be_changed_from_outside() -> None:
    source = np.array(X)
    made = catalog(coverage=source)
    source[0, 0] = 0.1
    assert made.coverage[0, 0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        made.coverage[0, 0] = 0.1


def test_ids_alone(tmp_path: Path) -> None:
    bare = Catalog(ids=["a", "b"], titles=["A", "B"])
    assert (len(bare), bare.n_topics, bare.n_features) == (2, 0, 0)
    bare.write_parquet(tmp_path / "bare.parquet")
    assert Catalog.read_parquet(tmp_path / "bare.parquet") == bare
    assert Catalog.from_frame(pl.DataFrame({"id": ["a", "b"], "name": ["A", "B"]}), title="name") == bare
    assert bare.add(Catalog(ids=["c"], titles=["C"])).ids == ("a", "b", "c")
    pl.DataFrame({"id": ["a"]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(FileError, match=r"use Catalog\.from_frame"):
        Catalog.read_parquet(tmp_path / "other.parquet")


@pytest.mark.parametrize("block", ["coverage", "relevance"])
def test_either_block_may_be_absent(block: str) -> None:
    made = Catalog(**{block: [[0.5], [0.25]]})  # type: ignore[arg-type]
    assert len(made) == 2
    assert (made.n_topics, made.n_features) == ((1, 0) if block == "coverage" else (0, 1))


def test_defaults() -> None:
    made = Catalog(coverage=X)
    assert made.ids == (0, 1, 2)
    assert made.topics == ("topic 0", "topic 1")
    assert made.titles is None
    assert made.title(2) == "2"


def test_items_come_change_and_go_and_ids_keep_their_meaning() -> None:
    first = catalog()
    new = Catalog([[0.3, 0.3]], [[7.0, 7.0, 7.0]], ids=["d"], titles=["D"], topics=["t", "u"])
    changed = Catalog([[0.2, 0.2]], [[9.0, 9.0, 9.0]], ids=["b"], titles=["B2"], topics=["t", "u"])
    last = first.add(new).replace(changed).withdraw(["a"])
    assert last.ids == ("b", "c", "d")
    assert last.titles == ("B2", "C", "D")
    assert last.relevance[last.rows(["b"])[0]].tolist() == [9.0, 9.0, 9.0]
    assert last.coverage[last.rows(["c"])[0]].tolist() == X[2]
    assert first.ids == ("a", "b", "c")
    assert last.lineage == first.lineage != new.lineage


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.add(c), "id 'a' is in the catalog already"),
        (lambda c: c.replace(catalog(ids=["a", "b", "x"])), "no item with id 'x'"),
        (lambda c: c.withdraw(["x"]), "no item with id 'x'"),
        (lambda c: c.withdraw([["a"]]), r"no item with id \['a'\]"),
        (lambda c: c.add(catalog(ids=["d", "e", "f"], topics=["t", "v"])), "do not fit"),
        (lambda c: c.add(catalog(ids=["d", "e", "f"], titles=None)), "titles to both or neither"),
        (lambda c: c.add(catalog(ids=[1, 2, 3])), "all whole numbers or all strings"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(change: object, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        change(catalog())  # type: ignore[operator]


@given(
    coverage=hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(0, 3)), elements=st.floats(0, 1)),
    data=st.data(),
)
def test_parquet_round_trip(
    tmp_path_factory: pytest.TempPathFactory, coverage: np.ndarray, data: st.DataObject
) -> None:
    n = len(coverage)
    width = data.draw(st.integers(0 if coverage.shape[1] else 1, 3))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    relevance = data.draw(hnp.arrays(np.float64, (n, width), elements=finite))
    text = st.text(st.characters(codec="utf-8"))
    some = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n, unique=True)
    ids = data.draw(some | st.lists(text, min_size=n, max_size=n, unique=True))
    titles = data.draw(st.none() | st.lists(text, min_size=n, max_size=n))
    topics = data.draw(st.lists(text, min_size=coverage.shape[1], max_size=coverage.shape[1], unique=True))
    made = Catalog(coverage, relevance, ids=ids, titles=titles, topics=topics)
    path = tmp_path_factory.mktemp("round") / "catalog.parquet"
    made.write_parquet(path)
    again = Catalog.read_parquet(path)
    assert again == made
    assert again.lineage == made.lineage


def test_reading_what_is_not_a_catalog(tmp_path: object) -> None:
    path = tmp_path / "file.parquet"  # type: ignore[operator]
    with pytest.raises(FileError, match="does not exist"):
        Catalog.read_parquet(path)
    path.write_bytes(b"no parquet at all")
    with pytest.raises(FileError, match="not a readable Parquet file"):
        Catalog.read_parquet(path)
    pl.DataFrame({"id": [1], "genre": ["x"]}).write_parquet(path)
    with pytest.raises(FileError, match="from_frame"):
        Catalog.read_parquet(path)


@pytest.mark.parametrize("library", [pl, pd])
@pytest.mark.parametrize(
    "topics",
    [
        [["Drama", "War"], ["War"], []],
        ["Drama|War", "War", ""],
        [{"Drama": 1.0, "War": 1.0}, {"War": 1.0}, {}],
    ],
)
def test_from_frame(library: object, topics: list[object]) -> None:
    columns = {"movie": [10, 20, 30], "name": ["x", "y", "z"], "f": [1, 2, 3], "g": [0.5, 0.25, 0.125], "t": topics}
    frame = library.DataFrame(columns)  # type: ignore[attr-defined]
    made = Catalog.from_frame(frame, id="movie", title="name", topics="t", features=["g", "f"], topic_weight=1.0)
    assert made.features == ("g", "f")
    assert made.ids == (10, 20, 30)
    assert made.titles == ("x", "y", "z")
    assert made.topics == ("Drama", "War")
    assert made.coverage.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert made.relevance.tolist() == [[0.5, 1], [0.25, 2], [0.125, 3]]


def test_from_frame_with_weights_in_order_and_with_weight_for_names() -> None:
    frame = pl.DataFrame({"id": [1, 2], "w": [[0.5, 0.0], [0.0, 0.25]], "names": [["b"], ["b", "a"]]})
    made = Catalog.from_frame(frame, topics="w", topic_names=["b", "a"])
    assert made.topics == ("b", "a")
    assert made.coverage.tolist() == [[0.5, 0], [0, 0.25]]
    half = Catalog.from_frame(frame, topics="names", topic_weight=0.5)
    assert half.coverage.tolist() == [[0, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": "nope"}, "no column 'nope'"),
        ({"id": "nope", "topics": "w"}, "no column 'nope'"),
        ({"topics": "w"}, "give topic_names"),
        ({"topics": "w", "topic_names": ["a"]}, "2 weights for 1 topic_names"),
        ({"topics": "names", "topic_names": ["a"]}, "topic 'b' occurs"),
        ({"features": ["gap"]}, "missing values"),
        ({"features": ["names"]}, "names must be numbers"),
    ],
)
def test_from_frame_says_what_is_missing(options: dict[str, object], message: str) -> None:
    frame = pl.DataFrame({"id": [1, 2], "w": [[0.5, 0.0], [0.0, 0.25]], "names": [["b"], ["a"]], "gap": [1.0, None]})
    with pytest.raises(CatalogError, match=message):
        Catalog.from_frame(frame, **options)  # type: ignore[arg-type]
