"""The weights under which clicks are most likely, where attraction is linear in columns and clipped to [0, 1].

The likelihood is that of the clipped model, blurred by a small width around 0 and 1
(:mod:`rankfall.kernels.hybrid_fit`). Clipping would leave a click on an item of attraction 0 without any likelihood,
and without a direction to go; the blurred one is positive everywhere and, where every position is examined, concave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.click_logs import ClickLog
from rankfall.kernels import hybrid_fit
from rankfall.users.fitting.hybrid_columns import Columns
from rankfall.users.fitting.newton import maximise
from rankfall.users.fitting.prediction import LEAST

_WIDEST, _NARROWEST = 1e-3, 1e-5
_PLACE_CLICKS = 0.1
"""Clicks by which the examination of a position is held to its click rate: enough where it was never clicked."""


class Weights(NamedTuple):
    """Weights of columns (d + m,), logarithms of examination (positions,), steps taken, and whether they sufficed."""

    columns: FloatArray
    places: FloatArray
    steps: int = 0
    converged: bool = True

    def scaled(self) -> Weights:
        """The same products, with the most examined position always examined."""
        most = float(self.places.max())
        return self._replace(columns=self.columns * np.exp(most), places=self.places - most)


@dataclass(frozen=True, eq=False)
class Problem:
    """Clicks to explain, by the columns of the items shown.

    Attributes
    ----------
    log : lists of rows of ``columns``, cut off where nothing below counts.
    columns : of the items.
    examined : whether examination is estimated for each position; otherwise it stays as it is in ``first``.
    one_view : what one view says about attraction: one over its variance.
    precision : (d + m,) what it says about each weight, by which a ridge is measured; 0 for a constant, which is free.
    blur : width over which the clip is blurred.
    first : where to begin.
    """

    log: ClickLog
    columns: Columns
    examined: bool
    one_view: float
    precision: FloatArray
    blur: float
    first: Weights

    @classmethod
    def of(cls, log: ClickLog, columns: Columns, *, examined: bool) -> Problem:
        """The problem of a log; widths and precisions by its click rate."""
        rows, clicks = len(log.item), float(log.click.sum())
        rate = (clicks + 0.5) / (rows + 1.0)
        views = np.bincount(log.item, minlength=len(columns.plain)).astype(float)
        one_view = 1.0 / (rate * (1.0 - rate))
        places = np.zeros(log.positions)
        if examined:
            shown = np.bincount(log.position, minlength=log.positions)
            places = np.log((np.bincount(log.position, weights=log.click) + 0.5) / (shown + 1.0))
            rate = float(np.exp(places.max()))
            places -= places.max()
        blur = float(np.clip(rate / 100.0, _NARROWEST, _WIDEST))
        first = Weights(columns.constant_weights(min(rate, 0.999)), places)
        return cls(log, columns, examined, one_view, one_view * columns.spread(views), blur, first)

    def around(self, found: Weights) -> Problem:
        """The problem of a group of those who left the log: weights begin at ``found`` and are all held there."""
        constant = np.flatnonzero(self.precision == 0.0)
        precision = self.precision.copy()
        precision[constant] = self.one_view * self.columns.plain[0, constant - self.columns.diminishing.shape[1]] ** 2
        return replace(self, examined=False, precision=precision, first=found)

    def only(self, lists: IntArray) -> Problem:
        """The same problem for some of the lists."""
        return replace(self, log=self.log.take(lists))

    def solve(
        self,
        ridge: float,
        *,
        centre: FloatArray | None = None,
        start: Weights | None = None,
        tolerance: float = 1e-10,
    ) -> Weights:
        """The most likely weights, held to ``centre`` (0 by default) by a ridge of so many views."""
        used, item = np.unique(self.log.item.astype(np.int64), return_inverse=True)
        columns, first = self.columns.take(used), start or self.first
        width, positions = columns.width, len(first.places)
        middle = np.zeros(width) if centre is None else centre
        held = ridge * self.precision
        free = np.arange(width + positions if self.examined else width)
        if self.examined:  # only products can be observed: one position counts as examined
            free = np.delete(free, width + int(np.argmax(self.first.places)))
        full = np.concatenate([first.columns, first.places])

        def surface(point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            full[free] = point
            weights, places = full[:width], full[width:]
            gradient, second = np.zeros(len(full)), np.zeros((len(full), len(full)))
            value = hybrid_fit.curvature(
                self.log.start,
                item,
                self.log.click,
                columns.user(weights),
                columns.plain,
                np.exp(places),
                self.blur,
                gradient,
                second,
            )
            away, moved = weights - middle, places - self.first.places
            value -= 0.5 * float(held @ away**2) + 0.5 * _PLACE_CLICKS * float(moved @ moved)
            gradient -= np.concatenate([held * away, _PLACE_CLICKS * moved])
            second[np.diag_indices(len(full))] += np.concatenate([held, np.full(positions, _PLACE_CLICKS)])
            return value, gradient[free], second[np.ix_(free, free)]

        found = maximise(surface, full[free].copy(), tolerance=tolerance)
        full[free] = found.point
        return Weights(full[:width].copy(), full[width:].copy(), found.steps, found.converged)

    def likelihoods(self, weights: Weights) -> FloatArray:
        """(lists,) log-likelihood of each list with attraction clipped, no probability less than a millionth."""
        alpha = np.empty(len(self.log.item))
        hybrid_fit.attractions(self.log.start, self.log.item, self.columns.user(weights.columns), alpha)
        chance = np.exp(weights.places)[self.log.position] * alpha
        right = np.clip(np.where(self.log.click, chance, 1.0 - chance), LEAST, 1.0 - LEAST)
        likelihoods: FloatArray = np.add.reduceat(np.log(right), self.log.start[:-1])
        return likelihoods
