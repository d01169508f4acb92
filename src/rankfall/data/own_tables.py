"""Your own ratings and items, as CSV, TSV or Parquet."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from rankfall.data import lines
from rankfall.data.ratings import Ratings, item_table
from rankfall.data.sources import IdType, Parquet, Source, Text, check_columns, id_type
from rankfall.errors import FileError
from rankfall.files import reading_parquet

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_LINES_LOOKED_AT = 1000


def tables(
    ratings: str | Path,
    items: str | Path,
    *,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    title: str | None = None,
    topics: str = "topics",
    name: str | None = None,
) -> Ratings:
    """A data set in two files, each CSV or TSV that begins with a line of column names, or Parquet.

    Parameters
    ----------
    ratings, items : the files; ``.csv``, ``.tsv`` or ``.parquet``.
    user, item, rating : columns of ``ratings``; ``item`` is a column of ``items`` too.
    title, topics : columns of ``items``. Topics are strings with ``|`` between names or, in Parquet, lists. If no
        title is given, the column ``title`` is used if there is one; otherwise items are called by their ids.
    name : what to call the data set; by default the name of the ratings file.

    Ids are whole numbers or strings. In text, item ids are numbers if all of ``items`` are, and user ids are numbers
    if the first thousand are; a later one that is not is an error that names its line.
    """
    ratings, items = Path(ratings), Path(items)
    table = _items(items, item, title, topics)
    source: Source
    if ratings.suffix == ".parquet":
        source = Parquet(ratings, user, item, rating)
        kind = source.scan().collect_schema()["item"]
    else:
        source = _text(ratings, {user: "user", item: "item", rating: "rating"}, table.schema["item"])
        kind = source.item()
    if kind != table.schema["item"]:
        raise FileError(
            f"ids in column {item!r} are {kind} in {ratings} and {table.schema['item']} in {items}; "
            "both must be whole numbers, or both strings"
        )
    return Ratings(name or ratings.stem, source, table)


def _text(path: Path, named: dict[str, str], item: pl.DataType) -> Text:
    separator = _separator(path)
    columns = lines.header(path, separator)
    check_columns(path, columns, list(named))
    where = columns.index(next(column for column, name in named.items() if name == "user"))
    start = itertools.islice(lines.rows(path, separator, quoted=True), 1, _LINES_LOOKED_AT)
    return Text(
        (path,),
        tuple(named.get(column, f"column {i}") for i, column in enumerate(columns)),
        separator,
        titled=True,
        quoted=True,
        strict=False,
        user=_kind(fields[where] for _, fields in start if len(fields) > where),
        item=pl.Int64 if item == pl.Int64 else pl.String,
    )


def _items(path: Path, item: str, title: str | None, topics: str) -> pl.DataFrame:
    frame = _parquet(path, item) if path.suffix == ".parquet" else _delimited(path, item)
    if title is None and "title" in frame.columns:
        title = "title"
    check_columns(path, frame.columns, [item, topics] if title is None else [item, topics, title])
    ids = frame[item].to_list()
    if None in ids:
        raise FileError(f"{path}, row {ids.index(None) + 1}: column {item!r} is empty; every item needs an id")
    if not ids:
        raise FileError(f"{path} holds no items")
    titles = [str(value) for value in (ids if title is None else frame[title].fill_null("").to_list())]
    return item_table(str(path), ids, titles, [_topics(path, topics, cell) for cell in frame[topics].to_list()])


def _parquet(path: Path, item: str) -> pl.DataFrame:
    with reading_parquet(path):
        frame = pl.read_parquet(path, glob=False)
    check_columns(path, frame.columns, [item])
    return frame.with_columns(pl.col(item).cast(id_type(path, item, frame.schema[item])))


def _delimited(path: Path, item: str) -> pl.DataFrame:
    separator = _separator(path)
    columns = lines.header(path, separator)
    check_columns(path, columns, [item])
    cells = []
    for number, fields in itertools.islice(lines.rows(path, separator, quoted=True), 1, None):
        if len(fields) != len(columns):
            raise lines.bad_line(path, number, separator.join(fields), f"{len(columns)} fields: {columns}")
        cells.append(fields)
    frame = pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String), orient="row")
    frame = frame.with_columns(pl.col(item).replace("", None))
    return frame.with_columns(pl.col(item).cast(_kind(frame[item].drop_nulls())))


def _topics(path: Path, column: str, cell: Any) -> list[str]:
    names = [] if cell is None else cell.split("|") if isinstance(cell, str) else list(cell)
    if not all(isinstance(name, str) for name in names):
        raise FileError(f"{path}: column {column!r} holds {cell!r}; expected names, with | between them or in a list")
    return [name for name in names if name]


def _separator(path: Path) -> str:
    if path.suffix not in _SEPARATORS:
        raise FileError(f"{path}: expected a file named .csv, .tsv or .parquet")
    return _SEPARATORS[path.suffix]


def _kind(ids: Iterable[str]) -> IdType:
    return pl.Int64 if all(value.removeprefix("-").isdecimal() for value in ids) else pl.String
