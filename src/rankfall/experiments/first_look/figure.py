"""The figure of a first look: what each policy lost, and what was learned about one user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from rankfall.experiments.figures.look import Look, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rankfall.experiments.first_look.look import FirstLook


def look_figure(look: FirstLook, kinds: dict[str, str]) -> Figure:
    """Clicks lost over lists shown; and for one user how likely each item is clicked, as learned and in truth."""
    with mpl.rc_context({"font.size": 8, "axes.titlesize": 9, "axes.linewidth": 0.6}):
        figure = Figure(figsize=(8.2, 3.1), layout="constrained")
        lost, learned = figure.subplots(1, 2, width_ratios=(1.2, 1.0))
        _lost(lost, look, kinds)
        _learned(learned, look)
    return figure


def _lost(axes: Axes, look: FirstLook, kinds: dict[str, str]) -> None:
    style = Look(list(kinds))
    for name, kind in kinds.items():
        rows = look.table.filter(policy=name)
        steps, mean, error = (rows[column].to_numpy() for column in ("step", "regret", "regret_error"))
        axes.plot(steps, mean, label=f"{kind} ({name})", **{**style.line(name), "marker": None})
        axes.fill_between(steps, mean - error, mean + error, color=style.colour(name), alpha=0.2, linewidth=0)
    axes.set(xlabel="lists shown", ylabel="clicks lost so far (regret)", xlim=(0, look.steps))
    axes.set_title(f"Less is better. Shade: ± 1 standard error over {look.users} users", loc="left")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    plain_axes(axes)
    axes.legend(frameon=False, loc="upper left", handlelength=3.2)


def _learned(axes: Axes, look: FirstLook) -> None:
    shown = np.isin(np.arange(len(look.truth)), look.moments[-1].ranking.items)
    highest = 1.08 * max(look.truth.max(), look.learned.max())
    axes.plot([0, highest], [0, highest], color="0.6", linewidth=0.8)
    axes.plot(look.truth[~shown], look.learned[~shown], "o", color="0.72", markersize=2.2, label="an item")
    axes.plot(
        look.truth[shown], look.learned[shown], "D", color="#D55E00", markersize=4, label="an item of its last list"
    )
    axes.set(xlabel="chance that the user clicks it, in truth", ylabel="as learned from clicks")
    axes.set(xlim=(-0.02 * highest, highest), ylim=(min(-0.02 * highest, 1.1 * look.learned.min()), highest))
    axes.set_title("What was learned about one user", loc="left")
    axes.legend(frameon=False, loc="upper left", handletextpad=0.1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=2.5, width=0.6)
