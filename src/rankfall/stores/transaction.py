"""Writes to a store, and the reads that go with them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from rankfall.journal.entries import Encoded, decode, encode
from rankfall.journal.fold import forgotten
from rankfall.journal.records import Checkpoint, Entry, Event, Mark, Position, Snapshot
from rankfall.policies.rewards import Rewards
from rankfall.stores.dialect import Connection, Dialect
from rankfall.stores.rows import (
    EVENT,
    EVENT_WIDTH,
    FROM_JOURNAL,
    ON_LIST,
    entry_columns,
    entry_of_row,
    event_of_row,
    row_of_event,
)

_NEXT = "(SELECT coalesce(max(seq), 0) + 1 FROM journal)"
"""The number of the next entry. Not one of the database's own counters: those do not move with the rows."""


_LEFT_BEHIND = "DELETE FROM events WHERE model = ? AND owner = ? AND user_id IS NULL AND owner <> '' RETURNING 1"
"""Lists that earlier versions left behind, where a user was forgotten while they were being stored."""


def _token() -> str:
    """What tells an entry from others that get the same number after a store went back in time."""
    return secrets.token_hex(8)


class OnEvent(NamedTuple):
    """An entry on an event: feedback, or that none came. ``token`` tells whose it is when it is tried twice."""

    entry: Encoded
    event_id: str
    model: str
    owner: str
    at: float
    token: str = ""


class OnOutcome(NamedTuple):
    """An outcome on an event; ``key`` tells it from the others there, and is there once."""

    entry: Encoded
    event_id: str
    key: str
    model: str
    owner: str
    at: float
    token: str


class StoredFeedback(NamedTuple):
    """The entry that an event has."""

    kind: str
    version: int
    body: str
    at: float
    token: str


class Beat(NamedTuple):
    """The last heartbeat of all servers: when, and how many seconds before it no feedback could arrive."""

    at: float
    gaps: float


class Removed(NamedTuple):
    """What was removed of a user: states, lists by model, and the name from other lists."""

    states: int
    lists: dict[str, int]
    anonymised: int


class Transaction:
    """Reads and writes that happen together. Nothing is durable before the block ends."""

    def __init__(self, dialect: Dialect, connection: Connection) -> None:
        self._dialect = dialect
        self.run = connection.run
        self.run_many = connection.run_many
        self._appends = False

    def exclusive(self) -> None:
        """Wait until no other transaction that called this is under way, and keep others out until this one ends."""
        if self._dialect.exclusive:
            self.run(self._dialect.exclusive)

    def forgetting(self) -> None:
        """Wait for transactions that store lists, and keep others from it until this one ends.

        They in turn wait for those who append: so this comes before the first entry of a transaction.
        """
        if self._dialect.forgetting:
            self.run(self._dialect.forgetting)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """A part that can fail without taking the rest of the transaction with it."""
        self.run("SAVEPOINT attempt")
        appended = self._appends
        try:
            yield
        except Exception:
            self.run("ROLLBACK TO SAVEPOINT attempt")  # which also lets go of locks that were taken since
            self._appends = appended
            self.run("RELEASE SAVEPOINT attempt")
            raise
        self.run("RELEASE SAVEPOINT attempt")

    def add_events(self, events: Sequence[Event]) -> list[bool]:
        """Store lists as shown; False where the id or the request id is taken.

        Whoever forgets a user meanwhile waits for this transaction, or this one for them.
        """
        if self._dialect.storing and any(event.user is not None for event in events):
            self.run(self._dialect.storing)
        marks = ", ".join("?" * EVENT_WIDTH)
        sql = f"INSERT INTO events ({EVENT}) VALUES ({marks}) ON CONFLICT DO NOTHING RETURNING 1"
        return [bool(given) for given in self.run_many(sql, [row_of_event(event) for event in events])]

    def events(self, ids: Sequence[str]) -> list[Event | None]:
        """The lists with these ids, without their features; None where there is none."""
        columns = EVENT.replace("features", "NULL")
        found = self.run_many(f"SELECT {columns} FROM events WHERE id = ?", [(one,) for one in ids])
        return [event_of_row(rows[0]) if rows else None for rows in found]

    def event_of_request(self, model: str, request_id: str) -> Event | None:
        """The list that this request was given."""
        sql = f"SELECT {EVENT.replace('features', 'NULL')} FROM events WHERE model = ? AND request_id = ?"
        rows = self.run(sql, (model, request_id))
        return event_of_row(rows[0]) if rows else None

    def activate(self, event_id: str, expires: float, gaps: float) -> None:
        """Mark a list as shown."""
        self.run(
            "UPDATE events SET active = 1, expires = ?, gaps = ? WHERE id = ? AND active = 0", (expires, gaps, event_id)
        )

    def _begin_to_append(self) -> None:
        """Wait for the turn of this transaction to append; others wait for its commit, so this comes late."""
        if self._dialect.appending and not self._appends:
            self.run(self._dialect.appending)
        self._appends = True

    def withdraw(self, ids: Sequence[str]) -> None:
        """Mark lists as not shown: their callers got others."""
        self.run_many("UPDATE events SET active = 0 WHERE id = ?", [(one,) for one in ids])

    def append_on_events(self, entries: Sequence[OnEvent]) -> list[bool]:
        """Append entries on events.

        False where the event has its entry already, or is gone: whoever forgets its user meanwhile waits for this
        transaction, or this one for them.
        """
        sql = (
            "INSERT INTO journal (seq, kind, version, model, owner, event_id, body, at, token) "
            f"SELECT {_NEXT}, ?, ?, ?, ?, id, ?, ?, ? FROM events WHERE id = ? "
            "ON CONFLICT (event_id) DO NOTHING RETURNING 1"
        )
        if entries:
            self._begin_to_append()
        rows = [
            (*one.entry[:2], one.model, one.owner, one.entry.body, one.at, one.token or _token(), one.event_id)
            for one in entries
        ]
        return [bool(stored) for stored in self.run_many(sql, rows)]

    def append_outcomes(self, outcomes: Sequence[OnOutcome]) -> list[bool]:
        """Append outcomes on events; False where the event has it already, or is gone."""
        sql = (
            "INSERT INTO journal (seq, kind, version, model, owner, outcome_of, outcome_key, body, at, token) "
            f"SELECT {_NEXT}, ?, ?, ?, ?, id, ?, ?, ?, ? FROM events WHERE id = ? "
            "ON CONFLICT (outcome_of, outcome_key) WHERE outcome_of IS NOT NULL DO NOTHING RETURNING 1"
        )
        if outcomes:
            self._begin_to_append()
        rows = [
            (*one.entry[:2], one.model, one.owner, one.key, one.entry.body, one.at, one.token, one.event_id)
            for one in outcomes
        ]
        return [bool(stored) for stored in self.run_many(sql, rows)]

    def count_outcomes(self, event_id: str) -> int:
        """How many outcomes an event has."""
        return int(self.run("SELECT count(*) FROM journal WHERE outcome_of = ?", (event_id,))[0][0])

    def token_of_outcome(self, event_id: str, key: str) -> str | None:
        """The token of an outcome on an event, if there is one with this key."""
        rows = self.run("SELECT token FROM journal WHERE outcome_of = ? AND outcome_key = ?", (event_id, key))
        return rows[0][0] if rows else None

    def feedback_on(self, event_id: str) -> StoredFeedback | None:
        """The entry on an event, if there is one."""
        rows = self.run("SELECT kind, version, body, at, token FROM journal WHERE event_id = ?", (event_id,))
        return StoredFeedback(*rows[0]) if rows else None

    def append(self, entry: Encoded, model: str, at: float) -> int:
        """Append an entry that is not on an event; its number."""
        sql = (
            "INSERT INTO journal (seq, kind, version, model, owner, body, blob, at, token) "
            f"VALUES ({_NEXT}, ?, ?, ?, '', ?, ?, ?, ?) RETURNING seq"
        )
        self._begin_to_append()
        row = (entry.kind, entry.version, model, entry.body, entry.blob, at, _token())
        return int(self.run(sql, row)[0][0])

    def first(self, kind: str, model: str) -> Entry | None:
        """The first entry of this kind for this model."""
        columns = entry_columns(self._dialect)
        sql = f"SELECT {columns} {FROM_JOURNAL} WHERE j.model = ? AND j.kind = ? ORDER BY j.seq LIMIT 1"
        rows = self.run(sql, (model, kind))
        return entry_of_row(rows[0]) if rows else None

    def save(self, checkpoints: Iterable[Checkpoint], seen: Mark) -> bool:
        """Keep states; older ones of the same owner that no snapshot needs are dropped. Whether they were kept.

        ``seen`` is how far the journal was read. If a user was forgotten after that nothing is kept, for it could be a
        state of that user. Nor if that entry is not in the journal any more: they are states of another history.
        """
        kept = list(checkpoints)
        self.exclusive()
        if not self.holds(seen):
            return False
        if self.since(seen.position, "", ("forget",)):
            return False
        self.run_many(
            "INSERT INTO checkpoints (model, owner, seq, token, at, state) "
            "SELECT ?, ?, seq, token, at, ? FROM journal WHERE seq = ? "
            "ON CONFLICT (model, owner, seq) DO UPDATE "
            "SET token = excluded.token, at = excluded.at, state = excluded.state",
            [(c.model, c.owner, c.state, c.position) for c in kept],
        )
        self.run_many(
            "DELETE FROM checkpoints WHERE model = ? AND owner = ? AND seq < ? AND NOT EXISTS "
            "(SELECT 1 FROM snapshots s WHERE s.model = checkpoints.model AND s.seq = checkpoints.seq)",
            [(c.model, c.owner, c.position) for c in kept],
        )
        return True

    def since(self, position: Position, model: str, kinds: Sequence[str]) -> bool:
        """Whether there is an entry of these kinds for a model after a position, none of them on a list."""
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT 1 FROM journal WHERE model = ? AND owner = '' AND kind IN ({marks}) AND seq > ? LIMIT 1"
        return bool(self.run(sql, (model, *kinds, position)))

    def holds(self, mark: Mark) -> bool:
        """Whether an entry is in the journal: not so if the store went back in time."""
        return bool(self.run("SELECT 1 FROM journal WHERE seq = ? AND token = ? AND at = ?", mark))

    def drop_lost_checkpoints(self, after: Position) -> int:
        """Drop states after a position whose entries are not in the journal any more; how many there were."""
        self.exclusive()
        return len(
            self.run(
                "DELETE FROM checkpoints WHERE seq > ? AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.seq = "
                "checkpoints.seq AND j.token = checkpoints.token AND j.at = checkpoints.at) RETURNING 1",
                (after,),
            )
        )

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Name a position in the journal."""
        self.run(
            "INSERT INTO snapshots (id, model, name, seq, at) VALUES (?, ?, ?, ?, ?)",
            (snapshot.id, snapshot.model, snapshot.name, snapshot.position, snapshot.at),
        )

    def forget(self, user: str, own: Mapping[str, Rewards | None]) -> Removed:
        """Remove a user: all of the models in ``own``, which come with their rewards, the name from everything else.

        Entries of the journal stay where they are, without the name and what was clicked: positions and counts hold.
        """
        states, lists = 0, {}
        self.forgetting()
        self._begin_to_append()
        for model, rewards in own.items():
            states += self._forget_entries(user, model, rewards)
            self.run("DELETE FROM checkpoints WHERE model = ? AND owner = ?", (model, user))
            gone = self.run("DELETE FROM events WHERE model = ? AND user_id = ? RETURNING 1", (model, user))
            gone += self.run(_LEFT_BEHIND, (model, user))
            if gone:
                lists[model] = len(gone)
        named = self.run(
            "UPDATE events SET user_id = NULL, request_id = NULL, digest = NULL WHERE user_id = ? RETURNING 1", (user,)
        )
        return Removed(states, lists, len(named))

    def _forget_entries(self, user: str, model: str, rewards: Rewards | None) -> bool:
        """Leave of a user's entries what is counted; whether there were any."""
        sql = f"SELECT {entry_columns(self._dialect)} {FROM_JOURNAL} WHERE j.model = ? AND j.owner = ? AND {ON_LIST}"
        entries = [entry_of_row(row) for row in self.run(sql, (model, user))]
        left = [
            (*encode(forgotten(entry, decode(entry.kind, entry.version, entry.body), rewards))[:3], entry.position)
            for entry in entries
        ]
        self.run_many(
            "UPDATE journal SET owner = '', event_id = NULL, outcome_of = NULL, outcome_key = NULL, kind = ?, "
            "version = ?, body = ? WHERE seq = ?",
            left,
        )
        return bool(entries)

    def time(self) -> float | None:
        """Seconds since 1970 by the clock of the database; None if it has none of its own."""
        return float(self.run(self._dialect.time)[0][0]) if self._dialect.time else None

    def heartbeat(self) -> Beat | None:
        """The last heartbeat; whoever else asks for it waits until this transaction ends."""
        rows = self.run("UPDATE heartbeat SET at = at RETURNING at, gaps")
        return Beat(*rows[0]) if rows else None

    def beat(self, at: float, gaps: float) -> None:
        """Make this the last heartbeat."""
        self.run(
            "INSERT INTO heartbeat (id, at, gaps) VALUES (1, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET at = excluded.at, gaps = excluded.gaps",
            (at, gaps),
        )

    def note(self, name: str, value: str) -> None:
        """Remember a value under a name."""
        self.run(
            "INSERT INTO notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )
