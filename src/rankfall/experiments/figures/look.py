"""What the line of a policy looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

from rankfall.experiments.paper.grid import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette first, told apart by all common kinds of colour vision; dashes tell lines apart in grey.
_STYLES: tuple[tuple[str, Any, str], ...] = (
    ("#D55E00", "solid", "o"),
    ("#0072B2", (0, (6, 2)), "s"),
    ("#56B4E9", (0, (6, 2, 1, 2)), "D"),
    ("#009E73", (0, (1, 1.2)), "^"),
    ("#CC79A7", (0, (3, 1, 1, 1, 1, 1)), "v"),
    ("#000000", (0, (2, 2)), "X"),
    ("#E69F00", (0, (8, 3)), "P"),
    ("#7F7F7F", (0, (5, 1, 1, 1)), "*"),
    ("#8C564B", (0, (1, 3)), "h"),
)
DISTINCT = len(_STYLES)
"""Up to so many lines can be told apart in one figure."""


def styles(names: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Colour and dashes for each name."""
    return {name: _STYLES[index][:2] for name, index in _indices(names).items()}


def markers(names: Sequence[str]) -> dict[str, str]:
    """A marker for each name, to go with its colour and dashes."""
    return {name: _STYLES[index][2] for name, index in _indices(names).items()}


def _indices(names: Sequence[str]) -> dict[str, int]:
    """The policies of the paper always look the same; others take what is left, in turn."""
    known = {name: index for index, name in enumerate(PAPER) if name in names}
    left = [index for index in range(DISTINCT) if index not in known.values()] or list(range(DISTINCT))
    others = (name for name in names if name not in known)
    known.update({name: left[turn % len(left)] for turn, name in enumerate(others)})
    return {name: known[name] for name in names}


class Look:
    """What lines look like in the panels of one figure; the first name stands out."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(dict.fromkeys(names))
        self._styles, self._markers = styles(self.names), markers(self.names)

    def line(self, name: str) -> dict[str, Any]:
        """Arguments of ``Axes.plot``."""
        colour, dashes = self._styles[name]
        first = name == self.names[0]
        return {
            "color": colour,
            "linestyle": dashes,
            "marker": self._markers[name],
            "markersize": 3.8,
            "markeredgecolor": "white",
            "markeredgewidth": 0.3,
            "linewidth": 1.5 if first else 1.1,
            "zorder": 3 if first else 2,
        }

    def colour(self, name: str) -> str:
        """The colour alone."""
        return self._styles[name][0]

    def handles(self) -> list[Line2D]:
        """For a legend of the whole figure."""
        return [Line2D([], [], label=name, **{**self.line(name), "markersize": 4.5}) for name in self.names]


def short_numbers() -> FuncFormatter:
    """Ticks as 10k and 0.5.

    >>> short_numbers()(20_000), short_numbers()(0.5)
    ('20k', '0.5')
    """
    thousands = EngFormatter(sep="")
    return FuncFormatter(lambda value, _: thousands(value) if abs(value) >= 1 else f"{value:g}")


def plain_axes(axes: Axes) -> None:
    """No clutter: a light grid, few ticks, numbers as 10k."""
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if axes.dataLim.y0 < 0 else 0)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(short_numbers())
    axes.tick_params(width=0.6, length=2.5, pad=2)
    axes.xaxis.labelpad, axes.yaxis.labelpad = 1.5, 3
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
