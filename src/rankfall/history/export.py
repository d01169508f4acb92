"""The log of a service as Parquet files, from which everything the service knows can be computed again."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray
from rankfall.catalog import FEATURES
from rankfall.click_logs.exports import EVENTS, MARK
from rankfall.click_logs.values import CHANCES
from rankfall.errors import RankfallError
from rankfall.files import make_folder
from rankfall.history.parquet_parts import Table, table
from rankfall.item_names import Id, feature_columns
from rankfall.journal.catalogs import CatalogShape, CatalogState
from rankfall.journal.entries import CatalogChanged, OutcomeGiven, decode
from rankfall.journal.fold import Knowledge, declared
from rankfall.journal.outcomes import clicks_of
from rankfall.policies import SERVED, LinearPolicy
from rankfall.stores import START, Entry, Event, Position, Store

DECISIONS, CATALOG, OUTCOMES = "decisions.parquet", "catalog.parquet", "outcomes.parquet"
COLUMNS = "rankfall.columns"
"""Metadata of the file of lists: for each model the names of the columns of features as shown, as JSON."""
CONTEXT_COLUMNS = "rankfall.context"
"""Metadata of the same file: for each model that has a context the names of its numbers, as JSON."""
PAGE = 2_000
"""Lists read, and held in memory, at a time."""

_TIME = pl.Datetime("us", "UTC")
_DECISION = {
    "seq": pl.Int64,
    "at": _TIME,
    "kind": pl.String,
    "version": pl.Int64,
    "model": pl.String,
    "owner": pl.String,
    "body": pl.String,
}
OUTCOME: dict[str, Any] = {
    "seq": pl.Int64,
    "at": _TIME,
    "event_id": pl.String,
    "model": pl.String,
    "owner": pl.String,
    "position": pl.Int64,
    "type": pl.String,
    "value": pl.Float64,
}


@dataclass(frozen=True)
class Exported:
    """What was written, up to which entry of the journal."""

    cut: Position
    lists: int
    with_feedback: int
    outcomes: int
    decisions: int
    catalog_rows: int


def export(
    store: Store, out: Path, model: str | None = None, progress: Callable[[int], None] = lambda _: None
) -> Exported:
    """Write the log of all models, or of one, to a folder.

    Servers may go on meanwhile. The journal is cut at its last entry when the export begins: feedback that comes
    after that is left out. So the files hold the state of one moment.
    """
    make_folder(out)
    cut, said = store.end(), {MARK: secrets.token_hex(8)}
    known = Knowledge()
    for entry in _decisions(store, cut):
        known.apply(entry)
    if not known.catalog.there:
        raise RankfallError("the store has no catalog yet, so there is nothing to export")
    names = set(known.models)
    linear = {
        name: policy
        for name, one in known.models.items()
        if issubclass(policy := SERVED[one.settings.policy], LinearPolicy)
    }
    if model is not None and model not in names:
        raise RankfallError(f"no model {model!r}; there is: {', '.join(sorted(names)) or 'none'}")
    shape = known.catalog.shape
    id_type = pl.Int64 if shape.whole_ids else pl.String
    with (
        table(out / DECISIONS, _DECISION, said) as decisions,
        table(out / CATALOG, _catalog_schema(shape, id_type), said | {FEATURES: json.dumps(shape.features)}) as catalog,
    ):
        versions = _write_decisions(store, cut, model, decisions, catalog)
    names_of, contexts = {}, {}
    for name, policy in linear.items():
        context, more = declared(known.models[name].settings)
        names_of[name] = _column_names(policy, shape) + list(() if more is None else more.names)
        contexts[name] = () if context is None else context.columns
    told = {COLUMNS: json.dumps(names_of), CONTEXT_COLUMNS: json.dumps({name: c for name, c in contexts.items() if c})}
    with table(out / EVENTS, _event_schema(id_type), said | told, PAGE) as events:
        wanted, kind = names if model is None else {model}, str if id_type == pl.String else int
        write = _EventRows(known.catalog, linear, {name: len(c) for name, c in contexts.items()}, kind)
        with_feedback = _write_events(store, cut, wanted, versions, write, events, progress)
    with table(out / OUTCOMES, OUTCOME, said) as outcomes:
        _write_outcomes(store, cut, wanted, outcomes)
    return Exported(cut, events.height, with_feedback, outcomes.height, decisions.height, catalog.height)


def _decisions(store: Store, cut: Position) -> Iterator[Entry]:
    """The entries up to the cut that are not on events."""
    after = START
    while page := store.decisions(after):
        for entry in page:
            if entry.position > cut:
                return
            yield entry
        after = page[-1].position


def _catalog_schema(shape: CatalogShape, id_type: Any) -> dict[str, Any]:
    return {
        "version": pl.Int64,
        "deleted": pl.Boolean,
        "id": id_type,
        "title": pl.String,
        **{f"coverage:{topic}": pl.Float64 for topic in shape.topics},
        **dict.fromkeys(feature_columns(shape.features), pl.Float64),
        "attributes": pl.String,
    }


def _column_names(policy: type[LinearPolicy], shape: CatalogShape) -> list[str]:
    """What the columns of features as shown are: topics, then features, as far as the policy uses them."""
    topics = () if policy.coverage == "absent" else shape.topics
    return [*topics, *(() if policy.relevance == "absent" else shape.features)]


def _write_decisions(store: Store, cut: Position, model: str | None, decisions: Table, catalog: Table) -> set[int]:
    """Write the entries that are not on events; the versions of the catalog there were."""
    known = Knowledge()
    versions = set()
    nothing = [None] * (len(catalog.schema) - 3)
    topics = sum(name.startswith("coverage:") for name in catalog.schema)
    for entry in _decisions(store, cut):
        if isinstance(known.apply(entry), CatalogChanged):
            versions.add(entry.position)
            gone, put = known.catalog.last
            for id_ in gone:
                catalog.add((entry.position, True, id_, *nothing))
            for id_ in put:
                item = known.catalog.item(id_)
                later = [0.0] * (topics - len(item.coverage))  # topics that came since
                known_of = json.dumps(dict(item.attributes)) if item.attributes else None
                row = (item.title, *item.coverage, *later, *item.relevance, known_of)
                catalog.add((entry.position, False, id_, *row))
        if model is None or entry.model in ("", model):
            row = (entry.kind, entry.version, entry.model, entry.owner, entry.body)
            decisions.add((entry.position, _time(entry.at), *row))
    return versions


def _event_schema(id_type: Any) -> dict[str, Any]:
    return {
        "event_id": pl.String,
        "model": pl.String,
        "owner": pl.String,
        "user": pl.String,
        "segment": pl.String,
        "created": _TIME,
        "expires": _TIME,
        "active": pl.Boolean,
        "arm": pl.String,
        "learn": pl.Boolean,
        "propensity": pl.Float64,
        "catalog_version": pl.Int64,
        "covered": pl.Int64,
        "items": pl.List(id_type),
        "scores": pl.List(pl.Float64),
        "candidates": pl.List(id_type),
        "exclude": pl.List(id_type),
        "features": pl.List(pl.Float64),
        "columns": pl.Int64,
        "result": pl.String,
        "clicked": pl.List(pl.Int64),
        "feedback_at": _TIME,
        "seq": pl.Int64,
        "rules": pl.String,
        "context": pl.String,
        "context_numbers": pl.List(pl.Float64),
        "candidate_features": pl.String,
        **dict.fromkeys(CHANCES, pl.List(pl.Float64)),
        "model_version": pl.Int64,
    }


def _write_events(
    store: Store,
    cut: Position,
    wanted: set[str],
    versions: set[int],
    rows: _EventRows,
    events: Table,
    progress: Callable[[int], None],
) -> int:
    """Write lists and the feedback on them; how many have feedback."""
    after, with_feedback = "", 0
    while page := store.events_with_feedback(after, PAGE):
        after = page[-1][0].id
        for event, entry in page:
            if event.model not in wanted:
                continue
            if event.catalog not in versions:  # made after the cut, from a catalog that came after it
                continue
            feedback = entry if entry is not None and entry.position <= cut else None
            with_feedback += feedback is not None
            events.add(rows.row(event, feedback))
        progress(len(page))
    return with_feedback


def _write_outcomes(store: Store, cut: Position, wanted: set[str], outcomes: Table) -> None:
    """Write what came of items beside their clicks."""
    after = START
    while page := store.outcomes(after):
        after = page[-1].position
        for entry in page:
            record = decode(entry.kind, entry.version, entry.body)
            if entry.position <= cut and entry.model in wanted and isinstance(record, OutcomeGiven):
                told = (record.position, record.type, record.value)
                outcomes.add((entry.position, _time(entry.at), entry.outcome_of, entry.model, entry.owner, *told))


@dataclass(frozen=True, eq=False)
class _EventRows:
    """Lists as rows of the table.

    Attributes
    ----------
    catalog : as it is in the end.
    linear : the models whose lists have features, and their policies.
    contexts : how many numbers the context of each of these models has.
    id_type : of items.
    """

    catalog: CatalogState
    linear: dict[str, type[LinearPolicy]]
    contexts: dict[str, int]
    id_type: type

    def row(self, event: Event, feedback: Entry | None) -> tuple[Any, ...]:
        response = json.loads(event.response)
        shown = response["items"]
        limits: dict[str, Any] = json.loads(event.request) if event.request else {}
        candidates, given = _candidates(limits.get("candidates"))
        given += limits.get("candidate_features", [])  # of imported lists, whose candidates nobody knows
        features, numbers = self._features(event, len(shown))
        chances: dict[str, list[float]] = limits.get("chances", {})
        return (
            event.id,
            event.model,
            event.owner,
            event.user,
            event.segment,
            _time(event.created),
            _time(event.expires),
            event.active,
            event.arm,
            event.learn,
            event.propensity,
            event.catalog,
            event.covered,
            [item["id"] for item in shown],
            [item["score"] for item in shown],
            _known(candidates, self.id_type),
            _known(limits.get("exclude"), self.id_type),
            None if features is None else features.ravel().tolist(),
            None if features is None else features.shape[1],
            *_feedback_row(feedback),
            json.dumps(limits["rules"]) if "rules" in limits else None,
            json.dumps(limits["context"]) if "context" in limits else None,
            None if numbers is None else numbers.tolist(),
            json.dumps(given) if given else None,
            *(chances.get(name) for name in CHANCES.values()),
            response["model_version"],
        )

    def _features(self, event: Event, shown: int) -> tuple[FloatArray | None, FloatArray | None]:
        """Features as shown, with a column for every topic, of which later ones were not covered; and the context."""
        if event.model not in self.linear or event.features is None:
            return None, None
        kept: FloatArray = np.frombuffer(event.features)
        end = len(kept) - self.contexts[event.model]
        features, numbers = kept[:end].reshape(shown, -1), kept[end:] if end < len(kept) else None
        if self.linear[event.model].coverage != "absent":
            then, now = self.catalog.topics_at(event.catalog), len(self.catalog.shape.topics)
            features = np.insert(features, [then] * (now - then), 0.0, axis=1)
        return features, numbers


def _feedback_row(entry: Entry | None) -> tuple[Any, ...]:
    if entry is None:
        return (None,) * 4
    clicked = clicks_of(decode(entry.kind, entry.version, entry.body))
    return entry.kind, clicked, _time(entry.at), entry.position


def _candidates(given: list[Any] | None) -> tuple[list[Id] | None, list[dict[str, Any]]]:
    """The ids of candidates, and those that have features in their request, with these."""
    if given is None:
        return None, []
    named = [one for one in given if isinstance(one, dict) and one["features"]]
    return [one["id"] if isinstance(one, dict) else one for one in given], named


def _known(ids: list[Id] | None, id_type: type) -> list[Id] | None:
    """Ids that could be in the catalog; a text among whole numbers never was."""
    return None if ids is None else [item for item in ids if isinstance(item, id_type)]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
