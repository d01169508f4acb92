"""Topic coverage from a column of a table, whose cells hold names of topics, or weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray, frozen
from rankfall.errors import CatalogError

TOPIC_WEIGHT = 0.5
"""How well an item covers a topic that it merely names, if nobody knows better; docs/catalogs.md has measurements."""


def coverage_of(
    cells: list[Any], topic_names: Sequence[str] | None, topic_weight: float
) -> tuple[FloatArray, tuple[str, ...]]:
    """Coverage matrix and topic names from the cells of a topics column."""
    weights = [_cell(cell, topic_names, topic_weight) for cell in cells]
    occurring = sorted({name for row in weights for name in row})
    names = tuple(occurring if topic_names is None else topic_names)
    column = {name: j for j, name in enumerate(names)}
    unknown = [name for name in occurring if name not in column]
    if unknown:
        raise CatalogError(f"topic {unknown[0]!r} occurs in the frame and is not among topic_names {list(names)}")
    matrix = np.zeros((len(cells), len(names)))
    for row, found in enumerate(weights):
        for name, weight in found.items():
            matrix[row, column[name]] = weight
    return frozen(matrix), names


def _cell(cell: Any, topic_names: Sequence[str] | None, topic_weight: float) -> dict[str, float]:
    """Weights by topic name from one cell of a topics column."""
    if cell is None:
        return {}
    if isinstance(cell, str):
        return {name: topic_weight for name in cell.split("|") if name}
    if isinstance(cell, Mapping):
        return {str(name): weight_of(weight, name) for name, weight in cell.items() if weight is not None}
    values = list(cell)
    if all(isinstance(value, str) for value in values):
        return dict.fromkeys(values, topic_weight)
    if topic_names is None:
        raise CatalogError(f"topics {values!r} are weights without names; give topic_names")
    if len(values) != len(topic_names):
        raise CatalogError(f"topics {values!r} holds {len(values)} weights for {len(topic_names)} topic_names")
    return {name: weight_of(weight, name) for name, weight in zip(topic_names, values, strict=True)}


def weight_of(value: Any, name: object) -> float:
    """A number; the error names what it is of."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise CatalogError(f"{name} must be numbers, got {value!r}") from None
