"""Figures: one colour and one dash pattern for each policy, in every figure; readable in grey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from rankfall.errors import ProblemError
from rankfall.experiments.results import averages, checked, final
from rankfall.files import replacing

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from rankfall.experiments.bench.measure import Growth

# Okabe and Ito's palette, told apart by all common kinds of colour vision; dashes tell lines apart in grey.
_STYLES: dict[str, tuple[str, Any]] = {
    "CascadeHybrid": ("#D55E00", "solid"),
    "CascadeLinUCB": ("#0072B2", (0, (6, 2))),
    "CascadeLinUCBFull": ("#56B4E9", (0, (6, 2, 1, 2))),
    "CascadeLSB": ("#009E73", (0, (1, 1.2))),
    "CascadeLSBFull": ("#CC79A7", (0, (3, 1, 1, 1, 1, 1))),
}
_SPARE: tuple[tuple[str, Any], ...] = (
    ("#000000", (0, (2, 2))),
    ("#E69F00", (0, (8, 3))),
    ("#7F7F7F", (0, (5, 1, 1, 1))),
    ("#8C564B", (0, (1, 3))),
)

_MARKERS = {
    "CascadeHybrid": "o",
    "CascadeLinUCB": "s",
    "CascadeLinUCBFull": "D",
    "CascadeLSB": "^",
    "CascadeLSBFull": "v",
}
_SPARE_MARKERS = ("X", "P", "*", "h")

_SYMBOLS = {"tradeoff": "λ", "topics": "d", "positions": "K"}
_AXES = {"tradeoff": "tradeoff λ", "topics": "number of topics d", "positions": "number of positions K"}
_SHOWN: dict[str, tuple[float, ...]] = {"tradeoff": (0.1, 0.5, 0.9), "topics": (5, 10, 20), "positions": (5, 10, 20)}


def in_order(policies: Iterable[str]) -> list[str]:
    """Each policy once: those we know in the order of the paper, then the others by name."""
    names = set(policies)
    return [*(name for name in _STYLES if name in names), *sorted(names - set(_STYLES))]


def styles(policies: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Colour and dashes for each policy; the ones we know always look the same."""
    unknown = [name for name in policies if name not in _STYLES]
    spare = {name: _SPARE[i % len(_SPARE)] for i, name in enumerate(unknown)}
    return {name: _STYLES.get(name) or spare[name] for name in policies}


def markers(policies: Sequence[str]) -> dict[str, str]:
    """A marker for each policy, to go with its colour and dashes."""
    unknown = [name for name in policies if name not in _MARKERS]
    spare = {name: _SPARE_MARKERS[i % len(_SPARE_MARKERS)] for i, name in enumerate(unknown)}
    return {name: _MARKERS.get(name) or spare[name] for name in policies}


def regret(summary: pl.DataFrame, title: str = "") -> Figure:
    """Cumulative regret over steps, one line for each policy, standard errors shaded.

    ``summary`` is what :func:`rankfall.experiments.results.summary` gives.
    """
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    names = summary["policy"].unique(maintain_order=True).to_list()
    for name, (colour, dashes) in styles(names).items():
        rows = summary.filter(policy=name)
        steps, mean, error = (rows[column].to_numpy() for column in ("step", "regret", "regret_error"))
        axes.plot(
            steps,
            mean,
            color=colour,
            linestyle=dashes,
            linewidth=2.2 if name == "CascadeHybrid" else 1.6,
            label=name,
        )
        axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    axes.set(xlabel="step", ylabel="cumulative regret", title=title)
    axes.margins(x=0)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9")
    axes.legend(frameon=False, handlelength=3.2, title=None)
    return figure


def many(summary: pl.DataFrame, title: str = "") -> Figure:
    """Regret of more policies than a legend can hold: each over steps, in logarithms, and by name at the end.

    ``summary`` is what :func:`rankfall.experiments.results.summary` gives. The five lowest are drawn in colour.
    """
    last = summary.filter(summary["step"] == summary["step"].max()).sort("regret")
    names = last["policy"].to_list()
    figure = Figure(figsize=(9.6, 1.4 + 0.2 * max(len(names), 12)), layout="constrained")
    curves, ends = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
    colours = [colour for colour, _ in _STYLES.values()]
    for place, name in reversed(list(enumerate(names))):
        colour, width = (colours[place], 1.8) if place < len(colours) else ("0.75", 0.8)
        rows = summary.filter((summary["policy"] == name) & (summary["regret"] > 0)).sort("step")
        curves.plot(rows["step"].to_numpy(), rows["regret"].to_numpy(), color=colour, linewidth=width)
        end = last.row(place, named=True)
        error = 1.96 * (end["regret_error"] or 0.0)
        ends.errorbar(end["regret"], place, xerr=error, fmt="o", color=colour, markersize=4, linewidth=1.2)
    curves.set(xscale="log", yscale="log", xlabel="step", ylabel="cumulative regret", title=title)
    ends.set(xscale="log", xlabel=f"regret after {last['step'][0]:,} steps, 95 % interval")
    ends.set_yticks(range(len(names)), names, fontsize=8)
    ends.invert_yaxis()
    for axes in (curves, ends):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    return figure


def growth(rows: Sequence[Growth]) -> Figure:
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


def paper_figure(runs: pl.DataFrame) -> Figure:
    """The figure of section 4.3: a row for each study, regret over steps for three settings, then all final regrets.

    ``runs`` has a row for each checkpoint of each run, with the columns study, value, policy, user, repeat, step,
    regret, clicks, touched, covered and best. Of settings the paper shows and the runs do not have, the nearest is
    shown; a study without runs has no row. Shades and bars are standard errors over users.
    """
    means = averages(checked(runs))
    present = means["study"].unique().to_list()
    studies = [study for study in _SHOWN if study in present]
    if not studies:
        raise ProblemError(f"runs are of the studies {', '.join(sorted(present))}; known are {', '.join(_SHOWN)}")
    look = _Look(means["policy"].unique().to_list())
    with mpl.rc_context({"font.size": 7, "axes.titlesize": 7.5, "axes.titlepad": 3, "axes.linewidth": 0.6}):
        figure = Figure(figsize=(7.2, 1.62 * len(studies) + 0.42), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)  # type: ignore[union-attr,call-arg]
        grid = figure.subplots(len(studies), 4, squeeze=False)
        letters = iter("abcdefghijkl")
        for row, study in zip(grid, studies, strict=True):
            data = means.filter(study=study)
            shown = _nearest(_SHOWN[study], data["value"].unique().sort().to_list())
            for axes, value in zip(row[:3], shown, strict=False):
                _steps(axes, data.filter(value=value), look)
                axes.set_title(f"({next(letters)}) {_SYMBOLS[study]} = {value:g}", loc="left")
            for axes in row[len(shown) : 3]:
                axes.set_axis_off()
            row[0].set_ylabel("regret")
            _finals(row[3], final(data), look)
            row[3].set(xlabel=_AXES[study], ylabel="final regret")
            row[3].set_title(f"({next(letters)}) all {_SYMBOLS[study]}", loc="left")
        figure.legend(
            handles=look.handles(),
            loc="outside upper center",
            ncols=min(5, len(look.names)),
            frameon=False,
            handlelength=3.4,
            columnspacing=1.6,
        )
    return figure


class _Look:
    """What lines of each policy look like in the panels of one figure."""

    def __init__(self, policies: Sequence[str]) -> None:
        self.names = in_order(policies)
        self._styles, self._markers = styles(self.names), markers(self.names)

    def line(self, name: str) -> dict[str, Any]:
        colour, dashes = self._styles[name]
        return {
            "color": colour,
            "linestyle": dashes,
            "marker": self._markers[name],
            "markersize": 3.8,
            "markeredgecolor": "white",
            "markeredgewidth": 0.3,
            "linewidth": 1.5 if name == "CascadeHybrid" else 1.1,
            "zorder": 3 if name == "CascadeHybrid" else 2,
        }

    def handles(self) -> list[Line2D]:
        return [Line2D([], [], label=name, **{**self.line(name), "markersize": 4.5}) for name in self.names]


def _nearest(wanted: Sequence[float], available: Sequence[float]) -> list[float]:
    """For each wanted value the nearest that is left, in order.

    >>> _nearest([5, 10, 20], [5.0, 10.0, 15.0, 18.0])
    [5.0, 10.0, 18.0]
    """
    left, chosen = list(available), []
    for value in wanted[: len(left)]:
        best = min(left, key=lambda other: abs(other - value))
        left.remove(best)
        chosen.append(best)
    return sorted(chosen)


def _steps(axes: Axes, data: pl.DataFrame, look: _Look) -> None:
    """Regret over steps, standard errors shaded."""
    end = data["step"].max()
    for index, name in enumerate(look.names):
        rows = data.filter(policy=name)
        if rows.is_empty():
            continue
        steps, mean, error = (rows[column].to_numpy() for column in ("step", "regret", "regret_error"))
        # A few markers, each policy's at steps of its own, so that they do not hide one another.
        at = (np.arange(4) + 0.4 + 0.6 * index / len(look.names)) / 4 * steps[-1]
        marked = sorted(set(np.abs(steps[:, None] - at).argmin(axis=0).tolist()))
        axes.plot(steps, mean, markevery=marked, **look.line(name))
        axes.fill_between(steps, mean - error, mean + error, color=look.line(name)["color"], alpha=0.2, linewidth=0)
    axes.set_xlabel("step")
    axes.set_xlim(0, end)  # type: ignore[arg-type]
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    _plain(axes)


def _finals(axes: Axes, data: pl.DataFrame, look: _Look) -> None:
    """Final regret against the value of the setting, standard errors as bars."""
    ticks = data["value"].unique().sort().to_list()
    apart = 0.008 * (ticks[-1] - ticks[0])  # policies stand side by side, so that bars do not hide one another
    for index, name in enumerate(look.names):
        rows = data.filter(policy=name)
        values, mean, error = (rows[column].to_numpy() for column in ("value", "regret", "regret_error"))
        bars = None if np.isnan(error).all() else np.nan_to_num(error)
        beside = values + apart * (index - (len(look.names) - 1) / 2)
        axes.errorbar(beside, mean, yerr=bars, elinewidth=0.8, capsize=1.6, capthick=0.8, **look.line(name))
    axes.set_xticks(ticks[:: -(-len(ticks) // 6)])
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if axes.dataLim.y0 < 0 else 0)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.tick_params(width=0.6, length=2.5, pad=2)
    axes.xaxis.labelpad, axes.yaxis.labelpad = 1.5, 3
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)


def save(figure: Figure, stem: str | Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figure as ``stem.png``, ``stem.svg``, ...; the same figure gives the same bytes."""
    written = []
    for kind in formats:
        target = Path(f"{stem}.{kind}")
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        with (
            mpl.rc_context({"svg.hashsalt": "rankfall", "svg.fonttype": "none", "pdf.fonttype": 42}),
            replacing(target) as temporary,
        ):
            figure.savefig(temporary, format=kind, dpi=200, metadata=undated)
        written.append(target)
    return written
