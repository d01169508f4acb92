"""A fitted click model: its parameters, how well it predicts clicks, and a simulated user with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from rankfall.arrays import BoolArray, FloatArray, whole
from rankfall.click_logs import ClickLog
from rankfall.errors import FileError, ProblemError
from rankfall.files import reading_parquet, replacing
from rankfall.kernels.clicks import ClickArrays
from rankfall.users import (
    Cascade,
    ClickChain,
    ClickModel,
    DependentClick,
    DynamicBayesian,
    ExaminedCascade,
    PerItem,
    PositionBased,
    Reward,
    User,
    UserBrowsing,
)
from rankfall.users.fitting.click_logs import Clicks, read_log
from rankfall.users.fitting.fitted_table import BY_POSITION, COUNTS, FORMAT, KEY, Model, parameter_table, restored
from rankfall.users.fitting.prediction import Perplexity, all_clicks, check_positions, first_clicks, perplexity
from rankfall.users.user import chain_arrays


@dataclass(frozen=True, eq=False)
class Fitted:
    """A click model with the parameters under which a click log is most likely.

    Attributes
    ----------
    model : cascade, examined_cascade, dependent_click, position_based, user_browsing, dynamic_bayesian,
        simplified_bayesian or click_chain.
    items : ids, in ascending order; item n is row n of :meth:`user`.
    attraction : (items,) probability of a click on an item that is examined.
    examination, termination : (positions,) as in :mod:`rankfall.users.click_models`; examination of user_browsing is
        (positions, positions), as in :class:`rankfall.users.UserBrowsing`.
    views : (items,) how often the item was examined, as expected under the model: the more, the surer its attraction.
    log_likelihood : of the clicks it was fitted on; for the cascade, of the first click of each list.
    lists : how many lists it was fitted on.
    iterations : steps of EM; 0 for a closed form.
    converged : whether EM converged before it was stopped.
    ignored : clicks that the model cannot explain: under the cascade, those after the first of a list.
    satisfaction : (items,) probability that a click satisfies, of dynamic_bayesian and simplified_bayesian.
    continuation : probabilities of going on: one of dynamic_bayesian and simplified_bayesian, three of click_chain.
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
    satisfaction: FloatArray | None = None
    continuation: FloatArray | None = None

    def __repr__(self) -> str:
        return f"Fitted({self.model}, {len(self.items):,} items, {self.positions} positions, {self.lists:,} lists)"

    @property
    def by_position(self) -> Literal["examination", "termination"] | None:
        """Which of the two is fitted, if any; the other is the same at every position."""
        return BY_POSITION.get(self.model)

    @property
    def positions(self) -> int:
        """Length of the longest list it was fitted on."""
        return len(self.examination)

    def perplexity(self, held_out: Clicks) -> Perplexity:
        """How well the model predicts the clicks of other lists, given what they show and none of their clicks.

        An item that the model does not know gets the average attraction of the known ones, weighted by views.
        Probabilities are kept a millionth away from 0 and 1.
        """
        log = read_log(held_out)
        attraction, unknown = self.attraction_of(log)
        return perplexity(log, self._arrays(log, attraction), unknown)

    def first_clicks(self, held_out: Clicks) -> FloatArray:
        """(lists,) log-likelihood of the first click of each other list, or of none: all models can be compared by it.

        Items that are not known and probabilities of 0 and 1 are treated as in :meth:`perplexity`.
        """
        log = read_log(held_out)
        return first_clicks(log, self._arrays(log, self.attraction_of(log)[0]))

    def all_clicks(self, held_out: Clicks) -> float:
        """Log-likelihood of all clicks of other lists, those that the model cannot explain at the lowest probability.

        Items that are not known and probabilities of 0 are treated as in :meth:`perplexity`.
        """
        log = read_log(held_out)
        return all_clicks(log, self._arrays(log, self.attraction_of(log)[0]))

    def over(self, items: Sequence[int | str]) -> Fitted:
        """The same model of these items, in this order; those that it does not know are like the average one.

        >>> from rankfall.users.fitting import fit_cascade
        >>> rows = {"list": [1, 2, 2], "position": [1, 1, 2], "item": ["a", "a", "b"], "click": [1, 0, 1]}
        >>> fit_cascade(pl.DataFrame(rows)).over(["new", "b"]).attraction.round(3)
        array([0.667, 1.   ])
        """
        wanted = pl.Series("item", items, self.items.dtype)
        known, satisfaction = self._of_items(wanted, self.attraction, self.views), None
        if self.satisfaction is not None:
            satisfaction = self._of_items(wanted, self.satisfaction, self._judged)[0]
        views = np.where(known[1], 0.0, self._of_items(wanted, self.views, self.views)[0])
        return replace(self, items=wanted, attraction=known[0], views=views, satisfaction=satisfaction)

    def attraction_of(self, log: ClickLog) -> tuple[FloatArray, float]:
        """(rows,) attraction of each row of a log, and the share of rows whose item is not known."""
        check_positions(log, self.positions)
        if log.items.dtype != self.items.dtype:
            raise ProblemError(
                f"items of the log are {log.items.dtype}, those of the model {self.items.dtype}; expected the same"
            )
        return self._by_row(log, self.attraction, self.views)

    def _by_row(self, log: ClickLog, values: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
        """(rows,) the value of each row's item, or the weighted average if it is not known; and the share of those."""
        found, missing = self._of_items(log.items, values, weights)
        return found[log.item], float(missing[log.item].mean())

    def _of_items(self, items: pl.Series, values: FloatArray, weights: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The value of each of these items, or the weighted average if it is not known; and which are not."""
        known = pl.DataFrame({"item": self.items, "value": values})
        found = items.to_frame("item").join(known, on="item", how="left", maintain_order="left")["value"]
        usual = float(np.average(values, weights=weights)) if weights.sum() > 0 else 0.5
        return found.fill_null(usual).to_numpy(), found.is_null().to_numpy()

    @property
    def _judged(self) -> FloatArray:
        """(items,) how often the item was clicked, as expected under the model."""
        judged: FloatArray = self.views * self.attraction
        return judged

    def _arrays(self, log: ClickLog, attraction: FloatArray) -> ClickArrays:
        """The chain of the model, for the rows of a log."""
        clicks = self._clicks(self.positions)
        if self.satisfaction is None:
            satisfaction = clicks.satisfaction(log.item.astype(np.int64), attraction)
        else:
            satisfaction = self._by_row(log, self.satisfaction, self._judged)[0]
        return chain_arrays(clicks.chain(self.positions), attraction, satisfaction)

    def _clicks(self, k: int) -> ClickModel:
        if self.model == "user_browsing":
            return UserBrowsing(self.examination[:k, :k])
        if self.model == "click_chain":
            return ClickChain(self._told("continuation"))
        if self.model in ("dynamic_bayesian", "simplified_bayesian"):
            return DynamicBayesian(self._told("satisfaction"), float(self._told("continuation")[0]))
        return click_model(self.model, self.examination, self.termination, k)

    def _told(self, name: str) -> FloatArray:
        values: FloatArray | None = getattr(self, name)
        if values is None:
            raise ProblemError(f"a fitted {self.model} needs {name}")
        return values

    def user(self, k: int | None = None, reward: Reward | None = None) -> User:
        """A simulated user, for lists of up to ``k`` items (by default as long as those of the log).

        Rows of the user are ``items``. The reward is the default one of the click model, or the one given.
        """
        k = self.positions if k is None else whole("k", k, ProblemError, low=1, high=self.positions)
        return User(PerItem(self.attraction), self._clicks(k), reward)

    def frame(self) -> pl.DataFrame:
        """Every parameter: ``parameter``, ``item`` or ``position`` (1 for the top), ``value``, ``views`` of items.

        Where examination depends on the last click, ``last_click`` says at which position it was, 0 for none.
        """
        return parameter_table(self)

    def write_parquet(self, path: str | Path) -> None:
        """Write the model to a file, which appears whole or not at all: :meth:`frame`, and the rest as metadata."""
        said = {"format": FORMAT, "model": self.model, "log_likelihood": self.log_likelihood}
        said |= {name: int(getattr(self, name)) for name in COUNTS} | {"converged": bool(self.converged)}
        for name in ("examination", "termination"):
            if name != self.by_position:
                said[name] = getattr(self, name).tolist()  # JSON has the shortest digits that give the same number
        with replacing(path) as temporary:
            self.frame().write_parquet(temporary, metadata={KEY: json.dumps(said)})

    @classmethod
    def read_parquet(cls, path: str | Path) -> Fitted:
        """The model in a file of :meth:`write_parquet` or ``rankfall fit --out``, bit for bit."""
        with reading_parquet(path):
            said = pl.read_parquet_metadata(path)
            table = pl.read_parquet(path)
        if KEY not in said:
            raise FileError(
                f"{path} is a Parquet file with columns {', '.join(table.columns)}, and holds no fitted click model; "
                "make one from a click log with: rankfall fit CLICKS --model MODEL --out MODEL.parquet"
            )
        try:
            return cls(**restored(json.loads(said[KEY]), table))
        except (pl.exceptions.PolarsError, KeyError, TypeError, ValueError, ProblemError) as problem:
            raise FileError(
                f"{path} is a damaged click model, or of another version: {problem}; fit it again"
            ) from None


def click_model(model: Model, examination: FloatArray, termination: FloatArray, k: int) -> ClickModel:
    """The click model of this name, of those by position alone, for lists of up to ``k`` items."""
    if model == "dependent_click":
        return DependentClick(termination[:k])
    if model == "position_based":
        return PositionBased(examination[:k])
    return ExaminedCascade(examination[:k]) if model == "examined_cascade" else Cascade()
