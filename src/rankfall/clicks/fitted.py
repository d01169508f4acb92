"""What a fit leaves behind: parameters, how well they explain clicks, and a user made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, whole
from rankfall.clicks.log import Clicks, read_log
from rankfall.environment import Cascade, ClickModel, DependentClick, PositionBased, Reward, Table, User
from rankfall.errors import ProblemError
from rankfall.kernels import clicklogs

Model: TypeAlias = Literal["cascade", "dependent_click", "position_based"]

LEAST = 1e-6
"""No click, and no absence of one, is taken to be less likely than this when a model is judged."""


class Perplexity(NamedTuple):
    """How uncertain a model is of each click: 1 is certain and right, 2 a coin.

    Attributes
    ----------
    overall : mean of those by position.
    by_position : (positions,) ``2 ** -mean(log2 of the probability given to what happened)``, from the top.
    unknown : share of rows with an item that the model was not fitted on.
    """

    overall: float
    by_position: FloatArray
    unknown: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A click model with the parameters that explain a log best.

    Attributes
    ----------
    model : cascade, dependent_click or position_based.
    items : ids, in ascending order; their number in this order is the row of ``user``.
    attraction : (items,) probability of a click on an item that is looked at.
    examination, termination : (positions,) as in :mod:`rankfall.environment.clicking`.
    views : (items,) how often the item was looked at, as expected under the model; the ground its attraction stands on.
    log_likelihood : of the clicks it was fitted on; for the cascade, of the first click of each list.
    lists : how many lists it was fitted on.
    iterations : steps of EM; 0 for a closed form.
    converged : whether EM came to rest before it was stopped.
    ignored : clicks that the model has no room for: under the cascade, those after the first of a list.
    """

    model: Model
    items: pl.Series
    attraction: FloatArray
    examination: FloatArray
    termination: FloatArray
    views: FloatArray
    log_likelihood: float
    lists: int
    iterations: int = 0
    converged: bool = True
    ignored: int = 0

    def __repr__(self) -> str:
        return f"Fitted({self.model}, {len(self.items):,} items, {self.positions} positions, {self.lists:,} lists)"

    @property
    def positions(self) -> int:
        """Length of the longest list it was fitted on."""
        return len(self.examination)

    def perplexity(self, held_out: Clicks) -> Perplexity:
        """How well the model foresees the clicks of other lists, knowing what they show and none of their clicks.

        An item the model does not know is taken to attract as the known ones do on average, by views. Probabilities
        are kept off 0 and 1 by a millionth.
        """
        log = read_log(held_out)
        if log.positions > self.positions:
            raise ProblemError(
                f"the log has lists of {log.positions} positions, and the model was fitted on {self.positions} at most"
            )
        known = pl.DataFrame({"item": self.items, "alpha": self.attraction})
        if log.items.dtype != self.items.dtype:
            raise ProblemError(
                f"items of the log are {log.items.dtype}, those of the model {self.items.dtype}; expected the same"
            )
        alpha = log.items.to_frame("item").join(known, on="item", how="left", maintain_order="left")["alpha"]
        missing = alpha.is_null().to_numpy()
        usual = float(np.average(self.attraction, weights=self.views)) if self.views.sum() > 0 else 0.5
        chance = np.empty(len(log.item))
        clicklogs.probabilities(
            log.start, log.item, alpha.fill_null(usual).to_numpy(), self.examination, self.termination, chance
        )
        right = np.clip(np.where(log.click, chance, 1.0 - chance), LEAST, 1.0 - LEAST)
        position = log.position
        bits = np.bincount(position, weights=np.log2(right)) / np.bincount(position)
        by_position = 2.0**-bits
        return Perplexity(float(by_position.mean()), by_position, float(missing[log.item].mean()))

    def user(self, k: int | None = None, reward: Reward | None = None) -> User:
        """A user to simulate with, for lists of up to ``k`` items (by default as long as they were in the log).

        Rows of the user are ``items``. The reward is the usual one of the click model, or the one given.
        """
        k = self.positions if k is None else whole("k", k, ProblemError, low=1, high=self.positions)
        clicks: ClickModel = Cascade()
        if self.model == "dependent_click":
            clicks = DependentClick(self.termination[:k])
        elif self.model == "position_based":
            clicks = PositionBased(self.examination[:k])
        return User(Table(self.attraction), clicks, reward)

    def frame(self) -> pl.DataFrame:
        """Every parameter: ``parameter``, ``item`` or ``position`` (1 for the top), ``value``, ``views`` of items."""
        attraction = pl.DataFrame({"item": self.items, "value": self.attraction, "views": self.views}).select(
            pl.lit("attraction").alias("parameter"), "item", pl.lit(None, pl.Int64).alias("position"), "value", "views"
        )
        name = {"dependent_click": "termination", "position_based": "examination"}.get(self.model)
        if name is None:
            return attraction
        by_position = pl.DataFrame({"position": np.arange(1, self.positions + 1), "value": getattr(self, name)}).select(
            pl.lit(name).alias("parameter"),
            pl.lit(None, self.items.dtype).alias("item"),
            "position",
            "value",
            pl.lit(None, pl.Float64).alias("views"),
        )
        return pl.concat([by_position, attraction])
