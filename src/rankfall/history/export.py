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

from rankfall.catalog import Id
from rankfall.errors import FileError, RankfallError
from rankfall.history.catalog_history import Shelf
from rankfall.history.parquet_parts import Table, table
from rankfall.policies import POLICIES, LinearPolicy
from rankfall.stores import START, Entry, Event, Position, Store

EVENTS, DECISIONS, CATALOG = "events.parquet", "decisions.parquet", "catalog.parquet"
PAGE = 2_000
"""Lists read, and held in memory, at a time."""

_TIME = pl.Datetime("us", "UTC")
_DECISION = {
    "transaction": pl.Int64,
    "seq": pl.Int64,
    "at": _TIME,
    "kind": pl.String,
    "model": pl.String,
    "key": pl.String,
    "body": pl.String,
}


@dataclass(frozen=True)
class Exported:
    """What was written, up to which entry of the journal."""

    cut: Position
    lists: int
    answered: int
    decisions: int
    catalog_rows: int


def export(
    store: Store, out: Path, model: str | None = None, progress: Callable[[int], None] = lambda _: None
) -> Exported:
    """Write the log of all models, or of one, to a folder.

    Servers may go on meanwhile. The journal is cut at its last final entry when the export begins: a list answered
    after that counts as not answered yet. So the files hold the state of one moment.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"cannot make the folder {out}: {problem}") from problem
    cut, mark = store.end(), secrets.token_hex(8)
    first = next((entry for entry in _decisions(store, cut) if entry.kind == "catalog"), None)
    if first is None:
        raise RankfallError("the store has no catalog yet, so there is nothing to export")
    shelf = Shelf()
    shelf.apply(first)
    made = [entry for entry in _decisions(store, cut) if entry.kind == "create"]
    names = {entry.model for entry in made}
    linear = {entry.model for entry in made if issubclass(POLICIES[json.loads(entry.body)["policy"]], LinearPolicy)}
    if model is not None and model not in names:
        raise RankfallError(f"no model {model!r}; there is: {', '.join(sorted(names)) or 'none'}")
    id_type = pl.String if isinstance(next(iter(shelf.items), ""), str) else pl.Int64
    with (
        table(out / DECISIONS, _DECISION, mark) as decisions,
        table(out / CATALOG, _catalog_schema(shelf, id_type), mark) as catalog,
    ):
        versions = _write_decisions(store, cut, model, decisions, catalog)
    with table(out / EVENTS, _event_schema(id_type), mark, PAGE) as events:
        wanted, kind = names if model is None else {model}, str if id_type == pl.String else int
        answered = _write_events(store, cut, wanted, linear, versions, kind, events, progress)
    return Exported(cut, events.height, answered, decisions.height, catalog.height)


def _decisions(store: Store, cut: Position) -> Iterator[Entry]:
    after = START
    while page := store.decisions(after):
        for entry in page:
            if entry.position > cut:
                return
            yield entry
        after = page[-1].position


def _catalog_schema(shelf: Shelf, id_type: Any) -> dict[str, Any]:
    features = len(next(iter(shelf.items.values())).relevance)
    return {
        "transaction": pl.Int64,
        "version": pl.Int64,
        "deleted": pl.Boolean,
        "id": id_type,
        "title": pl.String,
        **{f"coverage:{topic}": pl.Float64 for topic in shelf.topics},
        **{f"relevance:{j}": pl.Float64 for j in range(features)},
    }


def _write_decisions(store: Store, cut: Position, model: str | None, decisions: Table, catalog: Table) -> set[int]:
    """Write what is not feedback; the versions of the catalog there were."""
    shelf = Shelf()
    versions = set()
    nothing = [None] * (len(catalog.schema) - 4)
    for entry in _decisions(store, cut):
        if entry.kind == "catalog":
            versions.add(entry.position.seq)
            gone, put = shelf.apply(entry)
            for item in gone:
                catalog.add((*entry.position, True, item, *nothing))
            for item in put:
                kept = shelf.items[item]
                catalog.add((*entry.position, False, item, kept.title, *kept.coverage, *kept.relevance))
        if model is None or entry.model in ("", model):
            decisions.add((*entry.position, _time(entry.at), entry.kind, entry.model, entry.key, entry.body))
    return versions


def _event_schema(id_type: Any) -> dict[str, Any]:
    return {
        "event_id": pl.String,
        "model": pl.String,
        "key": pl.String,
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
        "answered_at": _TIME,
        "transaction": pl.Int64,
        "seq": pl.Int64,
    }


def _write_events(
    store: Store,
    cut: Position,
    wanted: set[str],
    linear: set[str],
    versions: set[int],
    id_type: type,
    events: Table,
    progress: Callable[[int], None],
) -> int:
    """Write lists and their answers; how many are answered."""
    after, answered = "", 0
    while page := store.log(after, PAGE):
        after = page[-1][0].id
        for event, entry in page:
            if event.model not in wanted:
                continue
            if event.catalog not in versions:  # made after the cut, from a catalog that came after it
                continue
            answer = entry if entry is not None and entry.position <= cut else None
            answered += answer is not None
            events.add(_event_row(event, answer, id_type, with_features=event.model in linear))
        progress(len(page))
    return answered


def _event_row(event: Event, answer: Entry | None, id_type: type, *, with_features: bool) -> tuple[Any, ...]:
    shown = json.loads(event.answer)["items"]
    limits: dict[str, list[Id]] = json.loads(event.request) if event.request else {}
    features = np.frombuffer(event.features) if with_features and event.features is not None else None
    return (
        event.id,
        event.model,
        event.key,
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
        _known(limits.get("candidates"), id_type),
        _known(limits.get("exclude"), id_type),
        None if features is None else features.tolist(),
        None if features is None else len(features) // len(shown),
        *_answer_row(answer),
    )


def _answer_row(answer: Entry | None) -> tuple[Any, ...]:
    if answer is None:
        return (None,) * 5
    clicked = json.loads(answer.body)["clicked"] if answer.kind == "feedback" else []
    return answer.kind, clicked, _time(answer.at), *answer.position


def _known(ids: list[Id] | None, id_type: type) -> list[Id] | None:
    """Ids that could be in the catalog; a text among whole numbers never was."""
    return None if ids is None else [item for item in ids if isinstance(item, id_type)]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
