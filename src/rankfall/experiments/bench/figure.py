"""How a step grows, drawn."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from rankfall.experiments.bench.measure import Growth
from rankfall.experiments.figures import styles


def growth_figure(rows: Sequence[Growth]) -> Figure:
    """How a step grows with items, positions, topics and features: one panel each, logarithmic."""
    varied = list(dict.fromkeys(row.varied for row in rows))
    figure = Figure(figsize=(3.2 * len(varied), 3.2), layout="constrained")
    names = list(dict.fromkeys(row.policy for row in rows))
    panels = figure.subplots(1, len(varied), sharey=True, squeeze=False)[0]
    for panel, (what, axes) in enumerate(zip(varied, panels, strict=True)):
        for name, (colour, dashes) in styles(names).items():
            points = [(row.value, row.ours) for row in rows if (row.varied, row.policy) == (what, name)]
            axes.plot(*zip(*points, strict=True), color=colour, linestyle=dashes, marker="o", markersize=3, label=name)
        values = sorted({row.value for row in rows if row.varied == what})
        axes.set(xscale="log", yscale="log", xlabel=what, ylabel="microseconds a step" if panel == 0 else "")
        axes.set_xticks(values, labels=[EngFormatter(sep="")(value) for value in values], minor=False)
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure
