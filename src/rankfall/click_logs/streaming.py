"""A click log of any size in parts: who was shown what, and whether they clicked it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from rankfall.click_logs.exports import events_file, is_export, lists_of
from rankfall.click_logs.tables import Table, table_of
from rankfall.click_logs.values import checked
from rankfall.errors import FileError
from rankfall.files import reading_parquet

ROWS = 1_000_000
"""Rows in memory at a time."""

_WANTED = ("item", "click", "user", "list")


def shown_in_parts(
    source: str | Path | pl.DataFrame,
    *,
    whole_ids: bool,
    columns: Mapping[str, str] | None = None,
    model: str | None = None,
    rows: int = ROWS,
) -> Iterator[pl.DataFrame]:
    """Columns ``who`` (text), ``item`` and ``click`` of a click log, some rows at a time, each checked.

    ``who`` is the user, or the list where the log does not say whose it was. Positions are not needed and not read.

    Parameters
    ----------
    source, columns, model : as in :func:`rankfall.read_click_log`.
    whole_ids : whether items must be whole numbers (True) or text (False).
    rows : how many at a time; of an export, lists.

    >>> log = pl.DataFrame({"list": [1, 1], "item": ["a", "b"], "click": [0, 1]})
    >>> next(shown_in_parts(log, whole_ids=False)).rows()
    [('1', 'a', False), ('1', 'b', True)]
    """
    if not isinstance(source, pl.DataFrame) and is_export(Path(source)):
        if columns:
            raise FileError(f"{source} is an export of rankfall, whose columns are known; leave out --column")
        yield from _export(Path(source), model, whole_ids, max(1, rows // 10))
        return
    table = table_of(source if isinstance(source, pl.DataFrame) else Path(source))
    if model is not None:
        raise FileError(f"{table.name} is not an export of rankfall, so it does not say which model showed a list")
    named = _names(table, columns or {})
    for first, part in table.parts(list(dict.fromkeys(named.values())), rows):
        place = replace(table, place=lambda row, first=first: table.place(first + row))  # type: ignore[misc]
        values = {
            what: checked(place, part[name].alias(what), whole_ids=whole_ids if what == "item" else None)
            for what, name in named.items()
        }
        yield pl.DataFrame([_who(place, values), values["item"], values["click"]])


def _names(table: Table, columns: Mapping[str, str]) -> dict[str, str]:
    """The columns to read, by what they hold."""
    there = table.frame.collect_schema().names()
    named = {what: columns.get(what, what) for what in _WANTED}
    for what, name in named.items():
        if name not in there and (what in ("item", "click") or what in columns):
            raise FileError(
                f"{table.name} has no column {name!r}; needed are item, click, and user or list; it has "
                f"{', '.join(there)}. --column {what}=NAME says which of them holds it"
            )
    found = {what: name for what, name in named.items() if name in there}
    if not {"user", "list"} & set(found):
        raise FileError(f"{table.name} has neither a column 'user' nor 'list'; it has {', '.join(there)}")
    return found


def _who(table: Table, values: Mapping[str, pl.Series]) -> pl.Series:
    lists = values["list"].cast(pl.String) if "list" in values else None
    if "user" not in values:
        assert lists is not None
        return lists.alias("who")
    users = values["user"]
    if users.null_count() and lists is None:
        raise table.wrong(int(users.is_null().arg_max() or 0), "column 'user' is empty, and there is no column 'list'")
    if users.null_count():  # a list of nobody in particular is one of its own; no user has such a name
        users = pl.select(pl.coalesce(users, pl.lit("list\n") + pl.lit(lists))).to_series()
    return users.alias("who")


def _export(path: Path, model: str | None, whole_ids: bool, lists: int) -> Iterator[pl.DataFrame]:
    """Lists of an export that have feedback, or whose wait for it is over."""
    with reading_parquet(events_file(path)):
        frame = lists_of(path, model).filter(pl.col("result").is_not_null())
        frame = frame.select("event_id", "user", "items", "clicked")
        first = 0
        while (part := frame.slice(first, lists).collect()).height:
            first += part.height
            given = part.schema["items"].inner.is_integer()  # type: ignore[attr-defined]
            if given != whole_ids:
                raise FileError(f"{path}: items are {'whole numbers' if given else 'text'}, unlike ids of the catalog")
            at = pl.int_ranges(pl.col("items").list.len())
            rows = part.with_columns(at=at, who=pl.coalesce("user", pl.lit("list\n") + pl.col("event_id")))
            rows = rows.select("who", pl.col("items").alias("item"), "at", "clicked").explode("item", "at")
            yield rows.select("who", "item", pl.col("clicked").list.contains(pl.col("at")).alias("click"))
