"""Click logs of others: one row for each item shown, checked before anything is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from rankfall.errors import FileError

NEEDED = ("list", "position", "item", "click")
OPTIONAL = {"user": pl.String, "segment": pl.String, "time": pl.Float64}
LONGEST = 200  # characters of a user or segment, as over HTTP


def read_clicks(path: Path, *, whole_ids: bool) -> pl.DataFrame:
    """The lists in a Parquet or CSV file, one row each, in the order in which they are to be learned.

    Parameters
    ----------
    path : a file with columns ``list`` (a name or number), ``position`` (1 for the top), ``item``, ``click`` (0 or 1),
        and, if there are any, ``user``, ``segment`` and ``time`` (when the list was shown).
    whole_ids : whether ids of the catalog are whole numbers.

    Returns
    -------
    frame with ``list``, ``items``, ``clicked`` (0-based positions), ``user``, ``segment`` and ``time`` (seconds since
    1970); by time where it is given, else in the order of the file.
    """
    frame, text = _read(path)
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise FileError(f"{path} has no column {missing[0]!r}; needed are {', '.join(NEEDED)}; it has {frame.columns}")
    given = [name for name in (*NEEDED, *OPTIONAL) if name in frame.columns]
    frame = frame.select(given)
    if not frame.height:
        raise FileError(f"{path} has no rows")
    for name in given:
        if name not in ("user", "segment") and frame[name].null_count():
            raise FileError(f"{path}: column {name!r} is empty in row {_first(frame[name].is_null())}")
    column = {
        "list": lambda values: _text(path, values),
        "position": lambda values: _whole(path, values, text=text),
        "item": lambda values: _items(path, values, text=text, whole_ids=whole_ids),
        "click": lambda values: _yes_or_no(path, values),
        "user": lambda values: _name(path, values),
        "segment": lambda values: _name(path, values),
        "time": lambda values: _seconds(path, values),
    }
    frame = pl.DataFrame([column[name](frame[name]) for name in given])
    frame = frame.with_columns(pl.lit(None, kind).alias(name) for name, kind in OPTIONAL.items() if name not in given)
    _check_lists(path, frame)
    return _lists(frame)


def _read(path: Path) -> tuple[pl.DataFrame, bool]:
    """The table, and whether everything in it is text."""
    text = path.suffix.lower() == ".csv"
    try:
        return (pl.read_csv(path, infer_schema=False) if text else pl.read_parquet(path)), text
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise FileError(f"{path} is not a readable {'CSV' if text else 'Parquet'} file: {problem}") from None


def _first(wrong: pl.Series) -> int:
    """Number of the first row that is wrong; the first row is 1."""
    return int(wrong.arg_max() or 0) + 1


def _converted(path: Path, given: pl.Series, kind: Any, expected: str) -> pl.Series:
    try:
        made = given.cast(kind, strict=False)
    except pl.exceptions.PolarsError:
        raise FileError(f"{path}: column {given.name!r} is {given.dtype}; expected {expected}") from None
    wrong = made.is_null() & given.is_not_null()
    if wrong.any():
        row = _first(wrong)
        raise FileError(f"{path}: {given.name} is {given[row - 1]!r} in row {row}; expected {expected}")
    return made


def _text(path: Path, values: pl.Series) -> pl.Series:
    if not (values.dtype == pl.String or values.dtype.is_integer() or isinstance(values.dtype, pl.Categorical)):
        raise FileError(f"{path}: column {values.name!r} is {values.dtype}; expected text or whole numbers")
    return _converted(path, values, pl.String, "text")


def _name(path: Path, values: pl.Series) -> pl.Series:
    """Names as the service takes them."""
    names = _text(path, values)
    for name in names.drop_nulls().unique(maintain_order=True).to_list():
        if not 1 <= len(name) <= LONGEST or not name.isprintable():
            raise FileError(f"{path}: {values.name} {name!r} must have 1 to {LONGEST} printable characters")
    return names


def _whole(path: Path, values: pl.Series, *, text: bool) -> pl.Series:
    if not (text or values.dtype.is_integer()):
        raise FileError(f"{path}: column {values.name!r} is {values.dtype}; expected whole numbers")
    return _converted(path, values, pl.Int64, "a whole number")


def _items(path: Path, values: pl.Series, *, text: bool, whole_ids: bool) -> pl.Series:
    if whole_ids:
        return _whole(path, values, text=text)
    if not (values.dtype == pl.String or isinstance(values.dtype, pl.Categorical | pl.Enum)):
        raise FileError(f"{path}: column 'item' is {values.dtype}; ids of the catalog are text")
    return values.cast(pl.String)


def _yes_or_no(path: Path, values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean:
        return values
    if values.dtype == pl.String:
        values = values.str.to_lowercase().replace({"true": "1", "false": "0"})
    numbers = _converted(path, values, pl.Float64, "0 or 1")
    wrong = ~numbers.is_in([0.0, 1.0])
    if wrong.any():
        row = _first(wrong)
        raise FileError(f"{path}: click is {values[row - 1]!r} in row {row}; expected 0 or 1")
    return (numbers == 1.0).alias(values.name)


def _seconds(path: Path, values: pl.Series) -> pl.Series:
    """Moments as seconds since 1970; without a time zone they are UTC."""
    expected = "a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        if numbers.null_count():
            numbers = values.str.to_datetime(time_unit="us", time_zone="UTC", strict=False).dt.epoch("us") / 1e6
        wrong = numbers.is_null()
        if wrong.any():
            row = _first(wrong)
            raise FileError(f"{path}: time is {values[row - 1]!r} in row {row}; expected {expected}")
    elif values.dtype.is_temporal() and values.dtype not in (pl.Time, pl.Duration):
        numbers = values.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    elif values.dtype.is_numeric():
        numbers = values.cast(pl.Float64)
    else:
        raise FileError(f"{path}: column 'time' is {values.dtype}; expected {expected}")
    beyond = ~numbers.is_between(0, LATEST)
    if beyond.any():
        row = _first(beyond)
        raise FileError(f"{path}: time is {values[row - 1]!r} in row {row}; expected {expected}")
    return numbers.alias("time")


LATEST = 253_402_300_799.0
"""The end of the year 9999, in seconds since 1970."""


def _check_lists(path: Path, frame: pl.DataFrame) -> None:
    """Each list has positions 1, 2, ..., different items, and one user, segment and time."""
    shape = frame.group_by("list", maintain_order=True).agg(
        n=pl.len(),
        top=pl.col("position").min(),
        end=pl.col("position").max(),
        positions=pl.col("position").n_unique(),
        different=pl.col("item").n_unique(),
        **{name: pl.col(name).n_unique() for name in OPTIONAL},
    )
    problems = [
        (shape["positions"] < shape["n"], "has a position twice"),
        ((shape["top"] != 1) | (shape["end"] != shape["n"]), "has a gap; positions must be 1, 2, ... without one"),
        (shape["different"] < shape["n"], "has an item twice"),
        *((shape[name] > 1, f"has more than one {name}") for name in OPTIONAL),
    ]
    for wrong, what in problems:
        if wrong.any():
            name = shape["list"][_first(wrong) - 1]
            positions = sorted(frame.filter(pl.col("list") == name)["position"].to_list())
            raise FileError(
                f"{path}: list {name!r} {what} (positions {_short(positions)}); "
                f"{wrong.sum()} of {shape.height} lists are like this. Nothing was imported"
            )


def _short(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:12])) + (", ..." if len(numbers) > 12 else "")


def _lists(frame: pl.DataFrame) -> pl.DataFrame:
    lists = (
        frame.sort("position", maintain_order=True)  # stable: lists stand in the order of their top items in the file
        .group_by("list", maintain_order=True)
        .agg(
            pl.col("item").alias("items"),
            (pl.col("position") - 1).filter(pl.col("click")).alias("clicked"),
            pl.col("user", "segment", "time").first(),
        )
    )
    return lists.sort("time", maintain_order=True)
