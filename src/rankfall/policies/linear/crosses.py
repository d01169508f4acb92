"""Preferences that move with the context of a request: the columns of a ridge model crossed with c."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, fill
from rankfall.kernels.crossing import collapse, evidence, rescale
from rankfall.kernels.ridge import State, invert
from rankfall.policies.context import Context
from rankfall.policies.linear.ridge import Ridge

FIRST_CHOICE = 16
"""Lists after which variances are chosen for the first time; then each time that their number has doubled."""
WIDEST, NARROWEST, STEP = 1.0, 2.0**-8, 0.5
"""Standard deviations that crosses of a factor may have, beside 1 for the columns themselves. By powers of two, so that
going from one to another loses no bits."""
START = 0.25
"""The standard deviation before anything is known."""
_TURNS = 8


class Crosses:
    """A ridge model over ``c (x) phi``: what it says at a context, and how it learns at one.

    Crosses of phi with a factor have weights of variance v, which is at most that of the weights of phi themselves: a
    factor that does not matter should cost little. To give them this variance, the columns of the factor are multiplied
    by ``sqrt(v)``, and the prior stays that of ridge regression. Where nobody gives it, each factor has its own, chosen
    again and again as the one that makes all clicks so far most likely (their marginal likelihood, in which weights
    are integrated out). Only clicks count for that, and not what they or later outcomes are worth, so that the state
    does not depend on when an outcome comes.

    Parameters
    ----------
    context : what is declared.
    columns : of phi.
    ridge : the model, of ``len(context.columns) * columns`` columns.
    variance : of crosses, if it is not to be chosen from data.

    Attributes
    ----------
    scales : (factors + 1) the standard deviations of crosses, after 1 for the constant.
    """

    def __init__(self, context: Context, columns: int, ridge: Ridge, variance: float | None) -> None:
        self.context, self.columns, self.ridge = context, columns, ridge
        factors = len(context.factors)
        fixed = variance is not None or ridge.prior is not None or ridge.forgetting is not None
        start = START if variance is None else variance**0.5
        self.chooses = not fixed
        self.scales: FloatArray = np.full(factors + 1, 1.0 if ridge.prior is not None else start)
        self.scales[0] = 1.0
        many = len(context.columns) * columns if self.chooses else 0
        self._clicks: FloatArray = np.zeros(many)  # sum of clicked features
        self._sums: FloatArray = np.zeros(2)  # items seen, and clicks

    def _by_column(self, scales: FloatArray) -> FloatArray:
        """Something there is for each factor, for every column of the model."""
        return np.repeat(scales[self.context.belongs], self.columns)

    @property
    def units(self) -> FloatArray:
        """(columns of the model) what weights of the model are multiplied by to be those of ``c (x) phi``."""
        return self._by_column(self.scales)

    def at(self, c: FloatArray, *, to_draw: bool = False) -> State:
        """The model at a context: a plain one, over the columns of phi. Its gram matrix is there only ``to_draw``."""
        weights, covariance = np.empty(self.columns), np.empty((self.columns, self.columns))
        collapse(self.ridge.state, c * self.scales[self.context.belongs], weights, covariance)
        gram = covariance
        if to_draw:
            gram = np.empty_like(covariance)
            invert(covariance, gram)
        state: State = self.ridge.state._replace(gram=gram, covariance=covariance, moment=weights, weights=weights)
        return state

    def crossed(self, features: FloatArray, c: FloatArray) -> FloatArray:
        """(n, columns of the model) what the model learns of items with these features (n, columns)."""
        scaled = c * self.scales[self.context.belongs]
        return (scaled[None, :, None] * features[:, None, :]).reshape(len(features), len(c) * self.columns)

    def learn(self, features: FloatArray, c: FloatArray, clicked: FloatArray, earned: FloatArray) -> None:
        """Learn from the items seen of one list at a context: which were clicked, and what each of them earned."""
        rows = self.crossed(features, c)
        self.ridge.learn(rows, earned)
        if not self.chooses:
            return
        for row, click in zip(rows, clicked, strict=True):  # in one order on every machine
            if click:
                self._clicks += row
        self._sums += (len(clicked), clicked.sum())
        lists = self.ridge.n_updates
        if lists >= FIRST_CHOICE and lists & (lists - 1) == 0:
            self._choose()

    def _choose(self) -> None:
        """Give the crosses of each factor the variance that makes clicks most likely, going up or down step by step."""
        seen, clicks = self._sums.tolist()
        if not clicks:
            return
        before = self.scales.copy()
        best = self._likelihood(before, before, clicks, seen)
        for _ in range(_TURNS):
            start = best
            for factor in range(1, len(self.scales)):
                for step in (STEP, 1.0 / STEP):
                    tried = self.scales.copy()
                    tried[factor] *= step
                    while NARROWEST <= tried[factor] <= WIDEST:
                        likelihood = self._likelihood(before, tried, clicks, seen)
                        if likelihood <= best:
                            break
                        best, self.scales = likelihood, tried.copy()
                        tried[factor] *= step
            if best == start:
                break
        ratio = self._by_column(self.scales / before)
        if (ratio != 1.0).any():
            self._clicks *= ratio
            rescale(self.ridge.state, ratio)

    def _likelihood(self, before: FloatArray, scales: FloatArray, clicks: float, seen: float) -> float:
        return float(evidence(self.ridge.state.gram, self._clicks, self._by_column(scales / before), clicks, seen))

    # State.

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What it knows beside the model, as copies of its arrays by name."""
        return {
            "cross_scales": self.scales.copy(),
            "cross_clicks": self._clicks.copy(),
            "cross_sums": self._sums.copy(),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this; raises ValueError or KeyError where it cannot be."""
        for name, own in (("scales", self.scales), ("clicks", self._clicks), ("sums", self._sums)):
            fill(own, f"cross_{name}", arrays[f"cross_{name}"])

    @staticmethod
    def widened(arrays: Mapping[str, NDArray[Any]], blocks: int, at: int, count: int) -> dict[str, NDArray[Any]]:
        """The arrays as if phi had ``count`` more columns from column ``at`` on, all zero in what was seen."""
        made = dict(arrays)
        before = arrays["moment"].size // blocks
        for block in reversed(range(blocks)):
            made = Ridge.widened(made, block * before + at, count)
            if made["cross_clicks"].size:
                made["cross_clicks"] = np.insert(made["cross_clicks"], [block * before + at] * count, 0.0)
        return made
