"""How a step grows, drawn."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from rankfall.experiments.bench.growth import FIRST, Growth
from rankfall.experiments.figures import styles


def growth_figure(rows: Sequence[Growth]) -> Figure:
    """How a step grows with items, positions, topics and features: one panel each, logarithmic.

    Every policy has two lines: a strong one for a model that has learned, a faint one for a new one.
    """
    varied = list(dict.fromkeys(row.varied for row in rows))
    figure = Figure(figsize=(3.2 * len(varied), 3.6), layout="constrained")
    names = list(dict.fromkeys(row.policy for row in rows))
    panels = figure.subplots(1, len(varied), sharey=True, squeeze=False)[0]
    for panel, (what, axes) in enumerate(zip(varied, panels, strict=True)):
        for name, (colour, dashes) in styles(names).items():
            for model, marker, strength in (("learned", "o", 1.0), ("new", "^", 0.45)):
                points = [
                    (row.value, row.ours) for row in rows if (row.varied, row.policy, row.model) == (what, name, model)
                ]
                axes.plot(
                    *zip(*points, strict=True), color=colour, linestyle=dashes, marker=marker, markersize=3,
                    alpha=strength, label=name if model == "learned" else None,
                )  # fmt: skip
        values = sorted({row.value for row in rows if row.varied == what})
        axes.set(xscale="log", yscale="log", xlabel=what, ylabel="microseconds a step" if panel == 0 else "")
        axes.set_xticks(values, labels=[EngFormatter(sep="")(value) for value in values], minor=False)
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9")
    lines, labels = figure.axes[0].get_legend_handles_labels()
    kinds = {f"the first {FIRST} lists of a new model": ("^", 0.45), "a model that has learned": ("o", 1.0)}
    for label, (marker, strength) in kinds.items():
        lines.append(Line2D([], [], color="0.3", marker=marker, markersize=3, alpha=strength))
        labels.append(label)
    figure.legend(lines, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
