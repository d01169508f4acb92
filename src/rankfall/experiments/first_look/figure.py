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

_TOPICS = 8


def look_figure(look: FirstLook, kinds: dict[str, str]) -> Figure:
    """Clicks lost over lists shown, and the weights of the topics that matter most to one user."""
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
    weights = np.array([weight.weight for weight in look.weights])
    chosen = np.sort(np.argsort(-np.maximum(look.truth, weights), kind="stable")[:_TOPICS])
    chosen = chosen[np.argsort(look.truth[chosen], kind="stable")]
    places = np.arange(len(chosen))
    spread = [look.weights[topic].sd for topic in chosen]
    axes.barh(places, weights[chosen], xerr=spread, height=0.6, color="#F0B48A", ecolor="0.35", error_kw={"lw": 0.8})
    axes.plot(look.truth[chosen], places, "D", color="#0072B2", markersize=4)
    axes.set_yticks(places, [look.weights[topic].name for topic in chosen])
    axes.set(xlabel="weight of a topic")
    axes.set_title("One user. Bar: learned, ± 1 sd; ◆: the truth", loc="left")
    axes.axvline(0, color="0.4", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=2.5, width=0.6)
