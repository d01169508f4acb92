"""The data sets known by name, and how any data set is found: by name, folder or zip."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal

import polars as pl

from rankfall.data import movielens, yahoo
from rankfall.data.ratings import Ratings
from rankfall.data.sources import Parquet
from rankfall.data.tables import tables
from rankfall.errors import FileError, ProblemError

EMBEDDED = Path(__file__).parent / "movielens_small"


@dataclass(frozen=True)
class Known:
    """A data set that has a name here.

    Attributes
    ----------
    stem : what its zip or folder is called by its publisher.
    size : users, items and ratings, as its publisher counts them.
    origin : whether it is embedded here, can be downloaded, or must be requested from its publisher.
    """

    name: str
    stem: str
    size: str
    origin: Literal["embedded", "download", "request"] = "download"
    terms: str = movielens.TERMS
    citation: str = movielens.CITATION

    def path(self) -> Path | None:
        """Where it lies, or None if it is not here."""
        if self.origin == "embedded":
            return EMBEDDED
        there = (home() / f"{self.stem}.zip", home() / self.stem)
        return next((path for path in there if path.exists()), None)


_KEEP = f"{movielens.TERMS} It may not be passed on without permission."

KNOWN = {
    known.name: known
    for known in (
        Known("movielens-small", "", "671 users, 9,066 rated movies, 100,004 ratings", "embedded"),
        Known("movielens-100k", "ml-100k", "943 users, 1,682 movies, 100,000 ratings", terms=_KEEP),
        Known("movielens-1m", "ml-1m", "6,040 users, 3,706 movies, 1,000,209 ratings", terms=_KEEP),
        Known("movielens-10m", "ml-10m", "69,878 users, 10,677 movies, 10,000,054 ratings", terms=_KEEP),
        Known("movielens-20m", "ml-20m", "138,493 users, 26,744 movies, 20,000,263 ratings"),
        Known("movielens-25m", "ml-25m", "162,541 users, 59,047 movies, 25,000,095 ratings"),
        Known("movielens-32m", "ml-32m", "200,948 users, 84,432 movies, 32,000,204 ratings"),
        Known("movielens-latest-small", "ml-latest-small", "about 100,000 ratings; changes over time"),
        Known("movielens-latest", "ml-latest", "about 33 million ratings; changes over time"),
        Known(
            "yahoo-r2",
            "yahoo-r2",
            "1.8 million users, 136 thousand songs, 717 million ratings",
            "request",
            yahoo.TERMS,
            yahoo.CITATION,
        ),
    )
}


@dataclass(frozen=True)
class _Layout:
    """Files that make a data set, as patterns, and who reads them."""

    title: str
    files: tuple[str, ...]
    read: Callable[[Path, str], Ratings]

    def fits(self, names: Iterable[str]) -> bool:
        there = list(names)
        return all(any(fnmatchcase(name, file) for name in there) for file in self.files)

    def __str__(self) -> str:
        return f"{' + '.join(self.files)} ({self.title})"


def _pair(folder: Path, name: str, kind: str) -> Ratings:
    return tables(folder / f"ratings.{kind}", folder / f"items.{kind}", name=name)


_LAYOUTS = (
    _Layout("MovieLens 100K", ("u.data", "u.item"), movielens.tabbed),
    _Layout("MovieLens 1M, 10M", ("ratings.dat", "movies.dat"), movielens.colons),
    _Layout("MovieLens 20M and later", ("ratings.csv", "movies.csv"), movielens.commas),
    _Layout(
        "Yahoo! Music R2",
        ("train[-_]*.txt", "song-attributes.txt", "genre-hierarchy.txt"),
        yahoo.songs,
    ),
    *(
        _Layout("columns user, item, rating; item, topics", (f"ratings.{kind}", f"items.{kind}"), read)
        for kind, read in (
            ("csv", lambda folder, name: _pair(folder, name, "csv")),
            ("parquet", lambda folder, name: _pair(folder, name, "parquet")),
        )
    ),
)
_ALSO = "test[-_]*.txt"


def home() -> Path:
    """The folder for downloaded data: ``RANKFALL_DATA``, or else ``~/.cache/rankfall``."""
    return Path(os.environ.get("RANKFALL_DATA") or "~/.cache/rankfall").expanduser()


def known(name: str) -> Known:
    """The data set of this name.

    >>> known("movielens-2m")
    Traceback (most recent call last):
    rankfall.errors.ProblemError: no data set is called 'movielens-2m'; choose from movielens-small, ...
    """
    if name not in KNOWN:
        raise ProblemError(f"no data set is called {name!r}; choose from {', '.join(KNOWN)}")
    return KNOWN[name]


def find(name_or_path: str | Path) -> Ratings:
    """The data set of this name, or in this folder or zip.

    A name of :data:`KNOWN` comes first; write ``./name`` for a folder that is called the same. Which data set a folder
    or zip holds is told by the files in it, or in the one folder inside it.

    >>> find("movielens-small")
    Ratings('movielens-small', 9125 items, 20 topics)
    """
    if isinstance(name_or_path, str) and name_or_path in KNOWN:
        return _named(KNOWN[name_or_path])
    path = Path(name_or_path)
    if path.is_dir():
        return _folder(path, path.resolve().name)
    if path.is_file():
        return _zip(path, path.stem)
    raise FileError(f"{name_or_path} is neither a folder, nor a zip, nor a data set: {', '.join(KNOWN)}")


def _named(known: Known) -> Ratings:
    path = known.path()
    if path is None and known.origin == "download":
        raise FileError(f"{known.name} is not in {home()}; get it with: rankfall data get {known.name}")
    if path is None:
        raise FileError(f"{known.name} is not at {home() / known.stem}. {how_to_ask(known)}")
    if known.origin == "embedded":
        return Ratings(
            known.name,
            Parquet(path / "ratings.parquet"),
            pl.read_parquet(path / "items.parquet"),
            known.terms,
            known.citation,
        )
    return _folder(path, known.name) if path.is_dir() else _zip(path, known.name)


def how_to_ask(known: Known) -> str:
    """Where to ask for a data set that its publisher gives on request only."""
    return (
        "Its publisher gives it on request only: ask for R2 at Yahoo! Webscope "
        f"(https://webscope.sandbox.yahoo.com), and unpack it to {home() / known.stem}"
    )


def _folder(folder: Path, name: str) -> Ratings:
    inside = [child for child in sorted(folder.iterdir()) if child.is_dir()]
    for place in (folder, *(inside if len(inside) == 1 else ())):
        layout = _layout(child.name for child in place.iterdir())
        if layout:
            return layout.read(place, name)
    raise _nothing_in(folder, sorted(child.name for child in folder.iterdir()))


def _zip(path: Path, name: str) -> Ratings:
    """The data set in a zip; the files that are needed, and no others, are unpacked to a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="rankfall-"))
    try:
        with zipfile.ZipFile(path) as archive:
            layout = _unpack(archive, folder)
            if layout is None:
                raise _nothing_in(path, archive.namelist())
        ratings = layout.read(folder, name)
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        raise FileError(f"cannot unpack {path}: {problem}; expected a zip as its publisher gives it") from problem
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(ratings.source, shutil.rmtree, folder, ignore_errors=True)
    return ratings


def _unpack(archive: zipfile.ZipFile, folder: Path) -> _Layout | None:
    """Unpack the data set nearest to the top of the archive, a block at a time; which layout it has."""
    places: dict[PurePosixPath, dict[str, str]] = defaultdict(dict)
    for member in archive.namelist():
        path = PurePosixPath(member)
        places[path.parent][path.name] = member
    for _, members in sorted(places.items(), key=lambda place: (len(place[0].parts), place[0])):
        layout = _layout(members)
        if layout is None:
            continue
        for file, member in members.items():
            if any(fnmatchcase(file, wanted) for wanted in (*layout.files, _ALSO)):
                with archive.open(member) as packed, (folder / file).open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked, 1 << 20)
        return layout
    return None


def _layout(names: Iterable[str]) -> _Layout | None:
    there = list(names)
    return next((layout for layout in _LAYOUTS if layout.fits(there)), None)


def _nothing_in(path: Path, names: list[str]) -> FileError:
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return FileError(
        f"{path} holds no data set; looked for {'; '.join(str(layout) for layout in _LAYOUTS)}; "
        f"found {shown or 'nothing'}"
    )
