"""A log that was exported, read back: lists, feedback, settings and catalogs as they were."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from rankfall.attributes import Attributes, attributes_of_rows
from rankfall.catalog import FEATURES, Catalog
from rankfall.click_logs.exports import EVENTS
from rankfall.errors import FileError, RankfallError
from rankfall.history.export import CATALOG, DECISIONS, OUTCOME, OUTCOMES
from rankfall.history.parquet_parts import read_mark
from rankfall.item_names import Id
from rankfall.journal.catalogs import encode_catalog
from rankfall.journal.entries import CatalogChanged, ModelCreated, PriorLearned, SettingsChanged, decode
from rankfall.journal.fold import Knowledge, declared, rewards_of
from rankfall.journal.priors import decode_prior
from rankfall.journal.records import Entry
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.linear.prior import Prior
from rankfall.policies.rewards import Rewards
from rankfall.wire import ModelSettings, Scope

IMPORTED = "import-"
"""How the ids of imported lists begin; their arm was ``baseline`` once."""
_IMPORTED = pl.col("event_id").str.starts_with(IMPORTED)
_ROOM = 8  # catalogs held at a time: servers take up a change within moments of each other


class LoggedPrior(NamedTuple):
    """What users started from, from an entry of the journal on."""

    seq: int
    at: datetime
    prior: Prior


class Log:
    """The log of one model.

    Parameters
    ----------
    folder : what ``rankfall export`` wrote.
    model : its name; may be left out if the log is of one model only.
    """

    def __init__(self, folder: Path, model: str | None = None) -> None:
        there = [OUTCOMES] if (folder / OUTCOMES).exists() else []  # logs of earlier versions have none
        marks = {read_mark(folder / name) for name in (EVENTS, DECISIONS, CATALOG, *there)}
        if len(marks) > 1:
            raise FileError(f"the files in {folder} are of different exports; export again")
        self._folder = folder
        self.notes: tuple[str, ...] = ()
        entries = _entries(folder / DECISIONS)
        names = [entry.model for entry in entries if entry.kind == "create"]
        if model is None and len(names) != 1:
            raise RankfallError(f"the log has {len(names)} models; say which with --model: {', '.join(names)}")
        self.model = model or names[0]
        if self.model not in names:
            raise RankfallError(f"the log has no model {self.model!r}; it has: {', '.join(names)}")
        own = [entry for entry in entries if entry.model == self.model]
        self._settings = list(_settings(own))
        self._priors = [entry for entry in own if entry.kind == "prior"]
        self.restarted = any(entry.kind in ("reset", "restore") for entry in own)
        """Whether the logged model was reset or restored."""
        self._items = pl.read_parquet(folder / CATALOG).filter(~pl.col("deleted"))
        known = pl.read_parquet_metadata(folder / CATALOG)
        self._features = json.loads(known[FEATURES]) if FEATURES in known else None  # logs of before have no names
        self._changes = {entry.position: entry for entry in entries if entry.kind == "catalog"}
        self._versions = list(self._changes)
        self._built: OrderedDict[int, Catalog] = OrderedDict()
        self._start_over()

    def events(self) -> pl.DataFrame:
        """The lists in the order of creation, without features and scores: both are another policy's.

        Feedback on an imported list counts at the time of the list: that of the import says nothing about when it came.
        """
        came = pl.when(_IMPORTED).then("created").otherwise("feedback_at").alias("feedback_at")
        lists = self._lists().drop("features", "columns", "scores", "model").with_columns(came)
        return lists.sort("created", "event_id").collect()

    def outcomes(self) -> pl.DataFrame:
        """What came of items beside their clicks, in the order of the journal.

        Outcomes that were imported with their list count at the time of the list, as the feedback on it does; those
        that came later, by another import or from a caller, at their own.
        """
        path = self._folder / OUTCOMES
        found = pl.read_parquet(path) if path.exists() else pl.DataFrame(schema=OUTCOME)
        imported = self._lists().filter(_IMPORTED).select("event_id", "created", at="feedback_at").collect()
        found = found.filter(pl.col("model") == self.model).join(imported, on=("event_id", "at"), how="left")
        return found.with_columns(at=pl.coalesce("created", "at")).drop("created").sort("seq")

    def _lists(self) -> pl.LazyFrame:
        """The lists of the model, as the file has them."""
        lists = pl.scan_parquet(self._folder / EVENTS).filter(pl.col("model") == self.model)
        return lists.rename({"answered_at": "feedback_at"}, strict=False)  # as logs of 0.1.0 have it

    @property
    def rewards(self) -> Rewards | None:
        """What a click and outcomes are worth to the logged model; that never changes."""
        return rewards_of(self._settings[0][1])

    @property
    def policy(self) -> str:
        """The policy that the logged model was made with; others that it had since have the same weights."""
        return self._settings[0][1].policy

    @property
    def across_users(self) -> bool:
        """Whether users of the logged model start from what all have shown; that never changes."""
        return self._settings[0][1].across_users

    def priors(self) -> list[LoggedPrior]:
        """What users of the logged model started from, in the order of the journal."""
        found = []
        for entry in self._priors:
            record = decode(entry.kind, entry.version, entry.body)
            if isinstance(record, PriorLearned):
                at = datetime.fromtimestamp(entry.at, UTC)
                found.append(LoggedPrior(entry.position, at, decode_prior(record.prior)))
        return found

    @property
    def declared(self) -> tuple[Context | None, RequestFeatures | None]:
        """The context of the logged model and the features that candidates had in one request; that never changes."""
        return declared(self._settings[0][1])

    @property
    def height(self) -> int:
        """How many lists there are."""
        return int(self._lists().select(pl.len()).collect().item())

    @property
    def scope(self) -> Scope:
        """What the logged model has states for; that never changes."""
        return self._settings[0][1].scope

    @property
    def all_settings(self) -> list[ModelSettings]:
        """The settings that the model had, in order."""
        return [settings for _, settings in self._settings]

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
            self._built[version] = self._known.catalog.current()
            if len(self._built) > _ROOM:
                self._built.popitem(last=False)
        return self._built[version]

    def _start_over(self) -> None:
        self._known = Knowledge()
        self._next = 0
        self._row = 0

    def _advance(self) -> None:
        """Apply the next entry on the catalog, with the items it put."""
        version = self._versions[self._next]
        end = self._row + int((self._items["version"] == version).sum())
        put, entry = self._items[self._row : end], self._changes[version]
        blob = encode_catalog(_catalog_of(put, self._features)) if len(put) and not _is_patch(entry) else None
        self._known.apply(msgspec.structs.replace(entry, blob=blob))
        self._next += 1
        self._row = end


def _entries(path: Path) -> list[Entry]:
    """The entries of the journal that are not on events, in order, without the items of those on the catalog."""
    rows = pl.read_parquet(path)
    if "version" not in rows.columns:  # a log of 0.1.0
        rows = rows.with_columns(version=pl.lit(1), owner="key")
    columns = ("seq", "kind", "version", "model", "owner", "at", "body")
    return [
        Entry(seq, kind, version, model, owner, at.timestamp(), None, body, None)
        for seq, kind, version, model, owner, at, body in in_order(rows).select(columns).iter_rows()
    ]


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of an export in the order of the journal; logs of 0.1.0 have a transaction before the number."""
    return rows.sort([name for name in ("transaction", "seq") if name in rows.columns])


def _is_patch(entry: Entry) -> bool:
    record = decode(entry.kind, entry.version, entry.body)
    return isinstance(record, CatalogChanged) and record.patch is not None


def _catalog_of(rows: pl.DataFrame, features: list[str] | None) -> Catalog:
    """Items of an export as a catalog."""
    coverage, relevance = (
        np.column_stack([np.empty((len(rows), 0)), *rows.select(pl.col(columns))])  # there may be none of them
        for columns in (r"^coverage:.*$", r"^relevance:.*$")
    )
    titles = rows["title"].to_list()
    return Catalog(
        coverage,
        relevance,
        ids=rows["id"].to_list(),
        titles=None if None in titles else titles,
        topics=[name.removeprefix("coverage:") for name in rows.columns if name.startswith("coverage:")],
        features=features,
        attributes=_attributes(rows),
    )


def _attributes(rows: pl.DataFrame) -> Attributes | None:
    """The attributes of items of an export; those of earlier versions have none."""
    if "attributes" not in rows.columns:
        return None
    return attributes_of_rows([json.loads(told) if told else {} for told in rows["attributes"]])


def _settings(entries: list[Entry]) -> Iterator[tuple[datetime, ModelSettings]]:
    """The moments at which the settings of a model changed, and what they were from then on."""
    known = Knowledge()
    for entry in entries:
        if isinstance(known.apply(entry), ModelCreated | SettingsChanged):
            yield datetime.fromtimestamp(entry.at, UTC), known.models[entry.model].settings


def rows_of(catalog: Catalog, ids: list[Id] | None) -> list[int] | None:
    """Rows of those ids that the catalog has, each once; None for None."""
    if ids is None:
        return None
    found = dict.fromkeys(catalog.row(item) for item in ids)
    return [row for row in found if row is not None]
