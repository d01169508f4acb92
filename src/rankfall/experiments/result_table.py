"""The table of all runs of a study: which case, which point of which sweep, and what happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rankfall.experiments.expansion import axis_columns, value_text
from rankfall.experiments.plan import Plan, Setup


def runs_table(plan: Plan, tables: Mapping[Setup, pl.DataFrame]) -> pl.DataFrame:
    """One row for each checkpoint of each run, in the order of the study.

    Columns ``sweep``, ``point``, ``case`` and ``policy`` name the case; then come the axes, then what a chunk has.
    """
    columns = {column: _kind(plan, column) for column in axis_columns(plan.study).values()}
    return pl.concat(
        tables[setup].select(
            pl.lit(entry.sweep).alias("sweep"),
            pl.lit(entry.point, pl.Int32).alias("point"),
            pl.lit(entry.case.label).alias("case"),
            pl.lit(entry.case.policy).alias("policy"),
            *(pl.lit(_cast(entry.values.get(name), kind), kind).alias(name) for name, kind in columns.items()),
            pl.all(),
        )
        for entry, setup in plan.rows
    )


def is_number(value: Any) -> bool:
    """Whether a value of an axis is a number, and true or false is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(plan: Plan, column: str) -> type[pl.DataType]:
    values = [entry.values[column] for entry, _ in plan.rows if column in entry.values]
    if not all(is_number(value) for value in values):
        return pl.String
    return pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64


def _cast(value: Any, kind: type[pl.DataType]) -> Any:
    return value_text(value) if kind is pl.String and value is not None else value
