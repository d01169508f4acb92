"""The table of items: ids, titles and topics, each row checked, and all other columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from rankfall.arrays import BoolArray, FloatArray
from rankfall.catalog import Catalog
from rankfall.click_logs.tables import Table
from rankfall.errors import CatalogError, FileError
from rankfall.item_names import Id


@dataclass(frozen=True, eq=False)
class ItemsTable:
    """A table of items.

    Attributes
    ----------
    ids, titles, topics : as a catalog has them.
    coverage : (items, topics) the weights of the table, or the same for each topic that is merely named.
    merely_named : whether the table names topics without weights.
    others : all other columns.
    """

    ids: tuple[Id, ...]
    titles: tuple[str, ...] | None
    topics: tuple[str, ...]
    coverage: FloatArray
    merely_named: bool
    others: pl.DataFrame

    @property
    def membership(self) -> BoolArray:
        """(items, topics) which item is of which topic."""
        return self.coverage > 0


def read_items(
    table: Table,
    *,
    id: str,  # noqa: A002
    title: str | None,
    topics: str | None,
    topic_weight: float,
) -> ItemsTable:
    """Read the table; raises for the first row that is wrong. See :func:`rankfall.build_catalog`."""
    there = table.frame.collect_schema().names()
    title = title if title is not None or "title" not in there else "title"
    topics = topics if topics is not None or "topics" not in there else "topics"
    for what, name in (("--id", id), ("--title", title), ("--topics", topics)):
        if name is not None and name not in there:
            raise FileError(f"{table.name} has no column {name!r}; it has {', '.join(there)}. {what} NAME says which")
    frame = table.collect(there)
    if not frame.height:
        raise FileError(f"{table.name} has no rows")
    ids = _ids(table, frame[id])
    if topics is not None and frame[topics].dtype == pl.String:
        frame = frame.with_columns(pl.col(topics).str.replace_all(r"\s*\|\s*", "|").str.strip_chars())
    try:
        plain = Catalog.from_frame(
            frame.with_columns(ids), id=id, title=title, topics=topics, topic_weight=topic_weight
        )
    except CatalogError as problem:
        raise FileError(f"{table.name}: {problem}") from None
    named = topics is not None and _merely_named(frame[topics].to_list())
    others = frame.drop([name for name in (id, title, topics) if name is not None])
    return ItemsTable(plain.ids, plain.titles, plain.topics, plain.coverage, named, others)


def _ids(table: Table, values: pl.Series) -> pl.Series:
    """Ids, whole numbers where every one is written as one; unique and none missing."""
    if values.null_count():
        raise table.wrong(
            int(values.is_null().arg_max() or 0), f"column {values.name!r} is empty; every item needs an id"
        )
    if table.text:
        numbers = values.cast(pl.Int64, strict=False)
        values = numbers if (numbers.cast(pl.String) == values).all(ignore_nulls=False) else values
    elif values.dtype != pl.String and not values.dtype.is_integer():
        raise FileError(f"{table.name}: column {values.name!r} is {values.dtype}; ids are whole numbers or text")
    again = ~values.is_first_distinct()
    if again.any():
        row = int(again.arg_max() or 0)
        first = int((values == values[row]).arg_max() or 0)
        raise table.wrong(
            row, f"id {values[row]!r} is there already, at {table.place(first)}; every item needs its own"
        )
    return values


def _merely_named(cells: list[Any]) -> bool:
    """Whether topics are names only."""
    return all(
        cell is None or isinstance(cell, str) or (isinstance(cell, list) and all(isinstance(one, str) for one in cell))
        for cell in cells
    )
