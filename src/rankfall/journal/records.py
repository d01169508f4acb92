"""What a store holds: rankings as they were shown, and a journal of everything that changes what is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Arm: TypeAlias = Literal["policy", "baseline", "control", "fallback"]
"""Whose list was shown: the learned one, the caller's, the caller's in the control group, or the caller's in need."""


class Position(NamedTuple):
    """A place in the journal. Entries are folded in this order, by every server alike.

    ``transaction`` is 0 in SQLite, where transactions commit one after the other. In PostgreSQL they do not: see
    :func:`rankfall.stores.postgres.postgres_at`.
    """

    transaction: int
    seq: int


START = Position(-1, 0)
"""Before the first entry."""


@dataclass(frozen=True, slots=True)
class Event:
    """One list as it was shown.

    Attributes
    ----------
    id : what feedback refers to.
    model, key : which state it came from; the key is "" (global), a segment or a user.
    request_id, digest : the caller's name for the request and a fingerprint of its body, to answer a retry alike.
    created, expires : seconds since 1970. Feedback after ``expires`` is late.
    active : known to be shown; only then does silence mean "no click".
    learn : whether feedback on it changes the model.
    propensity : probability with which this list was chosen, if known.
    catalog : version of the catalog it was made from.
    covered : how many topics the list covers.
    request : candidates and exclude as given, JSON, or None.
    answer : what was answered, JSON.
    features : features as shown, float64, row by row; None where nothing is learned.
    """

    id: str
    model: str
    key: str
    user: str | None
    segment: str | None
    request_id: str | None
    digest: str | None
    created: float
    expires: float
    active: bool
    arm: Arm
    learn: bool
    propensity: float | None
    catalog: int
    covered: int
    request: str | None
    answer: str
    features: bytes | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal.

    ``kind`` says what happened: ``feedback`` and ``expired`` answer the event ``event_id``; ``catalog``, ``create``,
    ``settings``, ``reset``, ``restore`` and ``forget`` are decisions of whoever runs the service. ``arm``, ``learn``,
    ``covered`` and ``features`` are those of the event.
    """

    position: Position
    kind: str
    model: str
    key: str
    at: float
    event_id: str | None
    body: str
    blob: bytes | None
    arm: Arm | None = None
    learn: bool = False
    covered: int = 0
    features: bytes | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state as it was after the entry at ``position``: a short cut through the journal, never the truth itself."""

    model: str
    key: str
    position: Position
    state: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A name for a place in the journal of one model."""

    id: str
    model: str
    name: str
    position: Position
    at: float
