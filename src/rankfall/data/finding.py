"""How a data set is found: by its name, in a folder, or in a zip."""

from __future__ import annotations

import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections import defaultdict
from pathlib import Path, PurePosixPath

import polars as pl

from rankfall.data.data_folder import data_folder
from rankfall.data.datasets import DATASETS, DataSet
from rankfall.data.layouts import LAYOUTS, Layout, layout_of
from rankfall.data.ratings import Ratings
from rankfall.data.sources import Parquet
from rankfall.errors import FileError

TABLES = (".csv", ".tsv", ".parquet")
"""What files of tables are called, of which it takes two to make a data set."""


def find(name_or_path: str | Path) -> Ratings:
    """The data set of this name, or in this folder or zip.

    A name of :data:`DATASETS` comes first; write ``./name`` for a folder that is called the same. Which data set a
    folder or zip holds is recognised by the files in it, or in the one folder inside it.

    >>> find("movielens-small")
    Ratings('movielens-small', 9125 items, 20 topics)
    """
    if isinstance(name_or_path, str) and name_or_path in DATASETS:
        return _in_dataset(DATASETS[name_or_path])
    path = Path(name_or_path)
    if path.is_dir():
        return _in_folder(path, path.resolve().name)
    if path.suffix in TABLES and path.is_file():
        raise FileError(
            f"{path} is a table; give the table of its items too, with --items-table, or as items_table in a study "
            "(docs/data.md)"
        )
    if path.is_file():
        return _in_zip(path, path.stem)
    raise FileError(f"{name_or_path} is neither a folder, nor a zip, nor a data set: {', '.join(DATASETS)}")


def _in_dataset(dataset: DataSet) -> Ratings:
    path = dataset.path()
    if path is None and dataset.origin == "download":
        raise FileError(f"{dataset.name} is not in {data_folder()}; get it with: rankfall data get {dataset.name}")
    if path is None:
        raise FileError(f"{dataset.name} is not at {data_folder() / dataset.stem}. {dataset.how_to_request()}")
    if dataset.embedded:
        return Ratings(
            dataset.name,
            Parquet(path / "ratings.parquet"),
            pl.read_parquet(path / "items.parquet"),
            dataset.terms,
            dataset.citation,
        )
    return _in_folder(path, dataset.name) if path.is_dir() else _in_zip(path, dataset.name)


def _in_folder(folder: Path, name: str) -> Ratings:
    inside = [child for child in sorted(folder.iterdir()) if child.is_dir()]
    for place in (folder, *(inside if len(inside) == 1 else ())):
        layout = layout_of(child.name for child in place.iterdir())
        if layout:
            return layout.read(place, name)
    raise _nothing_in(folder, sorted(child.name for child in folder.iterdir()))


def _in_zip(path: Path, name: str) -> Ratings:
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


def _unpack(archive: zipfile.ZipFile, folder: Path) -> Layout | None:
    """Unpack the data set nearest to the top of the archive, a block at a time; gives its layout."""
    places: dict[PurePosixPath, dict[str, str]] = defaultdict(dict)
    for member in archive.namelist():
        path = PurePosixPath(member)
        places[path.parent][path.name] = member
    for _, members in sorted(places.items(), key=lambda place: (len(place[0].parts), place[0])):
        layout = layout_of(members)
        if layout is None:
            continue
        for file, member in members.items():
            if layout.uses(file):
                with archive.open(member) as packed, (folder / file).open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked, 1 << 20)
        return layout
    return None


def _nothing_in(path: Path, names: list[str]) -> FileError:
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return FileError(
        f"{path} holds no data set; looked for {'; '.join(str(layout) for layout in LAYOUTS)}; "
        f"found {shown or 'nothing'}"
    )
