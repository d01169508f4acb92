"""Records as rows of the tables, and back."""

from __future__ import annotations

import msgspec

from rankfall.journal.records import Entry, Event
from rankfall.stores.dialect import Row

EVENT = (
    "id, model, owner, user_id, segment, request_id, digest, created, expires, active, arm, learn, propensity, "
    "catalog, covered, request, response, features, gaps"
)
EVENT_WIDTH = len(EVENT.split(","))
ENTRY = (
    "j.seq, j.kind, j.version, j.model, j.owner, j.at, j.event_id, j.body, j.blob, "
    "e.arm, e.learn, e.covered, e.features, j.token, e.catalog"
)
FROM_JOURNAL = "FROM journal j LEFT JOIN events e ON e.id = j.event_id"

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
    """The entry with these values, in the order of ``ENTRY``."""
    seq, kind, version, model, owner, at, event_id, body, blob, arm, learn, covered, features, token, catalog = row
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
    )
