"""The lists in a folder that ``rankfall export`` wrote, as a click log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray
from rankfall.click_logs.log import ClickLog
from rankfall.click_logs.values import CHANCES, CONTEXT, LIST_OUTCOMES
from rankfall.errors import FileError
from rankfall.files import reading_parquet

EVENTS, OUTCOMES = "events.parquet", "outcomes.parquet"
"""The files of an export that hold the lists, and what came of their items beside clicks."""
_REQUEST = ("context", "candidate_features")
MARK = "rankfall.export"
"""Metadata by which each file says which export it belongs to: files of two exports do not go together."""


def is_export(path: Path) -> bool:
    """Whether this is a folder that ``rankfall export`` wrote, or the file of lists in it."""
    events = events_file(path)
    if not events.is_file() or events.name != EVENTS:
        return False
    with reading_parquet(events):
        return MARK in pl.read_parquet_metadata(events)


def events_file(path: Path) -> Path:
    """The file of lists."""
    return path / EVENTS if path.is_dir() else path


def lists_of(path: Path, model: str | None) -> pl.LazyFrame:
    """The lists of a model, or of all; the model must have some."""
    lists = pl.scan_parquet(events_file(path))
    if model is None:
        return lists
    models = lists.select(pl.col("model").unique().sort()).collect().to_series().to_list()
    if model not in models:
        raise FileError(f"{path} has no list of model {model!r}; there are lists of: {', '.join(models)}")
    return lists.filter(pl.col("model") == model)


def read_export(path: Path, *, model: str | None = None, whole_ids: bool | None = None) -> ClickLog:
    """The lists with feedback, or whose wait for feedback ran out, in the order of the file.

    Lists that still wait for feedback are left out: nobody knows yet whether they are clicked.

    Parameters
    ----------
    path : a folder that ``rankfall export`` wrote.
    model : only lists of this model.
    whole_ids : as in :func:`rankfall.click_logs.read_click_log`.
    """
    events = events_file(path)
    with reading_parquet(events):
        lists = lists_of(path, model)
        there = lists.collect_schema().names()  # logs of earlier versions have no context
        unknown = [pl.lit(None, pl.String).alias(name) for name in _REQUEST if name not in there]
        chances = {column: name for column, name in CHANCES.items() if column in there}
        lists = lists.with_columns(unknown)
        kept = ("event_id", "items", "clicked", "user", "segment", "created", "propensity", *_REQUEST, *chances)
        shown = lists.filter(pl.col("result").is_not_null()).select(kept).collect()
    if not shown.height:
        raise FileError(f"{path} has no list with feedback")
    start = np.concatenate([[0], np.cumsum(shown["items"].list.len().to_numpy())]).astype(np.int64)
    given = shown["items"].explode()
    if whole_ids is not None and whole_ids != given.dtype.is_integer():
        have, expected = ("text", "whole numbers") if whole_ids else ("whole numbers", "text")
        raise FileError(f"{path}: items are {have}; expected {expected}, as ids of the catalog are")
    click = np.zeros(start[-1], dtype=bool)
    clicks = shown.select("clicked").with_row_index("n").explode("clicked").drop_nulls()
    click[start[clicks["n"].to_numpy()] + clicks["clicked"].to_numpy()] = True
    seconds = (pl.col("created").dt.epoch("us") / 1e6).alias("time")
    context = shown.select(pl.col("event_id").alias("list"), "user", "segment", seconds, "propensity", *_REQUEST)
    context = context.select("list", *CONTEXT).join(
        _outcomes(events.with_name(OUTCOMES)), on="list", how="left", maintain_order="left"
    )
    known = {name: _by_row(shown, column) for column, name in chances.items()}
    return ClickLog.of(start, given, click, context, **known)


def _outcomes(path: Path) -> pl.DataFrame:
    """The outcomes of each list, in their order; logs of earlier versions have none."""
    if not path.is_file():
        return pl.DataFrame(schema={"list": pl.String, "outcomes": LIST_OUTCOMES})
    with reading_parquet(path):
        every = pl.read_parquet(path).sort("seq")
    return every.group_by(pl.col("event_id").alias("list"), maintain_order=True).agg(
        pl.struct("position", "type", "value").alias("outcomes")
    )


def _by_row(shown: pl.DataFrame, column: str) -> FloatArray:
    """One number for each item of each list; NaN where the list has none. A list that was certain has 1."""
    length = pl.col("items").list.len()
    certain = pl.when(pl.col("propensity") == 1.0).then(pl.lit(1.0)).repeat_by(length)
    nothing = pl.lit(None, pl.Float64).repeat_by(length)
    return shown.select(pl.coalesce(column, certain, nothing).explode()).to_series().to_numpy()
