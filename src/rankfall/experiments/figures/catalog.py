"""A catalog in one picture: how well items cover each topic, and how each feature is spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from rankfall.arrays import FloatArray
from rankfall.catalog import Catalog

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 40
"""Topics or features drawn at most."""

_COVERAGE, _FEATURES = "#D55E00", "#0072B2"
_LONGEST_NAME = 28


def catalog_figure(catalog: Catalog) -> Figure:
    """Two panels, a line for each topic and each feature.

    The line goes from the 5th to the 95th percentile of the items, the thick part from the 25th to the 75th, and the
    dot is the median. Coverage is of the items of the topic only; topics with the most items come first.
    """
    x = catalog.coverage
    order = np.argsort(-(x > 0).sum(axis=0), kind="stable")[:MOST]
    topics = [(f"{_short(catalog.topics[j])} ({int((x[:, j] > 0).sum()):,})", x[x[:, j] > 0, j]) for j in order]
    shown = range(min(MOST, catalog.n_features))
    features = [(_short(catalog.features[j]), catalog.relevance[:, j]) for j in shown]
    rows = max(len(topics), len(features), 4)
    figure = Figure(figsize=(10.0, 1.1 + 0.21 * rows), layout="constrained")
    left, right = figure.subplots(1, 2)
    _spread(left, topics, _COVERAGE, "coverage by topic (number of items)", catalog.n_topics)
    _spread(right, features, _FEATURES, "features", catalog.n_features)
    for axes in (left, right):
        axes.set_ylim(rows - 0.4, -0.6)
    left.set_xlim(0, max(0.05, left.get_xlim()[1]))
    right.axvline(0, color="0.6", linewidth=0.7, zorder=0)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _spread(axes: Axes, rows: Sequence[tuple[str, FloatArray]], colour: str, title: str, there: int) -> None:
    """One line for each row, from the top down."""
    for place, (_, values) in enumerate(rows):
        if len(values):
            low, lower, middle, upper, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
            axes.plot([low, high], [place, place], color=colour, linewidth=1.2, solid_capstyle="butt")
            axes.plot([lower, upper], [place, place], color=colour, linewidth=4.5, alpha=0.45, solid_capstyle="butt")
            axes.plot([middle], [place], marker="o", markersize=4, color=colour, markeredgecolor="white")
    axes.set_yticks(range(len(rows)), labels=[name for name, _ in rows], fontsize=8)
    more = f"; the first {len(rows)} of {there}" if there > len(rows) else ""
    axes.set_title(f"{title}{more}" if rows else f"no {title.split()[0]}", fontsize=10, loc="left")
    axes.tick_params(axis="x", labelsize=8, width=0.6, length=2.5)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
