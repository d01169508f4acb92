"""The figure of a study with sweeps: for each, regret over steps at some points, and final regret at all of them."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from rankfall.experiments.figures.look import Look, plain_axes, short_numbers

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

_SHOWN = 3
"""At so many points of a row regret is shown over steps, at most."""

_LINE = 24  # characters of a line in titles
_FAR = 4.0  # final regrets that differ by more than this factor are drawn on a logarithmic axis
_CROWDED = 0.04  # numbers nearer to each other than this share of their range are drawn at even distances
_COLUMNS = 12  # panels of a row share this many, so that two, three or four of them fill it


@dataclass(frozen=True)
class Panels:
    """A row of panels.

    Attributes
    ----------
    sweep : its name in the table of means.
    points : those that belong to the row, in order.
    values : where each of them lies on the axis: numbers, or words.
    symbol, label : what to call the axis in titles, and below the last panel.
    shown : values at which to show regret over steps; of those not there, the nearest.
    also : what else is the same for the whole row; stands above its first panel.
    elsewhere : places in ``values`` that another row shows over steps already.
    """

    sweep: str
    points: tuple[int, ...]
    values: tuple[Any, ...]
    symbol: str
    label: str
    shown: tuple[float, ...] = ()
    also: str = ""
    elsewhere: frozenset[int] = frozenset()

    @property
    def numeric(self) -> bool:
        """Whether the axis is one of numbers."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)

    @property
    def crowded(self) -> bool:
        """Whether some numbers are too near each other to be told apart on an axis to scale, as 0, 0.03, 0.1 ... 3."""
        values = np.unique(self.values) if self.numeric else np.empty(0)
        return len(values) > 1 and bool(np.diff(values).min() < _CROWDED * np.ptp(values))

    def named(self, place: int) -> str:
        """One value in words: numbers with their symbol, words as they are, in short lines."""
        value = self.values[place]
        return f"{self.symbol} = {value:g}" if self.numeric else textwrap.fill(str(value), _LINE)

    @property
    def chosen(self) -> list[int]:
        """Places in ``values`` at which to show regret over steps."""
        left = [place for place in range(len(self.values)) if place not in self.elsewhere]
        if self.numeric and self.shown:
            return [left[place] for place in _nearest(self.shown, [self.values[place] for place in left])]
        last = len(left) - 1
        places = set(np.linspace(0, last, min(_SHOWN, last + 1)).round().astype(int).tolist())
        return [left[place] for place in sorted(places)]


def sweeps_figure(
    means: pl.DataFrame,
    rows: Sequence[Panels],
    names: Sequence[str],
    over: str = "users",
    curves: pl.DataFrame | None = None,
    along: str = "step",
) -> Figure:
    """A row of panels for each sweep; shades and bars are standard errors over users, as a line below says.

    ``means`` is what :func:`rankfall.experiments.statistics.means` gives, ``names`` the cases in order, ``over`` says
    over what the means are taken. ``curves`` are drawn in the place of means over steps, ``along`` something else.
    """
    look = Look(names)
    with mpl.rc_context({"font.size": 7, "axes.titlesize": 7.5, "axes.titlepad": 3, "axes.linewidth": 0.6}):
        figure = Figure(figsize=(7.2, 1.62 * len(rows) + 0.56), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)  # type: ignore[union-attr,call-arg]
        grid = figure.add_gridspec(len(rows), _COLUMNS)
        letters = (f"({letter})" for letter in string.ascii_lowercase + string.ascii_uppercase)
        for index, row in enumerate(rows):
            data = means.filter(sweep=row.sweep)
            drawn = data if curves is None else curves.filter(sweep=row.sweep)
            places = [*row.chosen, None] if len(row.points) > 1 or not row.chosen else row.chosen
            width = _COLUMNS // len(places)
            for panel, place in enumerate(places):
                axes = figure.add_subplot(grid[index, panel * width : (panel + 1) * width])
                above = f"{row.also}\n" if row.also and panel == 0 else ""
                if place is None:
                    _finals(axes, data, row, look)
                    axes.set(xlabel=row.label, ylabel="final regret, log scale" if _log(axes) else "final regret")
                    axes.set_title(f"{next(letters)} by {row.symbol}", loc="left")
                else:
                    _over_steps(axes, drawn.filter(point=row.points[place]), look, along)
                    axes.set_ylabel("regret" if panel == 0 else "")
                    axes.set_title(f"{above}{next(letters)} {row.named(place)}", loc="left")
        figure.supxlabel(
            f"Less regret is better. Shades and bars: \N{PLUS-MINUS SIGN} 1 standard error over {over}.",
            fontsize=6.5,
            color="0.35",
        )
        figure.legend(
            handles=look.handles(),
            loc="outside upper center",
            ncols=min(5, len(look.names)),
            frameon=False,
            handlelength=3.4,
            columnspacing=1.6,
        )
    return figure


def _log(axes: Axes) -> bool:
    """Whether the axis of regret is logarithmic, so that the lowest can be told apart below one that is far off."""
    return axes.get_yscale() == "log"


def _nearest(wanted: Sequence[float], available: Sequence[float]) -> list[int]:
    """For each wanted value the place of the nearest that is left, in order.

    >>> _nearest([5, 10, 20], [5.0, 10.0, 15.0, 18.0])
    [0, 1, 3]
    """
    left = dict(enumerate(available))
    chosen = []
    for value in wanted[: len(left)]:
        best = min(left, key=lambda place: abs(left[place] - value))
        del left[best]
        chosen.append(best)
    return sorted(chosen)


def _over_steps(axes: Axes, data: pl.DataFrame, look: Look, along: str) -> None:
    """Regret over steps, standard errors shaded."""
    for index, name in enumerate(look.names):
        rows = data.filter(case=name)
        if rows.is_empty():
            continue
        steps, mean, error = (rows[column].to_numpy() for column in ("step", "regret", "regret_error"))
        # A few markers, each case's at steps of its own, so that they do not hide one another.
        at = (np.arange(4) + 0.4 + 0.6 * index / len(look.names)) / 4 * steps[-1]
        marked = sorted(set(np.abs(steps[:, None] - at).argmin(axis=0).tolist()))
        axes.plot(steps, mean, markevery=marked, **look.line(name))
        axes.fill_between(steps, mean - error, mean + error, color=look.colour(name), alpha=0.2, linewidth=0)
    axes.set_xlabel(along)
    axes.set_xlim(0, data["step"].max())  # type: ignore[arg-type]
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(short_numbers())
    plain_axes(axes)


def _finals(axes: Axes, data: pl.DataFrame, row: Panels, look: Look) -> None:
    """Final regret at every point of a row, standard errors as bars."""
    to_scale = row.numeric and not row.crowded
    places = list(row.values) if to_scale else list(range(len(row.values)))
    if row.crowded:
        places = [sorted(set(row.values)).index(value) for value in row.values]
    where = dict(zip(row.points, places, strict=True))
    last = data.filter(data["step"] == data["step"].max())
    apart = 0.008 * (max(places) - min(places))  # cases stand side by side, so that bars do not hide one another
    for index, name in enumerate(look.names):
        rows = last.filter(case=name).filter(last.filter(case=name)["point"].is_in(list(where)))
        found = {point: (mean, error) for point, mean, error in rows.select("point", "regret", "regret_error").rows()}
        points = sorted((point for point in row.points if point in found), key=lambda point: where[point])
        mean = np.array([found[point][0] for point in points])
        error = np.array([np.nan if found[point][1] is None else found[point][1] for point in points])
        bars = None if np.isnan(error).all() else np.nan_to_num(error)
        beside = np.array([where[point] for point in points]) + apart * (index - (len(look.names) - 1) / 2)
        axes.errorbar(beside, mean, yerr=bars, elinewidth=0.8, capsize=1.6, capthick=0.8, **look.line(name))
    if to_scale:
        ticks = sorted(places)
        axes.set_xticks(ticks[:: -(-len(ticks) // 6)])
    elif row.crowded:
        axes.set_xticks(places, [f"{value:g}" for value in row.values])
    else:
        words = [textwrap.fill(str(value).replace("_", " "), max(8, 36 // len(places))) for value in row.values]
        axes.set_xticks(places, words, fontsize=6)
        axes.margins(x=0.6 / len(places))
    plain_axes(axes)
    values = last.filter(last["point"].is_in(list(where)))["regret"].to_list()
    if values and 0 < _FAR * min(values) < max(values):
        axes.set_yscale("log")
        axes.set_ylim(0.7 * min(values), 1.4 * max(values))
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(short_numbers())
