"""The one reader of click logs: CSV, Parquet, a frame in memory, or our own export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, IntArray
from rankfall.click_logs.exports import is_export, read_export
from rankfall.click_logs.log import ClickLog
from rankfall.click_logs.tables import Table, table_of
from rankfall.click_logs.values import CHANCES, COLUMNS, CONTEXT, LIST_OUTCOMES, NEEDED, OUTCOME, checked
from rankfall.errors import FileError, ProblemError

_AS_NAMED: Mapping[str, str] = MappingProxyType({})


def read_click_log(
    source: str | Path | pl.DataFrame,
    *,
    columns: Mapping[str, str] = _AS_NAMED,
    model: str | None = None,
    whole_ids: bool | None = None,
    with_context: bool = True,
    repeated_items: bool = False,
    mixed_rows: Literal["by_top", "by_list"] = "by_top",
) -> ClickLog:
    """Read a click log, and check every row of it.

    Parameters
    ----------
    source : a CSV or TSV file, a Parquet file, a folder of Parquet files or a polars frame, each with one row for each
        item shown; or a folder that ``rankfall export`` wrote. Columns are ``list`` (name or number of the list),
        ``position`` (1 for the top), ``item`` and ``click`` (0 or 1; a list may have several); and, if there are any,
        ``user``, ``segment``, ``time`` (a moment, or seconds since 1970), ``propensity`` (the probability with which
        this list was chosen), and of its request ``context`` (a JSON object) and ``candidate_features`` (a JSON list
        of ``{"id": ..., "features": {...}}``); and of each row ``propensity_given_above`` (the probability of the item
        given those above it), ``propensity_at_position`` (of the item there, whatever stands above), and any number of
        columns such as ``outcome:purchase``: how many of that, or how much, came of the item; nothing or 0 for none.
        Rows may stand in any order; each list has positions 1, 2, ... without a gap.
    columns : names that columns have in this file, such as ``{"item": "product_id"}``.
    model : for an export of several models, the one whose lists are read; all of them by default.
    whole_ids : whether items must be whole numbers (True) or text (False); by default what the log has. In a CSV file
        they are whole numbers if every one of them is written as one.
    with_context : also read user, segment, time, propensities and outcomes.
    repeated_items : allow an item twice in a list.
    mixed_rows : the order of the lists where rows of a list do not all stand together from the top down: by the row of
        their top items, or by their names. Otherwise lists stay in the order of the file.

    >>> rows = {"list": [1, 1, 2], "position": [1, 2, 1], "item": ["a", "b", "a"], "click": [0, 1, 0]}
    >>> log = read_click_log(pl.DataFrame(rows))
    >>> log
    ClickLog(2 lists, 3 rows, 2 items)
    >>> next(iter(log)).clicked
    [1]
    """
    if not isinstance(source, pl.DataFrame | str | Path):
        raise ProblemError(f"a click log is read from a path or a polars frame, got {type(source).__name__}")
    if not isinstance(source, pl.DataFrame) and is_export(Path(source)):
        if columns:
            raise FileError(f"{source} is an export of rankfall, whose columns are known; leave out --column")
        return read_export(Path(source), model=model, whole_ids=whole_ids)
    table = table_of(source if isinstance(source, pl.DataFrame) else Path(source))
    if model is not None:
        raise FileError(f"{table.name} is not an export of rankfall, so it does not say which model showed a list")
    frame = _selected(table, columns, with_context=with_context)
    frame = pl.DataFrame([checked(table, values, whole_ids=whole_ids) for values in frame.get_columns()])
    frame, start = _laid_out(table, frame, mixed_rows)
    _check_context(table, frame, start)
    _check_chances(table, frame, start)
    missing = [pl.lit(None, kind).alias(name) for name, kind in CONTEXT.items() if name not in frame.columns]
    context = frame[start[:-1]].with_columns(missing).select("list", *CONTEXT).with_columns(_outcomes(frame, start))
    chances = {name: frame[column].to_numpy() for column, name in CHANCES.items() if column in frame.columns}
    log = ClickLog.of(start, frame["item"], frame["click"].to_numpy(), context, **chances)
    if not repeated_items:
        _check_items(table, frame, log)
    return log


def _selected(table: Table, columns: Mapping[str, str], *, with_context: bool) -> pl.DataFrame:
    """The columns that are wanted, by our names; all rows."""
    strange = [what for what in columns if what not in COLUMNS and not what.startswith(OUTCOME)]
    if strange:
        raise FileError(f"a click log has no {strange[0]!r}; its columns are {', '.join(COLUMNS)} and {OUTCOME}TYPE")
    there = table.frame.collect_schema().names()
    outcomes = sorted({name for name in (*columns, *there) if name.startswith(OUTCOME)})
    if OUTCOME in outcomes:
        raise FileError(
            f"{table.name}: column {OUTCOME!r} must name the type of the outcome, as {OUTCOME}purchase does"
        )
    named = {what: columns.get(what, what) for what in (*COLUMNS, *outcomes)}
    for what, name in named.items():
        if name not in there and (what in NEEDED or what in columns):
            raise FileError(
                f"{table.name} has no column {name!r}; needed are {', '.join(NEEDED)}; it has {', '.join(there)}. "
                f"--column {what}=NAME says which of them holds it"
            )
    wanted = [what for what in named if named[what] in there and (with_context or what in NEEDED)]
    frame = table.collect(list(dict.fromkeys(named[what] for what in wanted)))
    if not frame.height:
        raise FileError(f"{table.name} has no rows")
    return frame.select(pl.col(named[what]).alias(what) for what in wanted)


def _outcomes(frame: pl.DataFrame, start: IntArray) -> pl.Series:
    """(lists,) what came of the items of each list, from the top down."""
    columns = [name for name in frame.columns if name.startswith(OUTCOME)]
    none = pl.Series("outcomes", [[]] * (len(start) - 1), LIST_OUTCOMES)
    if not columns:
        return none
    number = np.repeat(np.arange(len(start) - 1), np.diff(start))
    rows = frame.select("position", *columns).with_columns(number=pl.Series(number))
    told = rows.unpivot(columns, index=["number", "position"], variable_name="type")
    told = told.filter(pl.col("value").is_not_null() & (pl.col("value") != 0.0)).sort("number", "position", "type")
    named = pl.col("type").str.strip_prefix(OUTCOME)
    each = told.group_by("number", maintain_order=True).agg(
        pl.struct((pl.col("position") - 1).alias("position"), named.alias("type"), "value").alias("outcomes")
    )
    found = pl.DataFrame({"number": np.arange(len(start) - 1)}).join(
        each, on="number", how="left", maintain_order="left"
    )
    return found["outcomes"].cast(LIST_OUTCOMES).fill_null(none)


def _laid_out(table: Table, frame: pl.DataFrame, mixed_rows: str) -> tuple[pl.DataFrame, IntArray]:
    """Rows list by list, each from the top down, and where each list starts. Column ``row`` is the row in the file."""
    frame = frame.with_row_index("row")
    runs = frame["list"].rle_id()
    if not _in_order(runs, frame["position"]) or runs[-1] + 1 != frame["list"].n_unique():
        if mixed_rows == "by_list":
            frame = frame.sort("list", "position")
        else:
            top = pl.col("row").sort_by("position").first().over("list")
            frame = frame.sort(top, "position")
        runs = frame["list"].rle_id()
    which = runs.to_numpy()
    start = np.flatnonzero(np.concatenate([[True], which[1:] != which[:-1]]))
    position = frame["position"].to_numpy()
    wrong = np.flatnonzero(position != np.arange(1, len(which) + 1) - start[which])
    if len(wrong):
        at = int(wrong[0])
        name = frame["list"][at]
        positions = frame.filter(pl.col("list") == name)["position"].to_list()
        what = "a position twice" if len(set(positions)) < len(positions) else "a gap"
        raise table.wrong(
            frame["row"][at],
            f"list {name!r} has {what}; expected positions 1, 2, ... {len(positions)}, "
            f"got {', '.join(map(str, positions[:12]))}{', ...' if len(positions) > 12 else ''}",
        )
    return frame, np.append(start, len(which)).astype(np.int64)


def _in_order(runs: pl.Series, position: pl.Series) -> bool:
    """Whether positions ascend within each run of equal lists."""
    which, where = runs.to_numpy(), position.to_numpy()
    return bool(((which[1:] != which[:-1]) | (where[1:] > where[:-1])).all())


def _check_context(table: Table, frame: pl.DataFrame, start: IntArray) -> None:
    """Raise for the first row whose user, segment, time or propensity is not that of its list."""
    top = np.repeat(start[:-1], np.diff(start))
    for name in CONTEXT:
        if name in frame.columns:
            wrong = frame[name].ne_missing(frame[name][top])
            if wrong.any():
                at = int(wrong.arg_max() or 0)
                said = f"{frame[name][int(top[at])]!r} and {frame[name][at]!r}"
                raise table.wrong(
                    frame["row"][at],
                    f"list {frame['list'][at]!r} has more than one {name}: {said}; expected the same in all its rows",
                )


def _check_chances(table: Table, frame: pl.DataFrame, start: IntArray) -> None:
    """Raise for the first list whose chances contradict each other, by more than they may be rounded."""
    if "propensity" in frame.columns and "propensity_given_above" in frame.columns:
        _check_product(table, frame, start)
    if any(column not in frame.columns for column in CHANCES):
        return
    given, alone = (frame[column].to_numpy()[start[:-1]] for column in CHANCES)
    wrong = np.flatnonzero(np.abs(given - alone) > 0.02 * alone)
    if len(wrong):
        n = int(wrong[0])
        raise table.wrong(
            frame["row"][int(start[n])],
            f"at position 1 of list {frame['list'][int(start[n])]!r} propensity_given_above is {given[n]:g} and "
            f"propensity_at_position {alone[n]:g}; nothing stands above, so expected the same",
        )


def _check_product(table: Table, frame: pl.DataFrame, start: IntArray) -> None:
    """Raise for the first list whose propensity is not the product of the chances of its items.

    In logarithms, so that long lists do not come to 0: there each chance may be off by what rounding leaves open.
    """
    whole, each = frame["propensity"].to_numpy(), frame["propensity_given_above"].to_numpy()
    product, slack = (np.add.reduceat(values, start[:-1]) for values in (np.log(each), _slack(each)))
    top, least = start[:-1], np.log(np.finfo(np.float64).tiny)
    apart = np.abs(np.maximum(product, least) - np.maximum(np.log(whole[top]), least))
    wrong = np.flatnonzero(apart > slack + _slack(whole)[top])
    if len(wrong):
        n = int(wrong[0])
        raise table.wrong(
            frame["row"][int(start[n])],
            f"propensity of list {frame['list'][int(start[n])]!r} is {whole[start[n]]:g}, and the product of its "
            f"propensity_given_above {np.exp(product[n]):g}; expected the same",
        )


def _slack(chances: FloatArray) -> FloatArray:
    """How far the logarithm of each chance may be off: by 5 %, or by half of the last decimal that the column has.

    >>> _slack(np.array([0.02, 0.5])).round(2)
    array([0.29, 0.05])
    """
    slack: FloatArray = np.full(len(chances), np.log(1.05))
    for decimals in range(1, 16):
        if np.array_equal(np.round(chances, decimals), chances, equal_nan=True):
            return np.maximum(slack, -np.log1p(-0.5 * 10.0**-decimals / chances), out=slack)
    return slack


def _check_items(table: Table, frame: pl.DataFrame, log: ClickLog) -> None:
    """Raise for the first row whose item stands further up in its list already."""
    which = np.repeat(np.arange(log.lists), np.diff(log.start))
    pairs = pl.Series(which * len(log.items) + log.item)
    if pairs.n_unique() < len(pairs):
        at = int((~pairs.is_first_distinct()).arg_max() or 0)
        raise table.wrong(
            frame["row"][at],
            f"list {frame['list'][at]!r} has item {frame['item'][at]!r} twice; expected different items",
        )
