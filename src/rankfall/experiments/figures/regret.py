"""Regret over steps, in one panel."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from rankfall.experiments.figures.look import short_numbers, styles

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from rankfall.experiments.results import Run


def regret(summary: pl.DataFrame, title: str = "") -> Figure:
    """Cumulative regret over steps, one line for each policy, standard errors shaded, as the label says.

    ``summary`` is what :func:`rankfall.experiments.results.summary` gives.
    """
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    names = summary["policy"].unique(maintain_order=True).to_list()
    for name, (colour, dashes) in styles(names).items():
        rows = summary.filter(policy=name)
        steps, mean, error = (rows[column].to_numpy() for column in ("step", "regret", "regret_error"))
        width = 2.2 if name == names[0] else 1.6
        axes.plot(steps, mean, color=colour, linestyle=dashes, linewidth=width, label=name)
        axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    shade = f"shade: \N{PLUS-MINUS SIGN} 1 standard error over {summary['runs'][0]} users"
    axes.set(xlabel=f"step ({shade})", ylabel="cumulative regret", title=title)
    _finish(axes)
    return figure


class NotebookFigure(Figure):
    """A figure that notebooks show, whatever plotting backend they have."""

    def _repr_svg_(self) -> str:
        text = StringIO()
        self.savefig(text, format="svg")
        return text.getvalue()


def run_figure(runs: Mapping[str, Run]) -> Figure:
    """Cumulative regret of single runs over steps."""
    figure = NotebookFigure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for name, (colour, dashes) in styles(list(runs)).items():
        axes.plot(runs[name].steps, runs[name].regret, color=colour, linestyle=dashes, linewidth=1.8, label=name)
    axes.set(xlabel="step", ylabel="cumulative regret")
    _finish(axes)
    return figure


def _finish(axes: Axes) -> None:
    axes.margins(x=0)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(short_numbers())
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9")
    axes.legend(frameon=False, handlelength=3.2, title=None)
