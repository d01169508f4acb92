"""Records as rows of the tables, and back."""

from __future__ import annotations

import json

import msgspec

from rankfall.journal.records import Earlier, Entry, Event
from rankfall.stores.dialect import Dialect, Row

EVENT = (
    "id, model, owner, user_id, segment, request_id, digest, created, expires, active, arm, learn, propensity, "
    "catalog, covered, request, response, features, gaps"
)
EVENT_WIDTH = len(EVENT.split(","))
FROM_JOURNAL = "FROM journal j LEFT JOIN events e ON e.id = coalesce(j.event_id, j.outcome_of)"
ON_LIST = "(j.event_id IS NOT NULL OR j.outcome_of IS NOT NULL)"
"""Whether an entry is on a list: its feedback, or an outcome."""


def entry_columns(dialect: Dialect) -> str:
    """The columns of an entry.

    The last one has the earlier entries on the same list, in the same statement: whoever forgets a user changes them.
    """
    return (
        "j.seq, j.kind, j.version, j.model, j.owner, j.at, j.event_id, j.body, j.blob, "
        "e.arm, e.learn, e.covered, e.features, j.token, e.catalog, j.outcome_of, "
        f"(SELECT {dialect.gathered.format('o.seq, o.kind, o.version, o.body')} FROM journal o WHERE o.seq < j.seq "
        "AND (o.outcome_of = coalesce(j.event_id, j.outcome_of) OR o.event_id = j.outcome_of))"
    )


_ACTIVE, _LEARN, _FEATURES = (Event.__struct_fields__.index(name) for name in ("active", "learn", "features"))


def row_of_event(event: Event) -> Row:
    """The values of an event in the order of ``EVENT``."""
    row = list(msgspec.structs.astuple(event))
    row[_ACTIVE], row[_LEARN] = int(event.active), int(event.learn)
    return tuple(row)


def event_of_row(row: Row) -> Event:
    """The event with these values."""
    values = list(row)
    values[_ACTIVE], values[_LEARN] = bool(values[_ACTIVE]), bool(values[_LEARN])
    values[_FEATURES] = None if values[_FEATURES] is None else bytes(values[_FEATURES])
    return Event(*values)


def entry_of_row(row: Row) -> Entry:
    """The entry with these values, in the order of :func:`entry_columns`."""
    seq, kind, version, model, owner, at, event_id, body, blob, *of_event, outcome_of, earlier = row
    arm, learn, covered, features, token, catalog = of_event
    return Entry(
        position=seq,
        kind=kind,
        version=version,
        model=model,
        owner=owner,
        at=at,
        event_id=event_id,
        body=body,
        blob=None if blob is None else bytes(blob),
        arm=arm,
        learn=bool(learn),
        covered=covered or 0,
        features=None if features is None else bytes(features),
        token=token,
        catalog=catalog or 0,
        outcome_of=outcome_of,
        earlier=tuple(Earlier(*one) for one in sorted(json.loads(earlier))) if earlier not in (None, "[]") else (),
    )
