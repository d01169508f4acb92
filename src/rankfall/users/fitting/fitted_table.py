"""The table in the file of a fitted click model: a row for each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, finite, number, whole
from rankfall.errors import ProblemError

if TYPE_CHECKING:
    from rankfall.users.fitting.fitted import Fitted

Model: TypeAlias = Literal[
    "cascade",
    "examined_cascade",
    "dependent_click",
    "position_based",
    "user_browsing",
    "dynamic_bayesian",
    "simplified_bayesian",
    "click_chain",
]

BY_POSITION: dict[str, Literal["examination", "termination"]] = {
    "examined_cascade": "examination",
    "dependent_click": "termination",
    "position_based": "examination",
    "user_browsing": "examination",
}
"""What a model has a parameter for at each position, if anything."""

CONTINUATION: dict[str, tuple[str, ...]] = {
    "dynamic_bayesian": ("continuation",),
    "simplified_bayesian": ("continuation",),
    "click_chain": ("continuation_after_none", "continuation_after_dull", "continuation_after_attractive"),
}
"""The probabilities of going on that a model has, if any."""

KEY, FORMAT = "rankfall.fitted", 1
COUNTS = ("lists", "iterations", "ignored")


def parameter_table(fitted: Fitted) -> pl.DataFrame:
    """``parameter``, ``item`` or ``position`` (1 for the top), ``value``, and ``views`` of items.

    Where examination depends on the last click, ``last_click`` says at which position it was, 0 for none.
    """
    browsing = fitted.model == "user_browsing"
    parts = []
    name = fitted.by_position
    if browsing:
        position, last = np.tril_indices(fitted.positions)
        parts.append(_rows(fitted, "examination", fitted.examination[position, last], position + 1, last=last))
    elif name is not None:
        parts.append(_rows(fitted, name, getattr(fitted, name), np.arange(1, fitted.positions + 1)))
    for place, each in enumerate(CONTINUATION.get(fitted.model, ())):
        assert fitted.continuation is not None
        parts.append(_rows(fitted, each, fitted.continuation[place : place + 1]))
    if fitted.satisfaction is not None:
        parts.append(_rows(fitted, "satisfaction", fitted.satisfaction, item=fitted.items))
    parts.append(_rows(fitted, "attraction", fitted.attraction, item=fitted.items, views=fitted.views))
    table = pl.concat(parts)
    return table if browsing else table.drop("last_click")


def _rows(
    fitted: Fitted,
    parameter: str,
    value: FloatArray,
    position: Any = None,
    *,
    last: Any = None,
    item: pl.Series | None = None,
    views: Any = None,
) -> pl.DataFrame:
    def column(values: Any, kind: Any) -> pl.Series:
        return pl.Series([None] * len(value) if values is None else values, dtype=kind)

    return pl.DataFrame(
        {
            "parameter": [parameter] * len(value),
            "item": column(item, fitted.items.dtype),
            "position": column(position, pl.Int64),
            "last_click": column(last, pl.Int64),
            "value": column(value, pl.Float64),
            "views": column(views, pl.Float64),
        }
    )


def restored(said: dict[str, Any], table: pl.DataFrame) -> dict[str, Any]:
    """The fields of a :class:`Fitted` from what its file says, checked."""
    if said["format"] != FORMAT:
        raise ValueError(f"its format is {said['format']!r}, expected {FORMAT}")
    model = said["model"]
    if model not in get_args(Model):
        raise ValueError(f"its model is {model!r}, expected one of {', '.join(get_args(Model))}")
    items = _of(table, "attraction")
    if items["item"].null_count() or items["item"].n_unique() < max(1, items.height):
        raise ValueError("it does not have each item once")
    arrays = {name: finite(name, items[column], 1, ProblemError) for name, column in _OF_ITEMS}
    for name in ("examination", "termination"):
        told = name == BY_POSITION.get(model)
        arrays[name] = _by_position(name, table, model) if told else finite(name, said[name], 1, ProblemError)
    if not 0 < len(arrays["examination"]) == len(arrays["termination"]):
        raise ValueError("examination and termination do not have the same positions")
    if model in ("dynamic_bayesian", "simplified_bayesian"):
        satisfaction = _of(table, "satisfaction")
        if not satisfaction["item"].equals(items["item"]):
            raise ValueError("satisfaction and attraction are not of the same items")
        arrays["satisfaction"] = finite("satisfaction", satisfaction["value"], 1, ProblemError)
    if model in CONTINUATION:
        rows = [_of(table, name)["value"].to_list() for name in CONTINUATION[model]]
        if any(len(values) != 1 for values in rows):
            raise ValueError(f"it does not have {' and '.join(CONTINUATION[model])} once")
        arrays["continuation"] = finite("continuation", [value for (value,) in rows], 1, ProblemError)
    for name, array in arrays.items():
        if name != "views" and ((array < 0) | (array > 1)).any():
            raise ValueError(f"{name} holds a value that is not a probability")
    if type(said["converged"]) is not bool:
        raise ValueError(f"converged is {said['converged']!r}")
    counts = {name: whole(name, said[name], ProblemError, low=0) for name in COUNTS}
    likelihood = number("log_likelihood", said["log_likelihood"], ProblemError)
    return {
        "model": model,
        "items": items["item"],
        "log_likelihood": likelihood,
        "converged": said["converged"],
        **arrays,
        **counts,
    }


_OF_ITEMS = (("attraction", "value"), ("views", "views"))


def _of(table: pl.DataFrame, parameter: str) -> pl.DataFrame:
    return table.filter(pl.col("parameter") == parameter)


def _by_position(name: str, table: pl.DataFrame, model: str) -> FloatArray:
    """(positions,), or (positions, positions) where it depends on the last click."""
    rows = _of(table, name)
    values = finite(name, rows["value"], 1, ProblemError)
    found, count = rows["position"].to_list(), rows["position"].n_unique()
    if model != "user_browsing":
        if found != list(range(1, rows.height + 1)):
            raise ValueError(f"{name} does not go from the top down without a gap")
        return values
    position, last = np.tril_indices(count)
    if found != (position + 1).tolist() or rows["last_click"].to_list() != last.tolist():
        raise ValueError(f"{name} does not go from the top down without a gap")
    square = np.zeros((count, count))
    square[position, last] = values
    return square
