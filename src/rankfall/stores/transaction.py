"""Writes to a store, and the reads that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from rankfall.journal.entries import Encoded
from rankfall.journal.records import Checkpoint, Entry, Event, Position, Snapshot
from rankfall.stores.dialect import Connection, Dialect
from rankfall.stores.rows import ENTRY, EVENT, EVENT_WIDTH, FROM_JOURNAL, entry_of_row, event_of_row, row_of_event

_NEXT = "(SELECT coalesce(max(seq), 0) + 1 FROM journal)"
"""The number of the next entry. Not one of the database's own counters: those do not move with the rows."""


class OnEvent(NamedTuple):
    """An entry on an event: feedback, or that none came. ``token`` tells whose it is when it is tried twice."""

    entry: Encoded
    event_id: str
    model: str
    owner: str
    at: float
    token: str = ""


class StoredFeedback(NamedTuple):
    """The entry that an event has."""

    kind: str
    version: int
    body: str
    at: float
    token: str


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
        """Store lists as shown; False where the id or the request id is taken."""
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

    def activate(self, event_id: str, expires: float) -> None:
        """Mark a list as shown."""
        self.run("UPDATE events SET active = 1, expires = ? WHERE id = ? AND active = 0", (expires, event_id))

    def _begin_to_append(self) -> None:
        """Wait for the turn of this transaction to append; others wait for its commit, so this comes late."""
        if self._dialect.appending and not self._appends:
            self.run(self._dialect.appending)
        self._appends = True

    def withdraw(self, ids: Sequence[str]) -> None:
        """Say of lists that they were not shown: their callers got others."""
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
            (one.entry.kind, one.entry.version, one.model, one.owner, one.entry.body, one.at, one.token, one.event_id)
            for one in entries
        ]
        return [bool(stored) for stored in self.run_many(sql, rows)]

    def feedback_on(self, event_id: str) -> StoredFeedback | None:
        """The entry on an event, if there is one."""
        rows = self.run("SELECT kind, version, body, at, token FROM journal WHERE event_id = ?", (event_id,))
        return StoredFeedback(*rows[0]) if rows else None

    def append(self, entry: Encoded, model: str, at: float) -> int:
        """Append an entry that is not on an event; its number."""
        sql = (
            "INSERT INTO journal (seq, kind, version, model, owner, body, blob, at, token) "
            f"VALUES ({_NEXT}, ?, ?, ?, '', ?, ?, ?, '') RETURNING seq"
        )
        self._begin_to_append()
        return int(self.run(sql, (entry.kind, entry.version, model, entry.body, entry.blob, at))[0][0])

    def first(self, kind: str, model: str) -> Entry | None:
        """The first entry of this kind for this model."""
        sql = f"SELECT {ENTRY} {FROM_JOURNAL} WHERE j.model = ? AND j.kind = ? ORDER BY j.seq LIMIT 1"
        rows = self.run(sql, (model, kind))
        return entry_of_row(rows[0]) if rows else None

    def save(self, checkpoints: Iterable[Checkpoint], seen: Position) -> None:
        """Keep states; older ones of the same owner that no snapshot needs are dropped.

        ``seen`` is how far the journal was read. If a user was forgotten after that nothing is kept, for it could be a
        state of that user.
        """
        kept = list(checkpoints)
        self.exclusive()
        forgotten = "SELECT 1 FROM journal WHERE model = '' AND owner = '' AND kind = 'forget' AND seq > ? LIMIT 1"
        if self.run(forgotten, (seen,)):
            return
        self.run_many(
            "INSERT INTO checkpoints (model, owner, seq, state) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(c.model, c.owner, c.position, c.state) for c in kept],
        )
        self.run_many(
            "DELETE FROM checkpoints WHERE model = ? AND owner = ? AND seq < ? AND NOT EXISTS "
            "(SELECT 1 FROM snapshots s WHERE s.model = checkpoints.model AND s.seq = checkpoints.seq)",
            [(c.model, c.owner, c.position) for c in kept],
        )

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Name a position in the journal."""
        self.run(
            "INSERT INTO snapshots (id, model, name, seq, at) VALUES (?, ?, ?, ?, ?)",
            (snapshot.id, snapshot.model, snapshot.name, snapshot.position, snapshot.at),
        )

    def forget(self, user: str, own: Sequence[str]) -> tuple[int, int, int]:
        """Remove a user: all of the models in ``own``, the name from everything else.

        Returns how many states and lists were removed, and from how many lists the name was taken.
        """
        states = removed = 0
        self._begin_to_append()
        for model in own:
            states += len(self.run("SELECT 1 FROM journal WHERE model = ? AND owner = ? LIMIT 1", (model, user)))
            self.run("DELETE FROM checkpoints WHERE model = ? AND owner = ?", (model, user))
            self.run("DELETE FROM journal WHERE model = ? AND owner = ? AND event_id IS NOT NULL", (model, user))
            removed += len(self.run("DELETE FROM events WHERE model = ? AND user_id = ? RETURNING 1", (model, user)))
        named = self.run(
            "UPDATE events SET user_id = NULL, request_id = NULL, digest = NULL WHERE user_id = ? RETURNING 1", (user,)
        )
        return states, removed, len(named)

    def touch(self) -> None:
        """Write something that means nothing."""
        self.run(self._dialect.touch)

    def note(self, name: str, value: str) -> None:
        """Remember a value under a name."""
        self.run(
            "INSERT INTO notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )
