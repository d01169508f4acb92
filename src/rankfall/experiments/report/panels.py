"""Which rows of panels the figure of a study has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfall.experiments.expansion import axis_columns, axis_text, value_text
from rankfall.experiments.figures import Panels
from rankfall.experiments.plan import Plan, Setup
from rankfall.experiments.result_table import is_number
from rankfall.experiments.study import Sweep

_ROWS = 4
"""Of a sweep with several axes, so many rows are drawn at most; the tables have them all."""


@dataclass(frozen=True)
class AxisName:
    """What to call an axis: in titles, below a panel; and where regret over steps is shown."""

    symbol: str
    label: str
    shown: tuple[float, ...] = ()


def panels_of(plan: Plan, names: Mapping[str, AxisName]) -> list[Panels]:
    """A row for each sweep; of one with several axes, a row for each combination of all but the longest.

    Points of two sweeps that coincide are shown over steps once.
    """
    columns = axis_columns(plan.study)
    setups: dict[tuple[str, int], set[Setup]] = {}
    for entry, setup in plan.rows:
        setups.setdefault((entry.sweep, entry.point), set()).add(setup)
    rows, drawn = [], []
    for sweep in plan.study.sweeps:
        main = _main_axis(sweep)
        groups: dict[tuple[Any, ...], list[int]] = {}
        for index, point in enumerate(sweep.points):
            others = () if sweep.together else tuple((path, point[path]) for path in sweep.axes if path != main)
            groups.setdefault(others, []).append(index)
        name = names.get(main, AxisName(columns[main], columns[main]))
        keys = list(groups)
        chosen = np.unique(np.linspace(0, len(keys) - 1, min(_ROWS, len(keys))).round().astype(int))
        for key in (keys[place] for place in chosen):
            values = tuple(_place(sweep.points[index][main]) for index in groups[key])
            also = ", ".join(axis_text(columns[path], value) for path, value in key)
            points = tuple(groups[key])
            twice = frozenset(place for place, point in enumerate(points) if setups[sweep.name, point] in drawn)
            rows.append(Panels(sweep.name, points, values, name.symbol, name.label, name.shown, also, twice))
            drawn += [setups[sweep.name, points[place]] for place in rows[-1].chosen]
    return rows


def _main_axis(sweep: Sweep) -> str:
    """The axis to draw along: one of numbers if there is one, and of these the longest."""
    return max(sweep.axes, key=lambda path: (all(map(is_number, sweep.axes[path])), len(sweep.axes[path])))


def _place(value: Any) -> Any:
    return value if is_number(value) else value_text(value)
