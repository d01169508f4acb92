"""A fitted click model: its parameters, how well it predicts clicks, and a simulated user with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, finite, number, whole
from rankfall.click_logs import ClickLog
from rankfall.errors import FileError, ProblemError
from rankfall.files import reading_parquet, replacing
from rankfall.users import Cascade, ClickModel, DependentClick, ExaminedCascade, PerItem, PositionBased, Reward, User
from rankfall.users.fitting.click_logs import Clicks, read_log
from rankfall.users.fitting.prediction import Perplexity, check_positions, first_clicks, perplexity

Model: TypeAlias = Literal["cascade", "examined_cascade", "dependent_click", "position_based"]

_BY_POSITION: dict[str, Literal["examination", "termination"]] = {
    "examined_cascade": "examination",
    "dependent_click": "termination",
    "position_based": "examination",
}
_KEY, _FORMAT = "rankfall.fitted", 1
_COUNTS = ("lists", "iterations", "ignored")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A click model with the parameters under which a click log is most likely.

    Attributes
    ----------
    model : cascade, examined_cascade, dependent_click or position_based.
    items : ids, in ascending order; item n is row n of :meth:`user`.
    attraction : (items,) probability of a click on an item that is examined.
    examination, termination : (positions,) as in :mod:`rankfall.users.click_models`.
    views : (items,) how often the item was examined, as expected under the model: the more, the surer its attraction.
    log_likelihood : of the clicks it was fitted on; for the cascade, of the first click of each list.
    lists : how many lists it was fitted on.
    iterations : steps of EM; 0 for a closed form.
    converged : whether EM converged before it was stopped.
    ignored : clicks that the model cannot explain: under the cascade, those after the first of a list.
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
    def by_position(self) -> Literal["examination", "termination"] | None:
        """Which of the two is fitted, if any; the other is the same at every position."""
        return _BY_POSITION.get(self.model)

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
        return perplexity(log, attraction, self.examination, self.termination, unknown)

    def first_clicks(self, held_out: Clicks) -> FloatArray:
        """(lists,) log-likelihood of the first click of each other list, or of none: all models can be compared by it.

        Items that are not known and probabilities of 0 and 1 are treated as in :meth:`perplexity`.
        """
        log = read_log(held_out)
        return first_clicks(log, self.attraction_of(log)[0], self.examination)

    def attraction_of(self, log: ClickLog) -> tuple[FloatArray, float]:
        """(rows,) attraction of each row of a log, and the share of rows whose item is not known."""
        check_positions(log, self.positions)
        known = pl.DataFrame({"item": self.items, "alpha": self.attraction})
        if log.items.dtype != self.items.dtype:
            raise ProblemError(
                f"items of the log are {log.items.dtype}, those of the model {self.items.dtype}; expected the same"
            )
        alpha = log.items.to_frame("item").join(known, on="item", how="left", maintain_order="left")["alpha"]
        missing = alpha.is_null().to_numpy()
        usual = float(np.average(self.attraction, weights=self.views)) if self.views.sum() > 0 else 0.5
        return alpha.fill_null(usual).to_numpy()[log.item], float(missing[log.item].mean())

    def user(self, k: int | None = None, reward: Reward | None = None) -> User:
        """A simulated user, for lists of up to ``k`` items (by default as long as those of the log).

        Rows of the user are ``items``. The reward is the default one of the click model, or the one given.
        """
        k = self.positions if k is None else whole("k", k, ProblemError, low=1, high=self.positions)
        return User(PerItem(self.attraction), click_model(self.model, self.examination, self.termination, k), reward)

    def frame(self) -> pl.DataFrame:
        """Every parameter: ``parameter``, ``item`` or ``position`` (1 for the top), ``value``, ``views`` of items."""
        attraction = pl.DataFrame({"item": self.items, "value": self.attraction, "views": self.views}).select(
            pl.lit("attraction").alias("parameter"), "item", pl.lit(None, pl.Int64).alias("position"), "value", "views"
        )
        name = self.by_position
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

    def write_parquet(self, path: str | Path) -> None:
        """Write the model to a file, which appears whole or not at all: :meth:`frame`, and the rest as metadata."""
        said = {"format": _FORMAT, "model": self.model, "log_likelihood": self.log_likelihood}
        said |= {name: int(getattr(self, name)) for name in _COUNTS} | {"converged": bool(self.converged)}
        for name in ("examination", "termination"):
            if name != self.by_position:
                said[name] = getattr(self, name).tolist()  # JSON has the shortest digits that give the same number
        with replacing(path) as temporary:
            self.frame().write_parquet(temporary, metadata={_KEY: json.dumps(said)})

    @classmethod
    def read_parquet(cls, path: str | Path) -> Fitted:
        """The model in a file of :meth:`write_parquet` or ``rankfall fit --out``, bit for bit."""
        with reading_parquet(path):
            said = pl.read_parquet_metadata(path)
            table = pl.read_parquet(path)
        if _KEY not in said:
            raise FileError(
                f"{path} is a Parquet file with columns {', '.join(table.columns)}, and holds no fitted click model; "
                "make one from a click log with: rankfall fit CLICKS --model MODEL --out MODEL.parquet"
            )
        try:
            return cls(**_restored(json.loads(said[_KEY]), table))
        except (pl.exceptions.PolarsError, KeyError, TypeError, ValueError, ProblemError) as problem:
            raise FileError(
                f"{path} is a damaged click model, or of another version: {problem}; fit it again"
            ) from None


def click_model(model: Model, examination: FloatArray, termination: FloatArray, k: int) -> ClickModel:
    """The click model of this name, for lists of up to ``k`` items."""
    if model == "dependent_click":
        return DependentClick(termination[:k])
    if model == "position_based":
        return PositionBased(examination[:k])
    return ExaminedCascade(examination[:k]) if model == "examined_cascade" else Cascade()


def _restored(said: dict[str, Any], table: pl.DataFrame) -> dict[str, Any]:
    """The fields of a :class:`Fitted`, checked."""
    if said["format"] != _FORMAT:
        raise ValueError(f"its format is {said['format']!r}, expected {_FORMAT}")
    model = said["model"]
    if model not in get_args(Model):
        raise ValueError(f"its model is {model!r}, expected one of {', '.join(get_args(Model))}")
    items = table.filter(pl.col("parameter") == "attraction")
    found = {"attraction": items["value"], "views": items["views"]}
    if items["item"].null_count() or items["item"].n_unique() < max(1, items.height):
        raise ValueError("it does not have each item once")
    for name in ("examination", "termination"):
        rows = table.filter(pl.col("parameter") == name)
        told = name == _BY_POSITION.get(model)
        if told and rows["position"].to_list() != list(range(1, rows.height + 1)):
            raise ValueError(f"{name} does not go from the top down without a gap")
        found[name] = rows["value"] if told else said[name]
    arrays = {name: finite(name, values, 1, ProblemError) for name, values in found.items()}
    for name in ("attraction", "examination", "termination"):
        if ((arrays[name] < 0) | (arrays[name] > 1)).any():
            raise ValueError(f"{name} holds a value that is not a probability")
    if not 0 < len(arrays["examination"]) == len(arrays["termination"]):
        raise ValueError("examination and termination do not have the same positions")
    if type(said["converged"]) is not bool:
        raise ValueError(f"converged is {said['converged']!r}")
    counts = {name: whole(name, said[name], ProblemError, low=0) for name in _COUNTS}
    likelihood = number("log_likelihood", said["log_likelihood"], ProblemError)
    return {
        "model": model,
        "items": items["item"],
        "log_likelihood": likelihood,
        "converged": said["converged"],
        **arrays,
        **counts,
    }
