"""Columns of a click log: what each may hold, and the error for the first row that holds something else."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from rankfall.click_logs.tables import Table
from rankfall.errors import FileError

NEEDED = ("list", "position", "item", "click")
CONTEXT = {
    "user": pl.String,
    "segment": pl.String,
    "time": pl.Float64,
    "propensity": pl.Float64,
    "context": pl.String,
    "candidate_features": pl.String,
}
"""What a log may say of a list besides, and how it is kept."""
CHANCES = {"propensity_given_above": "given_above", "propensity_at_position": "at_position"}
"""What a log may say of each row besides, and what it is called in Python."""
COLUMNS = (*NEEDED, *CONTEXT, *CHANCES)
OUTCOME = "outcome:"
"""How columns begin that say what came of the item of a row beside its click: ``outcome:purchase``."""
LIST_OUTCOMES = pl.List(pl.Struct({"position": pl.Int64, "type": pl.String, "value": pl.Float64}))
"""What came of the items of a list: 0-based position, type and value of each."""
LARGEST_OUTCOME = 1e6
"""The largest value of an outcome, as over HTTP."""

LONGEST_NAME = 200
"""Characters of a user or segment, as over HTTP."""
LATEST = 253_402_300_799.0
"""The end of the year 9999, in seconds since 1970."""

_MAY_BE_EMPTY = ("user", "segment", "propensity", "context", "candidate_features", *CHANCES)


def checked(table: Table, values: pl.Series, *, whole_ids: bool | None) -> pl.Series:
    """A column with its values in one form; raises for the first row that is wrong.

    Parameters
    ----------
    whole_ids : whether items must be whole numbers (True) or text (False); None takes what the log has.
    """
    name = values.name
    if name not in _MAY_BE_EMPTY and not name.startswith(OUTCOME) and values.null_count():
        raise table.wrong(_first(values.is_null()), f"column {name!r} is empty")
    if name == "list":
        return _names_or_numbers(table, values)
    if name == "position":
        return _whole_numbers(table, values)
    if name == "item":
        return _items(table, values, whole_ids)
    if name == "click":
        return _clicks(table, values)
    if name == "time":
        return _seconds(table, values)
    if name.startswith(OUTCOME):
        return _amounts(table, values)
    if name == "propensity" or name in CHANCES:
        return _probabilities(table, values)
    if name == "context":
        return _json(table, values, dict, 'a JSON object such as {"hour": 8}; another column may need another name')
    if name == "candidate_features":
        return _json(table, values, list, 'a JSON list such as [{"id": "a", "features": {"bm25": 2.1}}]')
    return _people(table, values)


def _first(wrong: pl.Series) -> int:
    """Number of the first row that is wrong, from 0."""
    return int(wrong.arg_max() or 0)


def _refuse(table: Table, values: pl.Series, wrong: pl.Series, expected: str) -> None:
    """Raise for the first row that is wrong, if there is one."""
    if wrong.any():
        row = _first(wrong)
        raise table.wrong(row, f"{values.name} is {values[row]!r}; expected {expected}")


def _refuse_column(table: Table, values: pl.Series, expected: str) -> FileError:
    return FileError(f"{table.name}: column {values.name!r} is {values.dtype}; expected {expected}")


def _converted(table: Table, values: pl.Series, kind: Any, expected: str) -> pl.Series:
    made = values.cast(kind, strict=False)
    _refuse(table, values, made.is_null() & values.is_not_null(), expected)
    return made


def _names_or_numbers(table: Table, values: pl.Series) -> pl.Series:
    """Text or whole numbers; in a CSV file, numbers if every value is written as one (``007`` is text)."""
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        return values.cast(pl.String)
    if table.text:
        numbers = values.cast(pl.Int64, strict=False)
        return numbers if (numbers.cast(pl.String) == values).all(ignore_nulls=False) else values
    if not (values.dtype == pl.String or values.dtype.is_integer()):
        raise _refuse_column(table, values, "text or whole numbers")
    return values


def _whole_numbers(table: Table, values: pl.Series) -> pl.Series:
    if not (table.text or values.dtype.is_integer()):
        raise _refuse_column(table, values, "whole numbers")
    return _converted(table, values, pl.Int64, "a whole number")


def _items(table: Table, values: pl.Series, whole_ids: bool | None) -> pl.Series:
    if whole_ids is None:
        return _names_or_numbers(table, values)
    if whole_ids:
        return _whole_numbers(table, values)
    text = values if table.text else _names_or_numbers(table, values)
    if text.dtype != pl.String:
        raise _refuse_column(table, values, "text, as ids of the catalog are")
    return text


def _clicks(table: Table, values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean:
        return values
    if values.dtype == pl.String:
        numbers = values.str.to_lowercase().replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)
    elif values.dtype.is_numeric():
        numbers = values
    else:
        raise _refuse_column(table, values, "0 or 1")
    _refuse(table, values, ~((numbers == 0) | (numbers == 1)).fill_null(value=False), "0 or 1")
    return (numbers == 1).alias(values.name)


def _people(table: Table, values: pl.Series) -> pl.Series:
    """Users or segments, named as the service takes them."""
    names = values if table.text else _names_or_numbers(table, values).cast(pl.String)
    for name in names.drop_nulls().unique(maintain_order=True).to_list():
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
            _refuse(table, values, names == name, f"1 to {LONGEST_NAME} printable characters")
    return names


def _json(table: Table, values: pl.Series, kind: type, expected: str) -> pl.Series:
    """Texts that hold an object or a list as JSON."""
    if values.dtype == pl.Null:
        return values.cast(pl.String)
    if values.dtype != pl.String:
        raise _refuse_column(table, values, expected)
    for text in values.drop_nulls().unique(maintain_order=True).to_list():
        try:
            fine = isinstance(json.loads(text), kind)
        except ValueError:
            fine = False
        if not fine:
            _refuse(table, values, values == text, expected)
    return values


def _probabilities(table: Table, values: pl.Series) -> pl.Series:
    expected = "a probability above 0 and up to 1"
    if not (table.text or values.dtype.is_numeric() or values.dtype == pl.Null):
        raise _refuse_column(table, values, expected)
    numbers = _converted(table, values, pl.Float64, expected)
    _refuse(table, values, ~((numbers > 0) & (numbers <= 1)).fill_null(value=True), expected)
    return numbers


def _amounts(table: Table, values: pl.Series) -> pl.Series:
    """How many of an outcome, or how much of it; nothing where there is none."""
    expected = f"a number from {-LARGEST_OUTCOME:,.0f} to {LARGEST_OUTCOME:,.0f}, or nothing"
    numeric = values.dtype.is_numeric() or values.dtype in (pl.Null, pl.Boolean)
    if not (table.text or numeric):
        raise _refuse_column(table, values, expected)
    numbers = _converted(table, values, pl.Float64, expected)
    inside = numbers.is_between(-LARGEST_OUTCOME, LARGEST_OUTCOME)
    _refuse(table, values, ~(inside & numbers.is_finite()).fill_null(value=True), expected)
    return numbers


def _seconds(table: Table, values: pl.Series) -> pl.Series:
    """Moments as seconds since 1970; without a time zone they are UTC."""
    expected = "a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        if numbers.null_count():
            numbers = values.str.to_datetime(time_unit="us", time_zone="UTC", strict=False).dt.epoch("us") / 1e6
    elif values.dtype.is_temporal() and values.dtype not in (pl.Time, pl.Duration):
        numbers = values.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    elif values.dtype.is_numeric():
        numbers = values.cast(pl.Float64)
    else:
        raise _refuse_column(table, values, expected)
    _refuse(table, values, ~numbers.is_between(0, LATEST).fill_null(value=False), expected)
    return numbers.alias(values.name)
