"""A click log in memory: five bytes for each item shown, and one row for each list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, FloatArray, IntArray, number, whole
from rankfall.errors import ProblemError


class LoggedList(NamedTuple):
    """One list of a click log.

    Attributes
    ----------
    name : name of the list.
    items : ids of the items, from the top down.
    clicked : 0-based positions of the clicks.
    user, segment : who saw it, if the log says so.
    time : when it was shown, in seconds since 1970, if the log says so.
    propensity : probability with which this list was chosen, if the log says so.
    context : values of the context of its request by name, if the log says so.
    features : features that items had in its request, by id, if the log says so.
    outcomes : what came of items beside clicks: 0-based position, type and value of each, in order.
    given_above : probability of each item given those above it, if the log says so.
    at_position : probability of each item at its position, whatever stands above it, if the log says so.
    """

    name: str
    items: Sequence[int | str]
    clicked: Sequence[int]
    user: str | None
    segment: str | None
    time: float | None
    propensity: float | None
    context: Mapping[str, Any] | None = None
    features: Mapping[int | str, Mapping[str, float]] | None = None
    outcomes: Sequence[tuple[int, str, float]] = ()
    given_above: Sequence[float] | None = None
    at_position: Sequence[float] | None = None


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Lists one after the other, each from the top down. Iterating gives a :class:`LoggedList` for each.

    Attributes
    ----------
    start : (lists + 1,) list n stands in rows ``start[n]`` to ``start[n + 1]``.
    item : (rows,) which of ``items`` was shown.
    click : (rows,) whether it was clicked.
    items : ids of the items, in ascending order.
    context : one row for each list: ``list`` (its name), ``user``, ``segment``, ``time`` (seconds since 1970),
        ``propensity``, ``context`` and ``candidate_features`` (both JSON); what the log does not say is null; and
        ``outcomes``, a list of ``position`` (0-based), ``type`` and ``value``.
    given_above, at_position : (rows,) as in :class:`LoggedList`, NaN where the log does not say it; None if it never
        does.
    """

    start: IntArray
    item: NDArray[np.int32]
    click: BoolArray
    items: pl.Series
    context: pl.DataFrame
    given_above: FloatArray | None = None
    at_position: FloatArray | None = None

    @classmethod
    def of(
        cls, start: IntArray, shown: pl.Series, click: BoolArray, context: pl.DataFrame, **chances: FloatArray | None
    ) -> ClickLog:
        """A log of these ids, one for each row."""
        items = shown.unique().sort()
        codes = shown.replace_strict(items, pl.arange(len(items), eager=True, dtype=pl.Int32))
        return cls(start, codes.to_numpy(), click, items.alias("item"), context, **chances)

    def __repr__(self) -> str:
        return f"ClickLog({self.lists:,} lists, {len(self.item):,} rows, {len(self.items):,} items)"

    def __iter__(self) -> Iterator[LoggedList]:
        ids = self.items.to_list()
        context = self.context.with_columns(pl.col("list").cast(pl.String))
        for n, row in enumerate(context.iter_rows(named=True)):
            here = slice(self.start[n], self.start[n + 1])
            items = [ids[code] for code in self.item[here].tolist()]
            clicked = np.flatnonzero(self.click[here]).tolist()
            known = (row["list"], items, clicked, row["user"], row["segment"], row["time"], row["propensity"])
            said, named = row.get("context"), row.get("candidate_features")
            features = None if named is None else {one["id"]: one["features"] for one in json.loads(named)}
            told = row.get("outcomes") or []
            outcomes = [(one["position"], one["type"], one["value"]) for one in told]
            chances = (_known(self.given_above, here), _known(self.at_position, here))
            yield LoggedList(*known, None if said is None else json.loads(said), features, outcomes, *chances)

    @property
    def lists(self) -> int:
        """How many lists there are."""
        return len(self.start) - 1

    @property
    def positions(self) -> int:
        """Length of the longest list."""
        return int(np.diff(self.start).max())

    @property
    def position(self) -> IntArray:
        """(rows,) 0-based position of each row."""
        return np.arange(len(self.item)) - np.repeat(self.start[:-1], np.diff(self.start))

    def take(self, which: IntArray) -> ClickLog:
        """These lists, by number, in this order."""
        lengths = np.diff(self.start)[which]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.arange(start[-1]) + np.repeat(self.start[which] - start[:-1], lengths)
        return self._of_rows(start, rows, self.context[which])

    def to_first_click(self) -> ClickLog:
        """Each list down to its first click: what is below may not have been looked at any more."""
        before = np.cumsum(self.click, dtype=np.int64) - self.click
        keep = before == np.repeat(before[self.start[:-1]], np.diff(self.start))
        kept = np.concatenate([[0], np.cumsum(keep)])
        return self._of_rows(kept[self.start], np.flatnonzero(keep), self.context)

    def _of_rows(self, start: IntArray, rows: IntArray, context: pl.DataFrame) -> ClickLog:
        """These rows, as lists that start where it says."""
        given, alone = (None if each is None else each[rows] for each in (self.given_above, self.at_position))
        return ClickLog(start, self.item[rows], self.click[rows], self.items, context, given, alone)

    def by_time(self) -> ClickLog:
        """The lists in the order of their times; those of one time, or without any, as they stood."""
        order = self.context.select(pl.arg_sort_by("time", nulls_last=True, maintain_order=True)).to_series()
        return self.take(order.to_numpy().astype(np.int64))

    def parts(self, lists: int) -> Iterator[ClickLog]:
        """The log in parts of so many lists, in order; the last one may be shorter."""
        for first in range(0, self.lists, lists):
            yield self.take(np.arange(first, min(first + lists, self.lists)))

    def split(self, held_out: float, seed: int = 0) -> tuple[ClickLog, ClickLog]:
        """Two logs: all but a share of the lists, and that share, drawn at random; each list is in one of them."""
        share = number("held_out", held_out, ProblemError, low=0.0, high=1.0)
        count = round(share * self.lists)
        if not 0 < count < self.lists:
            raise ProblemError(
                f"held_out is {share:g}: of {self.lists} lists that leaves one part without any; "
                "take another share, or log more lists"
            )
        rng = np.random.default_rng(whole("seed", seed, ProblemError, low=0))
        chosen = np.zeros(self.lists, dtype=bool)
        chosen[rng.permutation(self.lists)[:count]] = True
        return self.take(np.flatnonzero(~chosen)), self.take(np.flatnonzero(chosen))


def _known(chances: FloatArray | None, rows: slice) -> list[float] | None:
    """The chances of one list; None unless all of them are known."""
    if chances is None or bool(np.isnan(chances[rows]).any()):
        return None
    known: list[float] = chances[rows].tolist()
    return known
