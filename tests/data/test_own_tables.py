"""Tables of your own."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from dataset_files import by_item, rated

from rankfall.data import tables
from rankfall.errors import FileError

RATED = pl.DataFrame({"who": ["b", "a", "a"], "what": [3, 3, 4], "stars": [5, 1, 2]})


THINGS = pl.DataFrame({"what": [3, 4], "called": ["Three", None], "about": [["x", "y", "x"], []]})


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_tables_of_your_own(tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        RATED.cast({"what": pl.Int16, "who": pl.Categorical}).write_parquet(tmp_path / "r.parquet")
        THINGS.write_parquet(tmp_path / "i.parquet")
    else:
        flat = THINGS.with_columns(pl.col("about").list.join("|"))
        for name, frame in (("r", RATED), ("i", flat)):
            frame.write_csv(tmp_path / f"{name}.{kind}", separator="," if kind == "csv" else "\t")
    given = {"user": "who", "item": "what", "rating": "stars", "title": "called", "topics": "about"}
    ratings = tables(tmp_path / f"r.{kind}", tmp_path / f"i.{kind}", **given)
    assert ratings.name == "r"
    assert rated(ratings) == [("b", 3, 5.0), ("a", 3, 1.0), ("a", 4, 2.0)]
    assert by_item(ratings) == {3: ("Three", ["x", "y"]), 4: ("", [])}
    assert ratings.counts().users.rows() == [("a", 2), ("b", 1)]


def test_what_is_wrong_with_tables(tmp_path: Path) -> None:
    ratings, items = tmp_path / "r.csv", tmp_path / "i.csv"
    items.write_text("item,topics\n1,x\n2,y\n")
    ratings.write_text("user,item,rating,more\nu,1,5,\n" + "u,1,5,\n" * 7 + "u,two,5,\n")
    with pytest.raises(FileError, match=r"r\.csv, line 10: 'u,two,5,'; expected .*item a whole number"):
        tables(ratings, items).counts()
    ratings.write_text("user,item,rating\n" + "1,1,5\n" * 1200 + "u,1,5\n")
    with pytest.raises(FileError, match=r"r\.csv, line 1202: 'u,1,5'; expected .*user a whole number"):
        tables(ratings, items).counts()
    ratings.write_text("user,item,stars\n1,1,5\n")
    with pytest.raises(FileError, match=r"r\.csv has no column 'rating'; it has \['user', 'item', 'stars'\]"):
        tables(ratings, items)
    with pytest.raises(FileError, match=r"i\.csv has no column 'genres'"):
        tables(ratings, items, rating="stars", topics="genres")
    items.write_text("item,topics\n1,x\n,y\n")
    with pytest.raises(FileError, match=r"i\.csv, row 2: column 'item' is empty"):
        tables(ratings, items, rating="stars")
    items.write_text("item,topics\n1,x\n2\n")
    with pytest.raises(FileError, match=r"i\.csv, line 3: '2'; expected 2 fields"):
        tables(ratings, items, rating="stars")
    with pytest.raises(FileError, match=r"expected a file named \.csv, \.tsv or \.parquet"):
        tables(tmp_path / "r.xlsx", tmp_path / "i.xlsx")
    with pytest.raises(FileError, match=r"no\.csv does not exist"):
        tables(ratings, tmp_path / "no.csv")


def test_what_is_wrong_with_parquet(tmp_path: Path) -> None:
    ratings, items = tmp_path / "r.parquet", tmp_path / "i.parquet"
    pl.DataFrame({"item": [1], "topics": [["x"]]}).write_parquet(items)
    pl.DataFrame({"user": [1, 2, None], "item": [1, 1, 1], "rating": [1.0, np.nan, 2.0]}).write_parquet(ratings)
    with pytest.raises(FileError, match=r"r\.parquet, row 2: user 2, item 1, rating nan; expected"):
        tables(ratings, items).counts()
    pl.DataFrame({"user": [1], "item": ["1"], "rating": [1.0]}).write_parquet(ratings)
    with pytest.raises(FileError, match=r"are String in .* and Int64 in"):
        tables(ratings, items)
    pl.DataFrame({"user": [1], "item": [1.5], "rating": [1.0]}).write_parquet(ratings)
    with pytest.raises(FileError, match="'item' is Float64; ids are whole numbers or strings"):
        tables(ratings, items)
    pl.DataFrame({"user": [1], "item": [1], "rating": ["good"]}).write_parquet(ratings)
    with pytest.raises(FileError, match="'rating' is String; expected numbers"):
        tables(ratings, items)
    ratings.write_text("not parquet")
    with pytest.raises(FileError, match=r"r\.parquet is not a readable Parquet file"):
        tables(ratings, items)
    with pytest.raises(FileError, match=r"x\.parquet does not exist"):
        tables(tmp_path / "x.parquet", items)
