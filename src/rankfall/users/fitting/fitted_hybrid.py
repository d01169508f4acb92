"""A user fitted to a click log whose attraction is linear in features, and in the coverage that an item adds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, IntArray, whole
from rankfall.catalog import Catalog
from rankfall.click_logs import ClickLog
from rankfall.errors import FileError, ProblemError, RankfallError
from rankfall.files import reading_parquet, replacing
from rankfall.kernels import hybrid_fit
from rankfall.kernels.clicks import click_arrays
from rankfall.users import Attraction, Hybrid, PerItem, Reward, User
from rankfall.users.fitting.click_logs import Clicks, read_log
from rankfall.users.fitting.fitted import click_model
from rankfall.users.fitting.hybrid_columns import WHOLE, AttractionKind, Columns, HybridModel
from rankfall.users.fitting.hybrid_table import FORMAT, HYBRID_KEY, SAID, hybrid_table, restored
from rankfall.users.fitting.prediction import Perplexity, check_positions, first_clicks, perplexity

GroupBy: TypeAlias = Literal["user", "segment"]


@dataclass(frozen=True, eq=False)
class FittedHybrid:
    """A click model whose attraction is ``omega . theta + z . beta + constant``, clipped to [0, 1].

    ``omega`` is the coverage that an item adds to the items above it; with attraction ``topics`` it is the coverage
    itself, with ``features`` and ``constant`` there is none.

    Attributes
    ----------
    model : how people go through a list: cascade, examined_cascade or position_based.
    attraction : hybrid, topics, features or constant.
    catalog : the items, with the coverage and the features that weights belong to.
    by : what people are grouped by, user or segment, or None.
    groups : the whole log (an empty name) first, then each user or segment.
    theta, beta, constant : (groups, topics), (groups, features) and (groups,) weights; 0 for columns it does not use.
    examination : (positions,) probability that a position is examined, the same for all groups.
    views : (items,) in how many rows of the log that count an item stood.
    group_lists : (groups,) how many lists each was fitted on.
    ridge : by how many views weights are held to 0.
    shrinkage : by how many views the weights of a group are held to those of the whole; None without groups.
    log_likelihood : of the clicks it was fitted on; under a cascade, of the first click of each list.
    lists : how many it was fitted on.
    left_out : how many lists were not used, as they show an item that the catalog does not have.
    iterations, converged : steps of Newton's method for the whole, and whether they sufficed.
    ignored : clicks after the first of a list, which a cascade cannot explain.
    """

    model: HybridModel
    attraction: AttractionKind
    catalog: Catalog
    by: GroupBy | None
    groups: tuple[str, ...]
    theta: FloatArray
    beta: FloatArray
    constant: FloatArray
    examination: FloatArray
    views: FloatArray
    group_lists: IntArray
    ridge: float
    shrinkage: float | None
    log_likelihood: float
    lists: int
    left_out: int = 0
    iterations: int = 0
    converged: bool = True
    ignored: int = 0

    def __repr__(self) -> str:
        groups = f", {len(self.groups) - 1:,} {self.by}s" if self.by else ""
        what = f"{self.attraction}, {self.model}, {len(self.catalog):,} items, {self.positions} positions"
        return f"FittedHybrid({what}{groups}, {self.lists:,} lists)"

    @property
    def positions(self) -> int:
        """Length of the longest list it was fitted on."""
        return len(self.examination)

    @property
    def by_position(self) -> Literal["examination"] | None:
        """What is fitted for each position, if anything."""
        return None if self.model == "cascade" else "examination"

    @property
    def people(self) -> tuple[str, ...]:
        """The groups that stand for people: users or segments, if there are any, otherwise the whole."""
        return self.groups[1:] or self.groups

    @property
    def termination(self) -> FloatArray:
        """(positions,) probability that a click at a position is the last."""
        return np.full(self.positions, 0.0 if self.model == "position_based" else 1.0)

    def perplexity(self, held_out: Clicks) -> Perplexity:
        """How well it predicts the clicks of other lists; as :meth:`rankfall.users.fitting.Fitted.perplexity`.

        An item that the catalog does not have is taken to be an average of those that were seen.
        """
        log = read_log(held_out, with_context=self.by is not None)
        attraction, unknown = self.attraction_of(log)
        return perplexity(log, click_arrays(attraction, self.examination, self.termination), unknown)

    def first_clicks(self, held_out: Clicks) -> FloatArray:
        """(lists,) log-likelihood of the first click of each other list, or of none."""
        log = read_log(held_out, with_context=self.by is not None)
        return first_clicks(log, click_arrays(self.attraction_of(log)[0], self.examination, self.termination))

    def attraction_of(self, log: ClickLog) -> tuple[FloatArray, float]:
        """(rows,) attraction of each row of a log given those above, and the share of rows with unknown items.

        Lists of a user or segment that it was not fitted on get the weights of the whole.
        """
        check_positions(log, self.positions)
        rows = rows_in(log, self.catalog)
        share = self.views / max(float(self.views.sum()), 1.0)
        coverage = np.vstack([self.catalog.coverage, share @ self.catalog.coverage])
        relevance = np.vstack([self.catalog.relevance, share @ self.catalog.relevance])
        columns = Columns.of(self.attraction, np.clip(coverage, 0.0, 1.0), relevance)
        item = np.where(rows < 0, len(self.catalog), rows)[log.item]
        which = self._groups_of(log)
        alpha = np.empty(len(log.item))
        for group in np.unique(which):
            here = log if len(self.groups) == 1 else log.take(np.flatnonzero(which == group))
            inside = np.repeat(which == group, np.diff(log.start))
            found = np.empty(len(here.item))
            hybrid_fit.attractions(here.start, item[inside], columns.user(self._weights(int(group), columns)), found)
            alpha[inside] = found
        return alpha, float((item == len(self.catalog)).mean())

    def user(self, k: int | None = None, reward: Reward | None = None, group: str = WHOLE) -> User:
        """A simulated user, for lists of up to ``k`` items (by default as long as those of the log).

        Rows of the user are those of ``catalog``. ``group`` is one of ``groups``; by default the whole.
        """
        k = self.positions if k is None else whole("k", k, ProblemError, low=1, high=self.positions)
        if group not in self.groups:
            raise ProblemError(f"no {self.by or 'group'} {group!r} among the {len(self.groups) - 1:,} that were fitted")
        number = self.groups.index(group)
        return User(self._attraction(number), click_model(self.model, self.examination, self.termination, k), reward)

    def frame(self) -> pl.DataFrame:
        """A row for each item (``coverage:TOPIC``, ``relevance:FEATURE``, ``views``), one of weights for each group."""
        return hybrid_table(self)

    def write_parquet(self, path: str | Path) -> None:
        """Write the model to a file, which appears whole or not at all: :meth:`frame`, and the rest as metadata."""
        said: dict[str, Any] = {"format": FORMAT, "examination": self.examination.tolist()}
        said["features"] = self.catalog.features
        said |= {name: getattr(self, name) for name in SAID}
        with replacing(path) as temporary:
            self.frame().write_parquet(temporary, metadata={HYBRID_KEY: json.dumps(said)})

    @classmethod
    def read_parquet(cls, path: str | Path) -> FittedHybrid:
        """The model in a file of :meth:`write_parquet` or ``rankfall fit --out``, bit for bit."""
        with reading_parquet(path):
            said = pl.read_parquet_metadata(path)
            table = pl.read_parquet(path)
        if HYBRID_KEY not in said:
            raise FileError(f"{path} holds no fitted user with features; make one with: rankfall fit CLICKS --catalog")
        try:
            return cls(**restored(json.loads(said[HYBRID_KEY]), table))
        except (pl.exceptions.PolarsError, KeyError, TypeError, ValueError, RankfallError) as problem:
            raise FileError(
                f"{path} is a damaged click model, or of another version: {problem}; fit it again"
            ) from None

    def _attraction(self, group: int) -> Attraction:
        columns = Columns.of(self.attraction, self.catalog.coverage, self.catalog.relevance)
        weights = self._weights(group, columns)
        if self.attraction != "hybrid":
            return PerItem(np.clip(columns.plain @ weights, 0.0, 1.0))
        d = columns.diminishing.shape[1]
        # Twice the weights with tradeoff 1/2 are the weights, to the last bit.
        return Hybrid(columns.diminishing, columns.plain, 2.0 * weights[:d], 2.0 * weights[d:], tradeoff=0.5)

    def _weights(self, group: int, columns: Columns) -> FloatArray:
        """The weights of a group, in the order of these columns."""
        parts = {"features": [self.beta], "constant": []}.get(self.attraction, [self.theta, self.beta])
        found = [part[group] for part in parts]
        return np.concatenate([*found, self.constant[group : group + 1]] if columns.added else found)

    def _groups_of(self, log: ClickLog) -> IntArray:
        """(lists,) number of the group of each list."""
        if self.by is None:
            return np.zeros(log.lists, dtype=np.int64)
        known = pl.DataFrame({self.by: self.groups[1:], "number": np.arange(1, len(self.groups))})
        found = log.context.select(pl.col(self.by)).join(known, on=self.by, how="left", maintain_order="left")
        return found["number"].fill_null(0).to_numpy().astype(np.int64)


def rows_in(log: ClickLog, catalog: Catalog) -> IntArray:
    """(items of the log,) the row of each in the catalog, or -1."""
    text = bool(catalog.ids) and isinstance(catalog.ids[0], str)
    if text != (log.items.dtype == pl.String):
        have, expected = ("text", "whole numbers") if not text else (str(log.items.dtype), "text")
        raise ProblemError(f"items of the log are {have}, ids of the catalog {expected}; expected the same")
    row_of = catalog.row_of
    return np.array([row_of.get(item, -1) for item in log.items.to_list()], dtype=np.int64)
