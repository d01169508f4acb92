"""MovieLens, in each of the layouts that GroupLens has published it in.

An item's topics are its genres; a movie without any has the one topic ``unknown``, which the paper counts as a genre.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from rankfall.data import lines
from rankfall.data.ratings import UNKNOWN, Ratings, item_table
from rankfall.data.sources import Text
from rankfall.errors import FileError

TERMS = (
    "For research; no commercial or revenue-bearing use without permission from GroupLens, University of Minnesota. "
    "Acknowledge it in publications and imply no endorsement."
)
CITATION = (
    "F. Maxwell Harper and Joseph A. Konstan. 2015. The MovieLens Datasets: History and Context. ACM Transactions on "
    "Interactive Intelligent Systems 5, 4, Article 19. https://doi.org/10.1145/2827872"
)

_FLAGS = (
    UNKNOWN, "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
_LOWEST, _HIGHEST = 0.5, 5.0
_FIELDS = ("user", "item", "rating", "time")


_Movie: TypeAlias = tuple[int, str, list[str]]


def read_tabs(folder: Path, name: str) -> Ratings:
    """100K: ``u.data`` with tabs, ``u.item`` with ``|`` and a flag for each of 19 genres."""
    source = Text((folder / "u.data",), _FIELDS, "\t", low=_LOWEST, high=_HIGHEST)
    return _ratings(name, source, folder / "u.item", _movies_with_flags)


def read_colons(folder: Path, name: str) -> Ratings:
    """1M and 10M: ``ratings.dat`` and ``movies.dat`` with ``::``."""
    source = Text((folder / "ratings.dat",), _FIELDS, "::", low=_LOWEST, high=_HIGHEST)
    return _ratings(name, source, folder / "movies.dat", _movies_with_colons)


def read_commas(folder: Path, name: str) -> Ratings:
    """20M, 25M, 32M, latest and latest-small: ``ratings.csv`` and ``movies.csv`` with a first line of column names."""
    path = folder / "ratings.csv"
    there = lines.header(path, ",")
    if there != ["userId", "movieId", "rating", "timestamp"]:
        raise lines.bad_line(path, 1, ",".join(there), "userId,movieId,rating,timestamp")
    source = Text((path,), _FIELDS, ",", titled=True, quoted=True, low=_LOWEST, high=_HIGHEST)
    return _ratings(name, source, folder / "movies.csv", _movies_with_commas)


def _ratings(name: str, source: Text, path: Path, read: Callable[[Path], Iterator[_Movie]]) -> Ratings:
    movies = list(read(path))
    if not movies:
        raise FileError(f"{path} holds no movies")
    ids, titles, genres = zip(*movies, strict=True)
    return Ratings(name, source, item_table(str(path), ids, titles, genres), TERMS, CITATION)


def _movies_with_flags(path: Path) -> Iterator[_Movie]:
    for number, fields in lines.rows(path, "|"):
        flags = fields[5:]
        if len(flags) != len(_FLAGS) or not fields[0].isdecimal() or not {*flags} <= {"0", "1"}:
            raise lines.bad_line(
                path, number, "|".join(fields), f"id|title|date|video date|address and {len(_FLAGS)} flags of 0 or 1"
            )
        genres = [genre for genre, flag in zip(_FLAGS, flags, strict=True) if flag == "1"]
        yield int(fields[0]), fields[1], genres or [UNKNOWN]


def _movies_with_colons(path: Path) -> Iterator[_Movie]:
    for number, fields in lines.rows(path, "::"):
        if len(fields) < 3 or not fields[0].isdecimal():
            raise lines.bad_line(path, number, "::".join(fields), "id::title::genre|genre")
        yield int(fields[0]), "::".join(fields[1:-1]), _genres(fields[-1])


def _movies_with_commas(path: Path) -> Iterator[_Movie]:
    expected = "movieId,title,genres"
    for number, fields in lines.rows(path, ",", quoted=True):
        if len(fields) != 3 or not (fields[0].isdecimal() or number == 1):
            raise lines.bad_line(path, number, ",".join(fields), expected)
        if number > 1:
            yield int(fields[0]), fields[1], _genres(fields[2])
        elif ",".join(fields) != expected:
            raise lines.bad_line(path, number, ",".join(fields), expected)


def _genres(text: str) -> list[str]:
    return [UNKNOWN] if text in ("", "(no genres listed)") else text.split("|")
