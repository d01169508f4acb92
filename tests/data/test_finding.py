"""Data sets are found by name, folder or zip."""

import gc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from dataset_files import WRITERS, by_item, rated, write_csv, write_dat, write_r2

from rankfall.data import data_folder, find
from rankfall.data.datasets import EMBEDDED
from rankfall.errors import FileError


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    gc.collect()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("layout", WRITERS)
def test_a_zip_as_downloaded(tmp_path: Path, temporary: Path, layout: str) -> None:
    WRITERS[layout](tmp_path / "top")
    packed = tmp_path / f"{layout}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("top/", "")
        archive.writestr("top/tags.csv", "left alone")
        for path in sorted((tmp_path / "top").iterdir()):
            archive.write(path, f"top/{path.name}")
            archive.writestr(f"__MACOSX/top/._{path.name}", "noise")
    ratings, plain = find(packed), find(tmp_path / "top")
    assert ratings.name == layout
    assert "tags.csv" not in {path.name for path in temporary.rglob("*")}
    assert rated(ratings) == rated(plain)
    assert ratings.items.equals(plain.items)


def test_a_damaged_zip(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "no.zip").write_text("not a zip")
    with pytest.raises(FileError, match=r"cannot unpack .*no\.zip: File is not a zip file"):
        find(tmp_path / "no.zip")
    (tmp_path / "ratings.csv").write_text("user,item,rating\n")
    with pytest.raises(FileError, match=r"ratings\.csv is a table; give the table of its items too"):
        find(tmp_path / "ratings.csv")
    write_csv(tmp_path / "top")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for path in sorted((tmp_path / "top").iterdir()):
            archive.write(path, f"top/{path.name}")
    content = (tmp_path / "bad.zip").read_bytes().replace(b"Nothing", b"Nathing")
    (tmp_path / "bad.zip").write_bytes(content)
    with pytest.raises(FileError, match=r"cannot unpack .*Bad CRC-32 for file 'top/movies\.csv'"):
        find(tmp_path / "bad.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a/b.txt", "x")
    with pytest.raises(FileError, match=r"other\.zip holds no data set; looked for u\.data.*; found a/b\.txt"):
        find(tmp_path / "other.zip")


@pytest.mark.parametrize(
    ("layout", "file"), [("20m", "movies.csv"), ("1m", "ratings.dat"), ("r2", "genre-hierarchy.txt")]
)
def test_a_missing_file_is_among_those_looked_for(tmp_path: Path, layout: str, file: str) -> None:
    WRITERS[layout](tmp_path / "top")
    (tmp_path / "top" / file).unlink()
    with pytest.raises(FileError) as caught:
        find(tmp_path / "top")
    looked_for, found = str(caught.value).split("; found ")
    assert file in looked_for
    assert file not in found


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_with_plain_names(tmp_path: Path, kind: str) -> None:
    ratings = pl.DataFrame({"rating": [1.5, 2.0], "item": ["p", "q"], "user": [-2, 2]})
    items = pl.DataFrame({"item": ["p", "q"], "topics": ["x|y", None]})
    for name, frame in (("ratings", ratings), ("items", items)):
        getattr(frame, f"write_{kind}")(tmp_path / f"{name}.{kind}")
    found = find(tmp_path)
    assert rated(found) == [(-2, "p", 1.5), (2, "q", 2.0)]
    assert by_item(found) == {"p": ("p", ["x", "y"]), "q": ("q", [])}


def test_embedded_movielens_small() -> None:
    ratings = find("movielens-small")
    counts = ratings.counts()
    assert (counts.users.height, counts.items.height, counts.ratings) == (671, 9066, 100_004)
    assert ratings.items.height == 9125
    assert by_item(ratings)[1] == ("Toy Story (1995)", ["Adventure", "Animation", "Children", "Comedy", "Fantasy"])
    assert ratings.scan().filter(user=1, item=31).collect()["rating"].to_list() == [2.5]
    assert len(ratings.topics) == 20
    assert "unknown" in ratings.topics
    text = (EMBEDDED / "README.txt").read_text()
    assert "commercial or revenue-bearing purposes" in text
    assert "Harper" in text
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 1_000_000


def test_names_are_found_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKFALL_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    with pytest.raises(FileError, match=r"movielens-1m is not in .*; get it with: rankfall data get movielens-1m"):
        find("movielens-1m")
    with pytest.raises(FileError, match=r"yahoo-r2 is not at .*Webscope"):
        find("yahoo-r2")
    write_dat(tmp_path / "ml-1m", "latin-1")
    write_r2(tmp_path / "yahoo-r2")
    assert find("movielens-1m").name == "movielens-1m"
    assert find("yahoo-r2").counts().ratings == 7


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nonsense is neither a folder, nor a zip, nor a data set: movielens-small,"):
        find("nonsense")
    with pytest.raises(FileError, match=r"holds no data set; looked for u\.data \+ u\.item .*; found nothing"):
        find(tmp_path)
