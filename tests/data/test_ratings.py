"""Counting ratings and picking the positive ones."""

from pathlib import Path

import polars as pl
import pytest
from dataset_files import write_csv, write_r2

from rankfall.data import find
from rankfall.errors import FileError


def test_counts_and_pairs(tmp_path: Path) -> None:
    write_r2(tmp_path / "r2")
    ratings = find(tmp_path / "r2")
    counts = ratings.counts()
    assert counts.users.rows() == [(0, 3), (1, 2), (7, 1), (8, 1)]
    assert counts.items.rows() == [(2, 3), (0, 2), (1, 2)]  # equal counts: the smaller id first
    assert counts.ratings == 7
    pairs = ratings.pairs(pl.Series([0, 1, 7]), pl.Series([0, 2]), threshold=5)
    assert sorted(pairs.rows()) == [(0, 0), (7, 2)]


def test_a_table_with_only_its_header_holds_no_ratings(tmp_path: Path) -> None:
    write_csv(tmp_path / "top")
    (tmp_path / "top" / "ratings.csv").write_text("userId,movieId,rating,timestamp\n")
    with pytest.raises(FileError, match="top holds no ratings"):
        find(tmp_path / "top").counts()
