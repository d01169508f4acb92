"""Attributes of items as columns of a table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from rankfall.attributes import Attributes

ATTRIBUTE = "attribute:"
"""What the names of columns of attributes begin with."""
MIXED = "rankfall.mixed"
"""Metadata by which a Parquet file says which attributes have values of several kinds: their columns are JSON."""


class WrittenColumns(NamedTuple):
    """Columns by name, and the attributes that are written as JSON."""

    columns: dict[str, Any]
    mixed: list[str]


def written_columns(attributes: Attributes) -> WrittenColumns:
    """Columns of a polars frame for attributes."""
    import polars as pl

    columns, mixed = {}, []
    for name in attributes:
        values: Iterable[Any] = attributes[name]
        if len(attributes.column(name).kinds) > 1:
            mixed.append(name)
            values = [None if value is None else json.dumps(value) for value in values]
        elif any(isinstance(value, float) for value in values):
            values = [None if value is None else float(value) for value in values]
        columns[ATTRIBUTE + name] = pl.Series(list(values))
    return WrittenColumns(columns, mixed)


def read_columns(frame: Any, mixed: list[str]) -> dict[str, list[Any]]:
    """The attributes in the columns of a frame that was written so."""
    found = {}
    for column in frame.columns:
        if column.startswith(ATTRIBUTE):
            name, values = column.removeprefix(ATTRIBUTE), frame[column].to_list()
            decoded = [None if value is None else json.loads(value) for value in values] if name in mixed else values
            found[name] = decoded
    return found


def column_values(values: Iterable[Any]) -> list[Any]:
    """The values of a column of someone's frame, with None for what is missing there.

    >>> column_values(["Lego", float("nan"), None])
    ['Lego', None, None]
    """
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]
