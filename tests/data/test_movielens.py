"""MovieLens in each of its layouts, read to values counted by hand."""

from pathlib import Path

import pytest
from dataset_files import by_item, rated, write_100k, write_csv, write_dat

from rankfall.data import find
from rankfall.errors import CatalogError, FileError


def test_movielens_100k(tmp_path: Path) -> None:
    write_100k(tmp_path / "ml-100k")
    ratings = find(tmp_path / "ml-100k")
    assert ratings.name == "ml-100k"
    assert rated(ratings) == [(1, 10, 5.0), (1, 11, 3.0), (2, 10, 4.0)]
    assert by_item(ratings) == {
        10: ("Am\xe9lie (2001)", ["Comedy", "Romance"]),
        11: ("Heat: 2 (1995)", ["Action"]),
        12: ("unknown", ["unknown"]),
    }


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_movielens_1m_and_10m(tmp_path: Path, encoding: str) -> None:
    write_dat(tmp_path / "ml", encoding)
    ratings = find(tmp_path / "ml")
    assert rated(ratings) == [(1, 10, 5.0), (1, 11, 3.5), (2, 10, 4.0)]
    assert by_item(ratings) == {
        10: ("Am\xe9lie (2001)", ["Comedy", "Romance"]),
        11: ("Heat: 2 (1995)", ["Action"]),
        12: ("Odd::One (2000)", ["Drama"]),
    }


def test_movielens_20m_and_later(tmp_path: Path) -> None:
    write_csv(tmp_path / "with [brackets] *" / "ml-20m")  # not taken for a pattern; one folder down is found
    ratings = find(tmp_path / "with [brackets] *")
    assert rated(ratings) == [(1, 10, 5.0), (1, 11, 0.5), (2, 10, 4.0)]
    assert by_item(ratings) == {
        10: ("Fabuleux destin d'Am\xe9lie, Le (2001)", ["Comedy", "Romance"]),
        11: ('Say "Hi" (1995)', ["Action"]),
        12: ("Nothing (2000)", ["unknown"]),
    }
    assert ratings.topics == ("Action", "Comedy", "Romance", "unknown")
    assert "commercial" in ratings.terms
    assert "Harper" in ratings.citation


def test_a_long_line_is_shortened(tmp_path: Path) -> None:
    write_csv(tmp_path / "top")
    (tmp_path / "top" / "movies.csv").write_text("movieId,title,genres\n" + "x" * 5000)
    with pytest.raises(FileError, match=r"line 2: 'x{120}\.\.\.'; expected movieId,title,genres"):
        find(tmp_path / "top")


def test_an_item_listed_twice(tmp_path: Path) -> None:
    write_dat(tmp_path / "top", "utf-8")
    (tmp_path / "top" / "movies.dat").write_text("10::A::Drama\n10::B::Drama\n")
    with pytest.raises(CatalogError, match=r"movies\.dat: item 10 is listed 2 times"):
        find(tmp_path / "top")
