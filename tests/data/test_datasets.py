"""Every layout, written here as small real files, is read to values counted by hand."""

import gc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import platformdirs
import polars as pl
import pytest

from rankfall.data import DATASETS, Ratings, data_folder, dataset_called, find, tables
from rankfall.data.datasets import EMBEDDED
from rankfall.errors import CatalogError, FileError, ProblemError

FLAGS = 19


def flags(*places: int) -> str:
    return "|".join("1" if place in places else "0" for place in range(FLAGS))


def write_100k(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "u.data").write_text("1\t10\t5\t881250949\n1\t11\t3\t891717742\n2\t10\t4\t878887116\n")
    movies = (
        f"10|Am\xe9lie (2001)|01-Jan-2001||http://x/?a|{flags(5, 14)}\n11|Heat: 2 (1995)|01-Jan-1995|||{flags(1)}\n"
    )
    (folder / "u.item").write_bytes((movies + f"12|unknown||||{flags(0)}\n").encode("latin-1"))


def write_dat(folder: Path, encoding: str) -> None:
    folder.mkdir(parents=True)
    (folder / "ratings.dat").write_text("1::10::5::978300760\n1::11::3.5::978302109\n2::10::4::978301968\n")
    movies = "10::Am\xe9lie (2001)::Comedy|Romance\n11::Heat: 2 (1995)::Action\n12::Odd::One (2000)::Drama\n"
    (folder / "movies.dat").write_bytes(movies.encode(encoding))


def write_csv(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n1,10,5.0,1260759144\n1,11,0.5,1260759179\n2,10,4.0,1260759182\n"
    )
    (folder / "movies.csv").write_text(
        'movieId,title,genres\n10,"Fabuleux destin d\'Am\xe9lie, Le (2001)",Comedy|Romance\n'
        '11,"Say ""Hi"" (1995)",Action\n'
        "12,Nothing (2000),(no genres listed)\n",
        encoding="utf-8",
    )


def write_r2(folder: Path, train: str = "train_{}.txt", first: int = 0) -> None:
    folder.mkdir(parents=True)
    (folder / train.format(first)).write_text("0\t0\t5\n0\t1\t1\n1\t0\t3\n")
    (folder / train.format(first + 1)).write_text("7\t2\t5\r\n8\t2\t4\r\n")
    (folder / train.format(first).replace("train", "test")).write_text("0\t2\t2\n1\t1\t5")
    (folder / "song-attributes.txt").write_text("0\t100\t5\t3\n1\t100\t5\t0\n2\t9\t6\t4\n3\t9\t6\t1\n")
    (folder / "genre-hierarchy.txt").write_text(
        "0\t0\t1\tUnknown\n1\t1\t1\tElectronic/Dance\n2\t1\t2\tAmbient\n3\t2\t3\tAmbient Dub\n4\t4\t1\tRock\n"
    )


def rated(ratings: Ratings) -> list[tuple[object, ...]]:
    return ratings.scan().collect().rows()


def by_item(ratings: Ratings) -> dict[object, tuple[str, list[str]]]:
    return {row["item"]: (row["title"], row["topics"]) for row in ratings.items.iter_rows(named=True)}


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


@pytest.mark.parametrize(("train", "first"), [("train_{}.txt", 0), ("train-{}.txt", 1)])
def test_yahoo_r2(tmp_path: Path, train: str, first: int) -> None:
    write_r2(tmp_path / "r2", train, first)
    ratings = find(tmp_path / "r2")
    assert sorted(rated(ratings)) == [
        (0, 0, 5.0),
        (0, 1, 1.0),
        (0, 2, 2.0),
        (1, 0, 3.0),
        (1, 1, 5.0),
        (7, 2, 5.0),
        (8, 2, 4.0),
    ]
    topics = {item: names for item, (_, names) in by_item(ratings).items()}
    assert topics == {0: ["Electronic/Dance"], 1: ["Unknown"], 2: ["Rock"], 3: ["Electronic/Dance"]}
    assert ratings.items["title"].to_list() == ["song 0", "song 1", "song 2", "song 3"]


def test_counts_and_pairs(tmp_path: Path) -> None:
    write_r2(tmp_path / "r2")
    ratings = find(tmp_path / "r2")
    counts = ratings.counts()
    assert counts.users.rows() == [(0, 3), (1, 2), (7, 1), (8, 1)]
    assert counts.items.rows() == [(2, 3), (0, 2), (1, 2)]  # equal counts: the smaller id first
    assert counts.ratings == 7
    pairs = ratings.pairs(pl.Series([0, 1, 7]), pl.Series([0, 2]), threshold=5)
    assert sorted(pairs.rows()) == [(0, 0), (7, 2)]


WRITERS: dict[str, Callable[[Path], None]] = {
    "100k": write_100k,
    "1m": lambda folder: write_dat(folder, "latin-1"),
    "20m": write_csv,
    "r2": write_r2,
}


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
    ("layout", "file", "line", "text"),
    [
        ("20m", "ratings.csv", 3, "1,11,x,1260759179"),
        ("20m", "ratings.csv", 3, "1,11"),
        ("20m", "ratings.csv", 3, "1,11,3.5,1260759179,2,10,4.0,1260759182"),
        ("20m", "ratings.csv", 3, "1,11,nan,1260759179"),
        ("20m", "ratings.csv", 3, "1,11,55,1260759179"),
        ("20m", "ratings.csv", 3, "one,11,5,1260759179"),
        ("20m", "ratings.csv", 3, ""),
        ("20m", "ratings.csv", 1, "user,movie,stars,when"),
        ("20m", "movies.csv", 1, "id,name,kinds"),
        ("20m", "movies.csv", 3, "11,Heat"),
        ("20m", "movies.csv", 3, "eleven,Heat,Action"),
        ("1m", "ratings.dat", 2, "1::11::"),
        ("1m", "ratings.dat", 1, "1:11:3:978302109"),
        ("1m", "ratings.dat", 2, "1::11::3::978302109::4"),
        ("1m", "ratings.dat", 2, "1:x:11::3::978302109"),
        ("1m", "movies.dat", 2, "11::Heat"),
        ("100k", "u.data", 3, "2\t10\t4"),
        ("100k", "u.data", 3, "2\t10\t0\t878887116"),
        ("100k", "u.item", 2, "11|Heat|01-Jan-1995||x|0|1"),
        ("r2", "train_0.txt", 2, "0\t1"),
        ("r2", "train_0.txt", 1, "0\t1"),
        ("r2", "train_1.txt", 2, "8\t2\t6"),
        ("r2", "test_0.txt", 1, "0\t2\t2\t1"),
        ("r2", "song-attributes.txt", 2, "1\t100\t5"),
        ("r2", "song-attributes.txt", 4, "3\t9\t6\t77"),
        ("r2", "genre-hierarchy.txt", 3, "2\t1\ttwo\tAmbient"),
        ("r2", "genre-hierarchy.txt", 3, "2\t9\t2\tAmbient"),
        ("r2", "genre-hierarchy.txt", 3, "2\t3\t2\tAmbient"),
    ],
)
def test_a_line_that_does_not_parse_is_named(tmp_path: Path, layout: str, file: str, line: int, text: str) -> None:
    WRITERS[layout](tmp_path / "top")
    path = tmp_path / "top" / file
    old = path.read_bytes().split(b"\n")
    old[line - 1] = text.encode()
    path.write_bytes(b"\n".join(old))
    with pytest.raises(FileError) as caught:
        find(tmp_path / "top").counts()
    said = str(caught.value)
    assert said.startswith(f"{path}, line {line}: {text!r}; expected ")


def test_a_long_line_is_shortened(tmp_path: Path) -> None:
    write_csv(tmp_path / "top")
    (tmp_path / "top" / "movies.csv").write_text("movieId,title,genres\n" + "x" * 5000)
    with pytest.raises(FileError, match=r"line 2: 'x{120}\.\.\.'; expected movieId,title,genres"):
        find(tmp_path / "top")


@pytest.mark.parametrize(
    ("layout", "file", "message"),
    [
        ("20m", "ratings.csv", r"ratings\.csv is empty"),
        ("20m", "movies.csv", r"movies\.csv holds no movies"),
        ("1m", "ratings.dat", "holds no ratings|cannot read"),
        ("100k", "u.item", r"u\.item holds no movies"),
        ("r2", "song-attributes.txt", r"song-attributes\.txt holds no songs"),
    ],
)
def test_an_empty_file(tmp_path: Path, layout: str, file: str, message: str) -> None:
    WRITERS[layout](tmp_path / "top")
    (tmp_path / "top" / file).write_bytes(b"")
    with pytest.raises(FileError, match=message):
        find(tmp_path / "top").counts()


def test_a_table_with_only_its_header_holds_no_ratings(tmp_path: Path) -> None:
    write_csv(tmp_path / "top")
    (tmp_path / "top" / "ratings.csv").write_text("userId,movieId,rating,timestamp\n")
    with pytest.raises(FileError, match="top holds no ratings"):
        find(tmp_path / "top").counts()


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


def test_an_item_listed_twice(tmp_path: Path) -> None:
    write_dat(tmp_path / "top", "utf-8")
    (tmp_path / "top" / "movies.dat").write_text("10::A::Drama\n10::B::Drama\n")
    with pytest.raises(CatalogError, match=r"movies\.dat: item 10 is listed 2 times"):
        find(tmp_path / "top")


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


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_with_plain_names(tmp_path: Path, kind: str) -> None:
    ratings = pl.DataFrame({"rating": [1.5, 2.0], "item": ["p", "q"], "user": [-2, 2]})
    items = pl.DataFrame({"item": ["p", "q"], "topics": ["x|y", None]})
    for name, frame in (("ratings", ratings), ("items", items)):
        getattr(frame, f"write_{kind}")(tmp_path / f"{name}.{kind}")
    found = find(tmp_path)
    assert rated(found) == [(-2, "p", 1.5), (2, "q", 2.0)]
    assert by_item(found) == {"p": ("p", ["x", "y"]), "q": ("q", [])}


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


def test_by_default_the_data_folder_is_the_cache_and_that_of_0_1_0_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKFALL_DATA", raising=False)
    assert data_folder() == platformdirs.user_cache_path("rankfall", appauthor=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name, **_options: tmp_path / "cache" / name)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    write_dat(tmp_path / ".cache" / "rankfall" / "ml-1m", "latin-1")
    assert data_folder() == tmp_path / "cache" / "rankfall"
    assert find("movielens-1m").name == "movielens-1m"
    with pytest.raises(FileError, match=r"movielens-10m is not in .*cache"):
        find("movielens-10m")
    monkeypatch.setenv("RANKFALL_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(FileError, match=r"movielens-1m is not in .*elsewhere"):
        find("movielens-1m")


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nonsense is neither a folder, nor a zip, nor a data set: movielens-small,"):
        find("nonsense")
    with pytest.raises(FileError, match=r"holds no data set; looked for u\.data \+ u\.item .*; found nothing"):
        find(tmp_path)
    with pytest.raises(ProblemError, match="no data set is called 'nonsense'; choose from movielens-small"):
        dataset_called("nonsense")
    assert all(entry.terms and entry.citation for entry in DATASETS.values())
