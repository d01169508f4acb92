"""Lines that do not parse are named, in every layout."""

from pathlib import Path

import pytest
from dataset_files import WRITERS

from rankfall.data import find
from rankfall.errors import FileError


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
