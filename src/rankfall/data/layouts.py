"""The files that make a data set, so that a folder or zip can be read whatever it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from rankfall.data import movielens, yahoo
from rankfall.data.own_tables import tables
from rankfall.data.ratings import Ratings


@dataclass(frozen=True)
class Layout:
    """Files that make a data set.

    Attributes
    ----------
    title : which data sets have this layout.
    files : patterns of file names; there must be a file for each.
    read : takes the folder and a name for the data set.
    optional : patterns of further files that are read if they are there.
    """

    title: str
    files: tuple[str, ...]
    read: Callable[[Path, str], Ratings]
    optional: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{' + '.join(self.files)} ({self.title})"

    def fits(self, names: Iterable[str]) -> bool:
        """Whether a folder with files of these names has this layout."""
        there = list(names)
        return all(any(fnmatchcase(name, pattern) for name in there) for pattern in self.files)

    def uses(self, name: str) -> bool:
        """Whether a file of this name is read."""
        return any(fnmatchcase(name, pattern) for pattern in (*self.files, *self.optional))


def _own_tables(folder: Path, name: str, *, kind: str) -> Ratings:
    return tables(folder / f"ratings.{kind}", folder / f"items.{kind}", name=name)


LAYOUTS = (
    Layout("MovieLens 100K", ("u.data", "u.item"), movielens.read_tabs),
    Layout("MovieLens 1M, 10M", ("ratings.dat", "movies.dat"), movielens.read_colons),
    Layout("MovieLens 20M and later", ("ratings.csv", "movies.csv"), movielens.read_commas),
    Layout(
        "Yahoo! Music R2",
        ("train[-_]*.txt", "song-attributes.txt", "genre-hierarchy.txt"),
        yahoo.read_r2,
        optional=("test[-_]*.txt",),
    ),
    *(
        Layout(
            "columns user, item, rating; item, topics",
            (f"ratings.{kind}", f"items.{kind}"),
            partial(_own_tables, kind=kind),
        )
        for kind in ("csv", "parquet")
    ),
)


def layout_of(names: Iterable[str]) -> Layout | None:
    """The layout of a folder with files of these names, or None."""
    there = list(names)
    return next((layout for layout in LAYOUTS if layout.fits(there)), None)
