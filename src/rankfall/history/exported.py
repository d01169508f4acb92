"""A log that was exported, read back: lists, feedback, settings and catalogs as they were."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from rankfall.catalog import Catalog, Id
from rankfall.errors import FileError, RankfallError
from rankfall.history.export import CATALOG, DECISIONS, EVENTS
from rankfall.history.parquet_parts import read_mark
from rankfall.journal.catalogs import CatalogState, encode_catalog
from rankfall.journal.entries import CatalogChanged, decode
from rankfall.wire import ModelSettings, Scope, convert

_ROOM = 8  # catalogs held at a time: servers take up a change within moments of each other


class Log:
    """The log of one model.

    Parameters
    ----------
    folder : what ``rankfall export`` wrote.
    model : its name; may be left out if the log is of one model only.
    """

    def __init__(self, folder: Path, model: str | None = None) -> None:
        marks = {read_mark(folder / name) for name in (EVENTS, DECISIONS, CATALOG)}
        if len(marks) > 1:
            raise FileError(f"the files in {folder} are of different exports; export again")
        self._folder = folder
        self.notes: tuple[str, ...] = ()
        decisions = pl.read_parquet(folder / DECISIONS)
        if "version" not in decisions.columns:  # a log of 0.1.0
            decisions = decisions.with_columns(version=pl.lit(1))
        names = decisions.filter(kind="create")["model"].to_list()
        if model is None and len(names) != 1:
            raise RankfallError(f"the log has {len(names)} models; say which with --model: {', '.join(names)}")
        self.model = model or names[0]
        if self.model not in names:
            raise RankfallError(f"the log has no model {self.model!r}; it has: {', '.join(names)}")
        self._settings = list(_settings(decisions.filter(model=self.model)))
        self._items = pl.read_parquet(folder / CATALOG).filter(~pl.col("deleted"))
        changes = decisions.filter(kind="catalog").sort("transaction", "seq")
        self._changes = {seq: _change(version, body) for seq, version, body in _columns(changes, "seq")}
        self._versions = list(self._changes)
        self._built: OrderedDict[int, Catalog] = OrderedDict()
        self._start_over()

    def events(self) -> pl.DataFrame:
        """The lists in the order of creation, without features and scores: both are another policy's."""
        lists = pl.scan_parquet(self._folder / EVENTS).filter(pl.col("model") == self.model)
        lists = lists.rename({"answered_at": "feedback_at"}, strict=False)  # as logs of 0.1.0 have it
        return lists.drop("features", "columns", "scores", "model").sort("created", "event_id").collect()

    @property
    def height(self) -> int:
        """How many lists there are."""
        lists = pl.scan_parquet(self._folder / EVENTS).filter(pl.col("model") == self.model)
        return int(lists.select(pl.len()).collect().item())

    @property
    def scope(self) -> Scope:
        """What the logged model has states for; that never changes."""
        return self._settings[0][1].scope

    def settings(self, at: Any) -> ModelSettings:
        """The settings as they were at a moment."""
        place = bisect_right(self._settings, at, key=lambda one: one[0])
        return self._settings[max(place - 1, 0)][1]

    def catalog(self, version: int) -> Catalog | None:
        """The catalog as it was at a version; None if there was none."""
        if version not in self._built:
            if version not in self._changes:
                return None
            if self._versions.index(version) < self._next:
                self._start_over()
            while self._next <= self._versions.index(version):
                self._advance()
            self._built[version] = self._state.current()
            if len(self._built) > _ROOM:
                self._built.popitem(last=False)
        return self._built[version]

    def _start_over(self) -> None:
        self._state = CatalogState()
        self._next = 0
        self._row = 0

    def _advance(self) -> None:
        """Apply the next entry on the catalog, with the items it put."""
        version = self._versions[self._next]
        end = self._row + int((self._items["version"] == version).sum())
        put, change = self._items[self._row : end], self._changes[version]
        if change.patch is None and len(put):
            change = msgspec.structs.replace(change, items=encode_catalog(_catalog_of(put)))
        self._state.apply(change, version)
        self._next += 1
        self._row = end


def _columns(decisions: pl.DataFrame, first: str) -> Iterator[tuple[Any, int, str]]:
    return decisions.select(first, "version", "body").iter_rows()


def _change(version: int, body: str) -> CatalogChanged:
    record = decode("catalog", version, body)
    assert isinstance(record, CatalogChanged)
    return record


def _catalog_of(rows: pl.DataFrame) -> Catalog:
    """Items of an export as a catalog."""
    coverage, relevance = (
        np.column_stack([np.empty((len(rows), 0)), *rows.select(pl.col(columns))])  # there may be none of them
        for columns in (r"^coverage:.*$", r"^relevance:\d+$")
    )
    titles = rows["title"].to_list()
    return Catalog(
        coverage,
        relevance,
        ids=rows["id"].to_list(),
        titles=None if None in titles else titles,
        topics=[name.removeprefix("coverage:") for name in rows.columns if name.startswith("coverage:")],
    )


def _settings(decisions: pl.DataFrame) -> Iterator[tuple[Any, ModelSettings]]:
    """The moments at which settings changed, and what they were from then on."""
    settings: dict[str, Any] = {}
    for at, kind, body in decisions.sort("transaction", "seq").select("at", "kind", "body").iter_rows():
        if kind in ("create", "settings"):
            settings |= json.loads(body)
            yield at, convert(ModelSettings, settings)


def rows_of(catalog: Catalog, ids: list[Id] | None) -> list[int] | None:
    """Rows of those ids that the catalog has, each once; None for None."""
    if ids is None:
        return None
    found = dict.fromkeys(catalog.row(item) for item in ids)
    return [row for row in found if row is not None]
