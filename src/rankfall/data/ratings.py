"""Ratings and the items they are of: the one form that all data sets take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from rankfall.data.sources import Source
from rankfall.errors import CatalogError, FileError

UNKNOWN = "unknown"
"""The topic of an item that is known to have none; one of the paper's 20 genres."""


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each user and each item occurs, most often first; equal counts in the order of their ids.

    Attributes
    ----------
    users : columns ``user`` and ``ratings``.
    items : columns ``item`` and ``ratings``.
    """

    users: pl.DataFrame
    items: pl.DataFrame

    @property
    def ratings(self) -> int:
        """How many ratings there are."""
        return int(self.users["ratings"].sum())


@dataclass(frozen=True, eq=False)
class Ratings:
    """A data set: its items, and its ratings, which are streamed from their files.

    Keep it for as long as you use a frame of :meth:`scan`: ratings from a zip are unpacked to a temporary folder, which
    is removed together with their ``Ratings``.

    Attributes
    ----------
    name : what to call it.
    source : where the ratings are read from.
    items : columns ``item`` (whole number or string), ``title``, ``topics`` (list of strings).
    terms : under what terms it may be used, in short.
    citation : what to cite.
    """

    name: str
    source: Source
    items: pl.DataFrame
    terms: str = ""
    citation: str = ""

    def __repr__(self) -> str:
        return f"Ratings({self.name!r}, {self.items.height} items, {len(self.topics)} topics)"

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """All topics that occur, sorted."""
        return tuple(self.items["topics"].explode().drop_nulls().unique().sort())

    def scan(self) -> pl.LazyFrame:
        """Columns ``user``, ``item`` and ``rating``, to be collected with the streaming engine."""
        return self.source.scan().drop("valid")

    def counts(self) -> Counts:
        """Count users, checking every line on the way, and then items."""
        users = self._occurrences("user", pl.col("valid").all())
        if not users["valid"].all():
            self.source.raise_first_error(None)
        if not users.height:
            raise FileError(f"{self.name} holds no ratings")
        return Counts(users.drop("valid"), self._occurrences("item"))

    def _occurrences(self, column: str, *checks: pl.Expr) -> pl.DataFrame:
        """How often each value occurs, and the results of the checks on its lines.

        One column and one file at a time, so that memory does not grow with the ratings: a single pass for both columns
        would keep lines for the slower of the two, and counts of scattered values would grow with every file.
        """
        number = pl.len().cast(pl.Int64).alias("ratings")
        counted = [self._collect(part.scan().group_by(column).agg(number, *checks)) for part in self.source.parts()]
        merged = pl.concat(counted).group_by(column).agg(pl.col("ratings").sum(), *checks)
        return merged.sort("ratings", column, descending=[True, False])

    def pairs(self, users: pl.Series, items: pl.Series, threshold: float) -> pl.DataFrame:
        """Columns ``user`` and ``item``: who among ``users`` rated which of ``items`` at ``threshold`` or more."""
        liked = self.scan().filter(pl.col("rating") >= threshold)
        query = liked.join(users.alias("user").to_frame().lazy(), on="user", how="semi")
        query = query.join(items.alias("item").to_frame().lazy(), on="item", how="semi")
        return self._collect(query.select("user", "item").unique())

    def _collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        try:
            return query.collect(engine="streaming")
        except (OSError, pl.exceptions.PolarsError) as problem:
            self.source.raise_first_error(problem)


def item_table(
    name: str, ids: Sequence[int | str], titles: Sequence[str], topics: Iterable[Iterable[str]]
) -> pl.DataFrame:
    """The ``items`` of a :class:`Ratings`; ids must be unique, repeated topics of one item count once."""
    most = Counter(ids).most_common(1)
    if most and most[0][1] > 1:
        raise CatalogError(f"{name}: item {most[0][0]!r} is listed {most[0][1]} times; each item once")
    return pl.DataFrame(
        {"item": ids, "title": titles, "topics": [list(dict.fromkeys(names)) for names in topics]},
        schema_overrides={"title": pl.String, "topics": pl.List(pl.String)},
    )
