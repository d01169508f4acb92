"""Columns of a table of items: what each is taken for, and the rule by which it becomes features.

How it is decided, unless a kind is asked for:

- numbers (in a CSV file: at least half of what is there reads as a number) are scaled. Of a column without values below
  0 whose skewness is above 1 the logarithm is taken, if that makes it less skewed;
- lists of numbers, or text such as ``[0.1, 0.2]``, are embeddings; wider than 16, they are turned to their 16 main
  directions;
- other text is a category: the 20 most frequent levels that at least 1 % of items have, and at least two, become
  indicators. Text that is different for more than half of the items is no category, and dropped;
- a column that says the same of all items is dropped, and so are dates.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray
from rankfall.click_logs.tables import Table
from rankfall.errors import CatalogError
from rankfall.recipe import FURTHEST, Category, Embedding, Number

Kind = Literal["number", "log", "category", "embedding", "drop"]
KINDS: tuple[Kind, ...] = ("number", "log", "category", "embedding", "drop")

WIDEST = 16
"""Features that an embedding gives at most."""
MOST_LEVELS = 20
LEAST_SHARE = 0.01
SKEWED = 1.0

_DATE = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"


@dataclass(frozen=True, eq=False)
class Finding:
    """What became of a column.

    Attributes
    ----------
    column : its name.
    rule : how it becomes features; None if it was dropped.
    cells : its values, as the rule takes them.
    note : what was done, or why it was dropped, in words.
    """

    column: str
    rule: Number | Category | Embedding | None
    cells: list[Any]
    note: str


def look_at(table: Table, values: pl.Series, kind: Kind | None = None) -> Finding:
    """What a column is, and its rule; raises for the first row that does not fit what it is taken for."""
    name, given = values.name, values.drop_nulls()
    if kind == "drop":
        return _dropped(name, "as asked")
    found = kind or _guessed(values)
    if found is None:
        return _dropped(name, _why_not(values))
    if not len(given):
        return _dropped(name, "empty")
    if found in ("number", "log"):
        return _number(table, values, log=None if kind is None else kind == "log")
    return _embedding(table, values) if found == "embedding" else _category(values)


def _dropped(name: str, why: str) -> Finding:
    return Finding(name, None, [], why)


def _guessed(values: pl.Series) -> Kind | None:
    """What a column is by its type and what it holds; None if nothing can be made of it."""
    kind, given = values.dtype, values.drop_nulls()
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return "number"
    if isinstance(kind, pl.List | pl.Array):
        return "embedding" if kind.inner.is_numeric() else None
    if isinstance(kind, pl.Categorical | pl.Enum):
        return "category"
    if kind != pl.String:
        return None
    if given.cast(pl.Float64, strict=False).is_not_null().sum() * 2 >= len(given):
        return "number"
    if given.str.starts_with("[").all():
        return "embedding"
    if given.str.contains(_DATE).sum() * 2 >= len(given) or given.n_unique() * 2 > len(values):
        return None
    return "category"


def _why_not(values: pl.Series) -> str:
    if values.dtype.is_temporal() or (
        values.dtype == pl.String and values.drop_nulls().str.contains(_DATE).sum() * 2 >= len(values.drop_nulls())
    ):
        return "dates are not used as they are; add a column of numbers, such as age_days"
    if values.dtype == pl.String:
        return f"text with {values.n_unique():,} different values for {len(values):,} items; ask for category to use it"
    return f"values of type {values.dtype} cannot be used"


def _number(table: Table, values: pl.Series, *, log: bool | None) -> Finding:
    """Scaled by mean and standard deviation; after a logarithm, if asked, or by the rule if ``log`` is None."""
    name = values.name
    numbers = values.cast(pl.Float64, strict=False)
    _refuse(table, values, numbers.is_null() & values.is_not_null(), "a number, or nothing", "category")
    _refuse(table, values, numbers.is_infinite().fill_null(value=False), "a finite number, or nothing", "drop")
    numbers = numbers.fill_nan(None)
    given = numbers.drop_nulls().to_numpy()
    if not len(given) or given.min() == given.max():
        return _dropped(name, "the same for all items" if len(given) else "empty")
    unit = _log_unit(given) if log or (log is None and _skewed(given)) else None
    if log:
        _refuse(table, values, (numbers < 0).fill_null(value=False), "0 or more, for a logarithm", "number")
    scaled = given if unit is None else np.log1p(given / unit)
    rule = Number(name, center=float(scaled.mean()), scale=float(scaled.std()), log_unit=unit)
    if unit is None:
        notes = ["scaled"]
    else:
        notes = [f"logarithm, scaled (skewness {_skewness(given):.1f} before, {_skewness(scaled):.1f} after)"]
    missing = int(numbers.null_count())
    cut = int((np.abs(scaled - rule.center) > FURTHEST * rule.scale).sum())
    notes += [f"{missing:,} without a value count as the mean"] if missing else []
    notes += [f"{cut:,} cut off at {FURTHEST:g} standard deviations"] if cut else []
    return Finding(name, rule, numbers.to_list(), "; ".join(notes))


def _refuse(table: Table, values: pl.Series, wrong: pl.Series, expected: str, instead: str) -> None:
    if wrong.any():
        row, more = int(wrong.arg_max() or 0), int(wrong.sum()) - 1
        others = f" ({more:,} more rows are like it)" if more else ""
        raise table.wrong(
            row,
            f"{values.name} is {values[row]!r}; expected {expected}{others}. "
            f"--as {values.name}={instead} takes the column as it is meant, --as {values.name}=drop leaves it out",
        )


def _skewness(values: FloatArray) -> float:
    apart = values - values.mean()
    return float((apart**3).mean() / max((apart**2).mean(), 1e-300) ** 1.5)


def _skewed(values: FloatArray) -> bool:
    """Whether a logarithm is of use."""
    if values.min() < 0 or _skewness(values) <= SKEWED:
        return False
    return abs(_skewness(np.log1p(values / _log_unit(values)))) < _skewness(values)


def _log_unit(values: FloatArray) -> float:
    """The unit of ``log(1 + value / unit)``: small beside most values, so that the logarithm is one, and fine at 0."""
    positive = values[values > 0]
    return float(np.quantile(positive, 0.05)) if len(positive) else 1.0


def _category(values: pl.Series) -> Finding:
    name, items = values.name, len(values)
    texts = values.cast(pl.String)
    counts = texts.drop_nulls().value_counts(sort=True).sort(["count", name], descending=[True, False])
    if counts.height < 2 and not texts.null_count():
        return _dropped(name, "the same for all items")
    enough = counts.filter(pl.col("count") >= max(2, LEAST_SHARE * items)).head(MOST_LEVELS)
    if not enough.height:
        return _dropped(name, f"none of {counts.height:,} levels has {max(2, round(LEAST_SHARE * items))} items")
    levels = tuple(enough[name].to_list())
    rest = items - int(enough["count"].sum())
    other = (
        f"; {rest:,} items of {counts.height - len(levels):,} other levels, or without any, are other" if rest else ""
    )
    return Finding(name, Category(name, levels), texts.to_list(), f"indicators of {len(levels)} levels{other}")


def _embedding(table: Table, values: pl.Series) -> Finding:
    name = values.name
    cells = [_vector(table, values, row, cell) for row, cell in enumerate(values.to_list())]
    given = [cell for cell in cells if cell is not None]
    width = len(given[0])
    for row, cell in enumerate(cells):
        if cell is not None and len(cell) != width:
            raise table.wrong(
                row, f"{name} has {len(cell)} numbers; expected {width}, as in the first row that has any"
            )
    matrix = np.array(given, dtype=np.float64).reshape(len(given), width)
    center = matrix.mean(axis=0)
    apart, directions, note = matrix - center, None, f"{width} numbers"
    if width > WIDEST:
        main = _main_directions(apart, min(WIDEST, len(given)))
        share = ((apart @ main.T) ** 2).sum() / max((apart**2).sum(), 1e-300)
        directions = tuple(tuple(row) for row in main.tolist())
        apart = apart @ main.T
        note = f"{width} numbers, turned to {len(main)} main directions, which have {share:.0%} of the variance"
    length = float(np.sqrt((apart**2).sum(axis=1).mean()))
    if length == 0:
        return _dropped(name, "the same for all items")
    missing = len(cells) - len(given)
    note += f"; {missing:,} without a value count as the mean" if missing else ""
    return Finding(name, Embedding(name, tuple(center.tolist()), length, directions), cells, note)


def _main_directions(apart: FloatArray, count: int) -> FloatArray:
    """The directions of largest variance: (count, width). The entry of largest magnitude of each is positive."""
    _, vectors = np.linalg.eigh(apart.T @ apart)
    main = vectors[:, ::-1][:, :count].T
    signed: FloatArray = main * np.sign(main[np.arange(len(main)), np.abs(main).argmax(axis=1)])[:, None]
    return signed


def _vector(table: Table, values: pl.Series, row: int, cell: Any) -> list[float] | None:
    """The numbers in a cell, or in its text."""
    if cell is None:
        return None
    try:
        made = [float(each) for each in (json.loads(cell) if isinstance(cell, str) else cell)]
        if made and np.isfinite(made).all():
            return made
    except (ValueError, TypeError):
        pass
    shown = str(cell)[:60]
    raise table.wrong(
        row, f"{values.name} is {shown!r}; expected a list of finite numbers, such as [0.1, 0.2], or nothing"
    )


def check_kind(column: str, kind: str) -> Kind:
    """The kind, if it is one."""
    if kind not in KINDS:
        raise CatalogError(f"column {column!r} as {kind!r}; choose from {', '.join(KINDS)}")
    return kind
