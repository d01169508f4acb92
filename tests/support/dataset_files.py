"""Small files in each layout of a data set, and what is read from them."""

from collections.abc import Callable
from pathlib import Path

from rankfall.data import Ratings

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


WRITERS: dict[str, Callable[[Path], None]] = {
    "100k": write_100k,
    "1m": lambda folder: write_dat(folder, "latin-1"),
    "20m": write_csv,
    "r2": write_r2,
}


def rated(ratings: Ratings) -> list[tuple[object, ...]]:
    return ratings.scan().collect().rows()


def by_item(ratings: Ratings) -> dict[object, tuple[str, list[str]]]:
    return {row["item"]: (row["title"], row["topics"]) for row in ratings.items.iter_rows(named=True)}
