"""The figure of a study without sweeps: each case over steps, and by name at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rankfall.experiments.figures.look import DISTINCT, Look, plain_axes, short_numbers
from rankfall.experiments.statistics import final, half_width

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

_COLOURED = 5


def cases_figure(
    means: pl.DataFrame,
    published: Mapping[str, float] | None = None,
    over: str = "users",
    curves: pl.DataFrame | None = None,
    along: str = "step",
) -> Figure:
    """Regret of every case over steps, and final regret by name with its interval, beside published values.

    ``means`` is what :func:`rankfall.experiments.statistics.means` gives. More cases than can be told apart are put in
    order of regret on logarithmic axes, with the lowest ones in colour. ``curves`` are drawn in the place of means over
    steps, ``along`` something else.
    """
    last = final(means)
    names = last["case"].to_list()
    many = len(names) > DISTINCT
    if many:
        names = last.sort("regret")["case"].to_list()
    look, drawn = Look(names), means if curves is None else curves
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6}):
        figure = Figure(figsize=(7.6, max(2.6, 1.2 + 0.17 * len(names))), layout="constrained")
        left, ends = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
        for place, name in reversed(list(enumerate(names))):
            colour = look.colour(name) if not many or place < _COLOURED else "0.75"
            _curve(left, drawn.filter(case=name), colour, look, name, many)
            row = last.filter(case=name).row(0, named=True)
            half = half_width(row["regret_error"], row["units"])
            bar = None if math.isnan(half) else half
            ends.errorbar(row["regret"], place, xerr=bar, fmt="o", color=colour, markersize=4, linewidth=1.2)
            if published and name in published:
                ends.plot(published[name], place, marker="D", color="none", markeredgecolor="black", markersize=5)
        left.set_xlim(drawn["step"].min() if many else 0, drawn["step"].max())  # a logarithm has no 0
        _finish(left, ends, names, last["step"][0], many, over, along)
        if published:
            ends.plot([], [], linestyle="none", marker="D", color="none", markeredgecolor="black", label="published")
            ends.legend(frameon=False, loc="best")
    return figure


def _curve(axes: Axes, rows: pl.DataFrame, colour: str, look: Look, name: str, many: bool) -> None:
    rows = rows.filter(rows["regret"] > 0) if many else rows
    steps, mean, error = (rows[column].to_numpy() for column in ("step", "regret", "regret_error"))
    style = {"linewidth": 1.0} if many else {**look.line(name), "marker": None}
    axes.plot(steps, mean, **{**style, "color": colour})
    if not many:
        axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)


def _finish(curves: Axes, ends: Axes, names: list[str], steps: int, many: bool, over: str, along: str) -> None:
    shade = along if many else f"{along} (shade: \N{PLUS-MINUS SIGN} 1 standard error over {over})"
    curves.set(xlabel=shade, ylabel="cumulative regret")
    if many:
        curves.set(xscale="log", yscale="log")
        ends.set(xscale="log")
    else:
        plain_axes(curves)
        curves.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        curves.xaxis.set_major_formatter(short_numbers())
        ends.set_xlim(left=min(0.0, ends.get_xlim()[0]) if ends.dataLim.x0 < 0 else 0)
        ends.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        ends.xaxis.set_major_formatter(short_numbers())
    ends.set(xlabel=f"regret after {steps:,} steps, 95 % interval")
    ends.set_yticks(range(len(names)), names, fontsize=7)
    ends.set_ylim(len(names) - 0.5, -0.5)
    for axes in (curves, ends):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
