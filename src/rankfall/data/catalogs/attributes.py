"""Columns of a table that become attributes of items, which rules of lists look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from rankfall.attribute_columns import column_values
from rankfall.attributes import Attributes
from rankfall.click_logs.tables import Table
from rankfall.errors import CatalogError, FileError

_WORDS = {"true": True, "false": False}


def attributes_of(table: Table, others: pl.DataFrame, names: Sequence[str]) -> Attributes:
    """The attributes in these columns; in a table of text, what is written as number, true or false is that."""
    for name in names:
        if name not in others.columns:
            raise CatalogError(f"{table.name} has no column {name!r} to make an attribute of; it has {others.columns}")
    try:
        return Attributes.of({name: _values(table, others[name]) for name in names}, others.height)
    except CatalogError as problem:
        raise FileError(f"{table.name}: {problem}") from None


def _values(table: Table, column: pl.Series) -> list[Any]:
    values = column_values(column.to_list())
    if not table.text:
        return values
    for reading in (_WORDS.get, float):
        try:
            read = [None if one is None else reading(one.strip().lower()) for one in values]
        except ValueError:
            continue
        if all((one is None) == (before is None) for one, before in zip(read, values, strict=True)):
            return [int(one) if type(one) is float and one.is_integer() else one for one in read]
    return values


def told(attributes: Attributes) -> list[str]:
    """What each attribute is like, in words."""
    lines = []
    for name, values in attributes.items():
        column = attributes.column(name)
        missing = values.count(None)
        words = f"{len(column.levels):,} values, {' and '.join(sorted(column.kinds))}"
        lines.append(f"{name}  {words}" + (f"; {missing:,} items have none" if missing else ""))
    return lines
