"""The table in the file of a fitted hybrid user: items with their features, groups with the weights of the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, finite
from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.item_names import feature_columns
from rankfall.users.fitting.hybrid_columns import WHOLE, AttractionKind, HybridModel

if TYPE_CHECKING:
    from rankfall.users.fitting.fitted_hybrid import FittedHybrid

HYBRID_KEY = "rankfall.fitted_hybrid"
"""Metadata by which a file says what it holds."""

FORMAT = 1
SAID = (
    "model",
    "attraction",
    "by",
    "ridge",
    "shrinkage",
    "log_likelihood",
    "lists",
    "left_out",
    "iterations",
    "converged",
    "ignored",
)
"""Fields that stand in the metadata as they are."""

_COVERAGE, _RELEVANCE = "coverage:", "relevance:"


def hybrid_table(fitted: FittedHybrid) -> pl.DataFrame:
    """Items with their features, then groups with the weights of the same columns."""
    catalog, items = fitted.catalog, len(fitted.catalog)
    text = bool(catalog.ids) and isinstance(catalog.ids[0], str)
    ids = pl.Series("item", list(catalog.ids), dtype=pl.String if text else pl.Int64)
    features = {f"{_COVERAGE}{name}": j for j, name in enumerate(catalog.topics)}
    plain = {name: j for j, name in enumerate(feature_columns(catalog.features))}
    shown = pl.DataFrame(
        {
            "row": ["item"] * items,
            "item": ids,
            "title": pl.Series(catalog.titles or [None] * items, dtype=pl.String),
            "group": pl.Series([None] * items, dtype=pl.String),
            "views": fitted.views,
            "lists": pl.Series([None] * items, dtype=pl.Int64),
            "constant": pl.Series([None] * items, dtype=pl.Float64),
            **{name: catalog.coverage[:, j] for name, j in features.items()},
            **{name: catalog.relevance[:, j] for name, j in plain.items()},
        }
    )
    groups = len(fitted.groups)
    weights = pl.DataFrame(
        {
            "row": ["weights"] * groups,
            "item": pl.Series([None] * groups, dtype=ids.dtype),
            "title": pl.Series([None] * groups, dtype=pl.String),
            "group": fitted.groups,
            "views": pl.Series([None] * groups, dtype=pl.Float64),
            "lists": fitted.group_lists,
            "constant": fitted.constant,
            **{name: fitted.theta[:, j] for name, j in features.items()},
            **{name: fitted.beta[:, j] for name, j in plain.items()},
        }
    )
    return pl.concat([shown, weights])


def restored(said: dict[str, Any], table: pl.DataFrame) -> dict[str, Any]:
    """The fields of a :class:`FittedHybrid`, checked."""
    if said["format"] != FORMAT:
        raise ValueError(f"its format is {said['format']!r}, expected {FORMAT}")
    for name, allowed in (("model", get_args(HybridModel)), ("attraction", get_args(AttractionKind))):
        if said[name] not in allowed:
            raise ValueError(f"its {name} is {said[name]!r}, expected one of {', '.join(allowed)}")
    coverage = [name for name in table.columns if name.startswith(_COVERAGE)]
    relevance = [name for name in table.columns if name.startswith(_RELEVANCE)]
    items, weights = (table.filter(pl.col("row") == kind) for kind in ("item", "weights"))
    catalog = Catalog(
        _block(items, coverage),
        _block(items, relevance),
        ids=items["item"].to_list(),
        titles=None if items["title"].null_count() else items["title"].to_list(),
        topics=[name.removeprefix(_COVERAGE) for name in coverage],
        features=said.get("features"),  # files of earlier versions have no names of features
    )
    examination = finite("examination", said["examination"], 1, ProblemError)
    if not len(examination) or ((examination < 0) | (examination > 1)).any():
        raise ValueError("examination is not a probability for each position")
    groups = tuple(weights["group"].to_list())
    if not groups or groups[0] != WHOLE or len(set(groups)) < len(groups):
        raise ValueError("it does not have weights of the whole first, and of each group once")
    return {
        **{name: said[name] for name in SAID},
        "catalog": catalog,
        "groups": groups,
        "theta": finite("theta", _block(weights, coverage), 2, ProblemError),
        "beta": finite("beta", _block(weights, relevance), 2, ProblemError),
        "constant": finite("constant", weights["constant"], 1, ProblemError),
        "examination": examination,
        "views": finite("views", items["views"], 1, ProblemError),
        "group_lists": weights["lists"].to_numpy(),
    }


def _block(table: pl.DataFrame, columns: list[str]) -> FloatArray:
    if not columns:
        return np.empty((table.height, 0))
    return table.select(columns).to_numpy().astype(np.float64)
