"""What a store holds: events, the journal, checkpoints and snapshots, as plain rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import msgspec

Arm: TypeAlias = Literal["policy", "baseline", "control", "fallback", "imported"]
"""Whose list was shown: the policy's, or the caller's: by the mode of the model (``baseline``), because the user is in
the control group (``control``), or because the policy failed (``fallback``)."""


Position: TypeAlias = int
"""A place in the journal: the number of an entry. Numbers rise in the order of commits, with gaps; every server folds
entries in this order."""

START: Position = 0
"""Before the first entry."""
END: Position = 2**62
"""After the last entry there can be."""


class Mark(NamedTuple):
    """An entry, told from every other one that ever had its number.

    A store that went back in time (a failover that lost transactions, a backup put back) gives numbers a second time.
    """

    position: Position
    token: str
    at: float


BEGINNING = Mark(START, "", 0.0)
"""Before the first entry."""


class Event(msgspec.Struct, frozen=True):
    """One list as it was shown.

    Attributes
    ----------
    id : the ``event_id`` that feedback names.
    model, owner : which state it came from; the owner is "" (global), a segment or a user.
    request_id, digest : the caller's name for the request and a fingerprint of its body, to give a retry the same list.
    created, expires : seconds since 1970. Feedback after ``expires`` is late, unless a gap made the wait longer.
    active : known to be shown; only then does missing feedback mean "no click".
    learn : whether feedback on it changes the model.
    propensity : probability with which this list was chosen, if known.
    catalog : version of the catalog it was made from.
    covered : how many topics the list covers.
    request : candidates, exclude and context as given, JSON, or None; of an imported list context and
        ``candidate_features``. And ``chances`` of each position, where the list was drawn and they are known.
    response : what the caller got, JSON.
    features : features as shown, float64, row by row, and then the numbers of the context; None where nothing is
        learned.
    gaps : seconds in which no feedback could arrive, of all the time up to the beginning of its wait.
    """

    id: str
    model: str
    owner: str
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
    response: str
    features: bytes | None
    gaps: float = 0.0

    @property
    def counted_expires(self) -> float:
        """When its wait ends, in the time that counts for waits: without gaps."""
        return self.expires - self.gaps


class Earlier(NamedTuple):
    """An earlier entry on the event of another one."""

    position: Position
    kind: str
    version: int
    body: str


class Entry(msgspec.Struct, frozen=True):
    """One line of the journal, as it is stored.

    ``kind``, ``version``, ``body`` and ``blob`` say what happened; :func:`rankfall.journal.entries.decode` reads them.
    Feedback, and feedback that never came, is on the event ``event_id``, of which there is one; an outcome is on the
    event ``outcome_of``, of which there may be many. ``arm``, ``learn``, ``covered``, ``features`` and ``catalog`` are
    that event's, and ``earlier`` has the outcomes on it, and of an outcome also the feedback, that came before.
    """

    position: Position
    kind: str
    version: int
    model: str
    owner: str
    at: float
    event_id: str | None
    body: str
    blob: bytes | None
    arm: Arm | None = None
    learn: bool = False
    covered: int = 0
    features: bytes | None = None
    token: str = ""
    catalog: int = 0
    outcome_of: str | None = None
    earlier: tuple[Earlier, ...] = ()

    @property
    def mark(self) -> Mark:
        """Which entry this is."""
        return Mark(self.position, self.token, self.at)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state as it was after the entry at ``position``. It shortens a restart, and is never the truth itself.

    ``mark`` is that entry, where it was read from a store.
    """

    model: str
    owner: str
    position: Position
    state: bytes
    mark: Mark = field(default=BEGINNING, compare=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A name that people gave to a position in the journal of one model."""

    id: str
    model: str
    name: str
    position: Position
    at: float
