"""Figures: one colour and one dash pattern for each policy, in every figure; readable in grey."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from rankfall.files import replacing

if TYPE_CHECKING:
    import polars as pl

    from rankfall.bench import Growth

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


def styles(policies: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Colour and dashes for each policy; the ones we know always look the same."""
    unknown = [name for name in policies if name not in _STYLES]
    spare = {name: _SPARE[i % len(_SPARE)] for i, name in enumerate(unknown)}
    return {name: _STYLES.get(name) or spare[name] for name in policies}


def regret(summary: pl.DataFrame, title: str = "") -> Figure:
    """Cumulative regret over steps, one line for each policy, standard errors shaded.

    ``summary`` is what :func:`rankfall.results.summary` gives.
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


def save(figure: Figure, stem: str | Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figure as ``stem.png``, ``stem.svg``, ...; the same figure gives the same bytes."""
    written = []
    for kind in formats:
        target = Path(f"{stem}.{kind}")
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        with (
            mpl.rc_context({"svg.hashsalt": "rankfall", "svg.fonttype": "none"}),
            replacing(target) as temporary,
        ):
            figure.savefig(temporary, format=kind, dpi=200, metadata=undated)
        written.append(target)
    return written
