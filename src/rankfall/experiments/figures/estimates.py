"""Estimates with their intervals: what policies are worth, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from rankfall.experiments.figures.look import markers, styles


class EstimateRow(NamedTuple):
    """One line of the figure: a value with the ends of its interval, in a group, in the colour of its kind.

    Where both ends are the value, only that is drawn; where it is NaN, only what is between the ends.
    """

    group: str
    kind: str
    value: float
    low: float
    high: float


def estimates_figure(
    rows: Sequence[EstimateRow], *, logged: tuple[float, float, float], what: str, title: str = ""
) -> Figure:
    """A line for each estimate, from the top down, group by group; the dashed line is what the log earned.

    ``logged`` is that, with the ends of its interval.
    """
    groups, kinds = (list(dict.fromkeys(each)) for each in ([r.group for r in rows], [r.kind for r in rows]))
    colours, shapes = styles(kinds), markers(kinds)
    figure = Figure(figsize=(8.0, 1.2 + 0.24 * (len(rows) + len(groups))), layout="constrained")
    axes = figure.subplots()
    place, ticks = 0.0, []
    for group in groups:
        own = [row for row in rows if row.group == group]
        ticks.append(place + (len(own) - 1) / 2)
        for row in own:
            colour = colours[row.kind][0]
            axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
            axes.plot([row.value], [place], marker=shapes[row.kind], color=colour, markersize=5)
            place += 1.0
        place += 0.8
    for kind in kinds:
        axes.plot([], [], color=colours[kind][0], marker=shapes[kind], linewidth=1.6, label=kind)
    value, low, high = logged
    axes.axvspan(low, high, color="0.93", linewidth=0.0, zorder=-1)
    axes.axvline(value, color="0.5", linestyle=(0, (4, 2)), linewidth=1.0, zorder=0, label="as logged")
    axes.set_yticks(ticks, labels=groups)
    axes.invert_yaxis()
    axes.set_xlabel(what)
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    return figure
