"""The store: one schema and one set of statements, over SQLite or PostgreSQL.

Two tables are the truth. ``events`` has every list that was shown; ``journal`` has, in one order for all, everything
that changes what is known. ``checkpoints`` and ``snapshots`` only save time: each is a position in the journal.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from rankfall.errors import ConnectionLostError, LostEntryError, StoreError
from rankfall.journal.records import BEGINNING, START, Checkpoint, Entry, Event, Mark, Position, Snapshot
from rankfall.stores.dialect import Connection, Dialect, Row
from rankfall.stores.migrations import NO_STORE, STEPS, check_version, migrate
from rankfall.stores.rows import EVENT, EVENT_WIDTH, FROM_JOURNAL, ON_LIST, entry_columns, entry_of_row, event_of_row
from rankfall.stores.timeline import Timeline
from rankfall.stores.transaction import StoredFeedback, Transaction

_log = logging.getLogger("rankfall.stores")

T = TypeVar("T")


class Overdue(NamedTuple):
    """A list whose wait is over, and when that was, in the time that counts for waits."""

    id: str
    model: str
    owner: str
    counted_expires: float


class Store:
    """Reads, and opens transactions. One thread writes; any thread may read."""

    def __init__(self, dialect: Dialect, *, make: bool = True, read_only: bool = False) -> None:
        self.dialect = dialect
        self._entry = entry_columns(dialect)
        without_blob = self._entry.replace("j.blob", "CASE WHEN j.seq > ? THEN j.blob END")
        self._tail = (  # an entry, without its blob and its event, and those after it
            f"SELECT {without_blob} {FROM_JOURNAL} AND j.seq > ? WHERE j.seq >= ? ORDER BY j.seq LIMIT ?"
        )
        self._timeline = Timeline()
        self._writing = threading.RLock()
        self._reading = threading.RLock()
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self.to_scrub = False
        """Whether readers were in the way of :meth:`scrub`, so that it must be called again."""
        if read_only:
            try:
                check_version(self.read, dialect.types)
            except StoreError:
                self.close()
                raise
            return
        if not make:
            self._need_tables()
        with self.transaction() as tx:
            for statement in dialect.patient:
                tx.run(statement)
            tx.exclusive()
            version = migrate(tx.run, dialect.types)
        if version < len(STEPS):
            _log.info("the tables are up to date now", extra={"was": version, "schema": len(STEPS)})
        try:
            self.scrub()  # who forgot a user may have been killed before
        except StoreError as problem:  # a full disk, say: it can be read all the same
            _log.warning("the store cannot be scrubbed now", extra={"reason": str(problem)})

    def beside(self) -> Store:
        """The same store for other readers, on a connection of their own: they keep nobody waiting here."""
        other = copy.copy(self)
        other._writing, other._reading = threading.RLock(), threading.RLock()
        other._writer = other._reader = None
        return other

    @property
    def timeline(self) -> str:
        """Which database this is, and which of its timelines: another one after a failover. Empty for SQLite."""
        return self._timeline.name

    def _need_tables(self) -> None:
        connection = self.dialect.connect()
        try:
            connection.run("SELECT 1 FROM journal LIMIT 1")
        except StoreError:
            raise StoreError(NO_STORE) from None
        finally:
            connection.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Writes that are durable when the block has ended, all or none. Raises StoreError when they are not."""
        with self._writing:
            try:
                writer = self._to_write()
                writer.run(self.dialect.begin)
                yield Transaction(self.dialect, writer)
                if not self._timeline.holds(writer):
                    raise StoreError("the address of the store leads to another timeline now; nothing was written")
                writer.run("COMMIT")
            except BaseException as problem:
                self._undo(fresh=isinstance(problem, StoreError))
                raise

    def _to_write(self) -> Connection:
        self._writer = self._current(self._writer)
        if self._writer is None:
            self._writer = self._timeline.connect(self.dialect)
        return self._writer

    def _current(self, connection: Connection | None) -> Connection | None:
        """The connection, if it may still be used."""
        if connection is None or self._timeline.holds(connection):
            return connection
        connection.close()
        return None

    def _undo(self, *, fresh: bool) -> None:
        """Leave no transaction open; after trouble with the store itself, begin with a new connection next time."""
        if self._writer is None:
            return
        try:
            self._writer.run("ROLLBACK")
        except StoreError:
            fresh = True
        if fresh:
            self._writer.close()
            self._writer = None

    def scrub(self) -> None:
        """After rows were deleted: leave nothing of them in files beside the tables, such as SQLite's WAL."""
        self.to_scrub = True
        with self._writing:
            self.to_scrub = not self.dialect.scrub(self._to_write())

    def compact(self) -> None:
        """Rewrite the file of SQLite, while nobody else can write: it has nothing of deleted rows then.

        SQLite clears a row that it deletes, and not the copies left in unused parts of pages when it moved rows.
        """
        if not self.dialect.compact:
            raise StoreError("PostgreSQL compacts tables by itself; VACUUM FULL does it at once")
        with self._writing:
            self._to_write().run(self.dialect.compact)
            self.scrub()

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """The rows of a statement that changes nothing."""
        return self._read(lambda connection: connection.run(sql, parameters))

    def read_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        """The rows of a statement that changes nothing, once for each row of parameters."""
        return self._read(lambda connection: connection.run_many(sql, rows))

    def _read(self, statement: Callable[[Connection], T]) -> T:
        """Read once more on a new connection if the old one was lost while nobody used it."""
        with self._reading:
            kept = self._reader is not None
            try:
                return self._read_once(statement)
            except ConnectionLostError:
                if not kept:
                    raise
                return self._read_once(statement)

    def _read_once(self, statement: Callable[[Connection], T]) -> T:
        self._reader = self._current(self._reader)
        if self._reader is None:
            self._reader = self._timeline.connect(self.dialect)
        try:
            return statement(self._reader)
        except StoreError:
            self._reader.close()
            self._reader = None
            raise

    def close(self) -> None:
        """Close the connections; nothing is lost."""
        with self._writing, self._reading:
            for connection in (self._writer, self._reader):
                if connection is not None:
                    connection.close()
            self._writer = self._reader = None

    def tail(self, after: Mark, limit: int) -> list[Entry]:
        """The entries of the journal after one, in order; raises LostEntryError if that one is not there any more."""
        rows = self.read(self._tail, (after.position, after.position, after.position, limit + 1))
        if after == BEGINNING:
            return [entry_of_row(row) for row in rows[:limit]]
        if not rows or entry_of_row(rows[0]).mark != after:
            raise LostEntryError(f"entry {after.position} of the journal is not there any more, or is another one")
        return [entry_of_row(row) for row in rows[1:]]

    def entry(self, position: Position) -> Entry | None:
        """The entry at a position."""
        rows = self.read(f"SELECT {self._entry} {FROM_JOURNAL} WHERE j.seq = ?", (position,))
        return entry_of_row(rows[0]) if rows else None

    def feedback(
        self, model: str, owners: Sequence[str], after: Sequence[Position], upto: Position, limit: int
    ) -> list[list[Entry]]:
        """For each owner the entries on lists after its position, up to and with ``upto``; at most so many of each."""
        found = self.read_many(
            f"SELECT {self._entry} {FROM_JOURNAL} WHERE j.model = ? AND j.owner = ? AND j.seq > ? AND j.seq <= ? "
            f"AND {ON_LIST} ORDER BY j.seq LIMIT ?",
            [(model, owner, position, upto, limit) for owner, position in zip(owners, after, strict=True)],
        )
        return [[entry_of_row(row) for row in rows] for rows in found]

    def checkpoints(
        self, model: str, owners: Sequence[str], after: Position, upto: Position
    ) -> list[Checkpoint | None]:
        """For each owner the newest state kept after ``after``, up to and with ``upto``.

        States of entries that are not in the journal any more are passed by.
        """
        found = self.read_many(
            "SELECT c.model, c.owner, c.seq, c.state, c.token, c.at FROM checkpoints c "
            "JOIN journal j ON j.seq = c.seq AND j.token = c.token AND j.at = c.at "
            "WHERE c.model = ? AND c.owner = ? AND c.seq >= ? AND c.seq <= ? ORDER BY c.seq DESC LIMIT 1",
            [(model, owner, after, upto) for owner in owners],
        )
        return [
            Checkpoint(r[0][0], r[0][1], r[0][2], bytes(r[0][3]), Mark(r[0][2], r[0][4], r[0][5])) if r else None
            for r in found
        ]

    def recent_owners(self, model: str, entries: int, limit: int) -> list[str]:
        """Those with feedback on lists of a model among the last so many entries, the latest first."""
        rows = self.read(
            f"SELECT j.owner FROM journal j WHERE j.seq > ? AND j.model = ? AND j.owner <> '' AND {ON_LIST} "
            "GROUP BY j.owner ORDER BY max(j.seq) DESC LIMIT ?",
            (self.end() - entries, model, limit),
        )
        return [row[0] for row in rows]

    def saved_owners(self, model: str, limit: int) -> list[str]:
        """Those of whom a state is kept, in the order of their names; of more than the limit so many, evenly spread."""
        owners = "SELECT DISTINCT owner FROM checkpoints WHERE model = ?"
        count = max(limit, int(self.read(f"SELECT count(*) FROM ({owners}) o", (model,))[0][0]))
        rows = self.read(
            f"SELECT owner FROM (SELECT owner, row_number() OVER (ORDER BY owner) AS n FROM ({owners}) o) numbered "
            "WHERE n * ? / ? > (n - 1) * ? / ? ORDER BY n",
            (model, limit, count, limit, count),
        )
        return [row[0] for row in rows]

    def event(self, event_id: str) -> Event | None:
        """One list, with its features."""
        rows = self.read(f"SELECT {EVENT} FROM events WHERE id = ?", (event_id,))
        return event_of_row(rows[0]) if rows else None

    def feedback_on(self, event_id: str) -> StoredFeedback | None:
        """The entry on an event, if there is one."""
        rows = self.read("SELECT kind, version, body, at, token FROM journal WHERE event_id = ?", (event_id,))
        return StoredFeedback(*rows[0]) if rows else None

    def outcomes_on(self, event_id: str) -> list[StoredFeedback]:
        """The outcomes on an event, in order."""
        sql = "SELECT kind, version, body, at, token FROM journal WHERE outcome_of = ? ORDER BY seq"
        return [StoredFeedback(*row) for row in self.read(sql, (event_id,))]

    def outcomes(self, after: Position = START, limit: int = 10_000) -> list[Entry]:
        """The next outcomes, in order."""
        rows = self.read(
            f"SELECT {self._entry} {FROM_JOURNAL} WHERE j.outcome_of IS NOT NULL AND j.seq > ? ORDER BY j.seq LIMIT ?",
            (after, limit),
        )
        return [entry_of_row(row) for row in rows]

    def snapshots(self, model: str) -> list[Snapshot]:
        """The snapshots of a model, oldest first."""
        rows = self.read("SELECT id, model, name, seq, at FROM snapshots WHERE model = ? ORDER BY seq, at", (model,))
        return [Snapshot(*row) for row in rows]

    def note(self, name: str) -> str | None:
        """The value remembered under a name."""
        rows = self.read("SELECT value FROM notes WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def ranked(self, model: str) -> int:
        """How many lists of a model were shown."""
        return int(self.read("SELECT count(*) FROM events WHERE model = ?", (model,))[0][0])

    def pending(self, counted: float) -> int:
        """How many lists still wait for feedback at a moment of the time that counts for waits."""
        rows = self.read(
            "SELECT count(*) FROM events e WHERE e.expires - e.gaps > ? "
            "AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.event_id = e.id)",
            (counted,),
        )
        return int(rows[0][0])

    def overdue(self, counted: float, since: float, limit: int) -> list[Overdue]:
        """The first lists known to be shown whose wait for feedback ran out from ``since`` on.

        Both moments are of the time that counts for waits.
        """
        rows = self.read(
            "SELECT e.id, e.model, e.owner, e.expires - e.gaps FROM events e "
            "WHERE e.expires - e.gaps >= ? AND e.expires - e.gaps <= ? AND e.active = 1 "
            "AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.event_id = e.id) ORDER BY e.expires - e.gaps LIMIT ?",
            (since, counted, limit),
        )
        return [Overdue(*row) for row in rows]

    def waiting_since(self, after: Position) -> float | None:
        """When the oldest entry after a position was written; None if there is none."""
        rows = self.read("SELECT min(at) FROM journal WHERE seq > ?", (after,))
        return rows[0][0]  # type: ignore[no-any-return]

    def events_with_feedback(self, after: str = "", limit: int = 10_000) -> list[tuple[Event, Entry | None]]:
        """Lists in the order of their ids, each with the entry on it; page on by the last id."""
        columns = ", ".join(f"e.{name.strip()}" for name in EVENT.split(","))
        rows = self.read(
            f"SELECT {columns}, j.seq, j.kind, j.version, j.model, j.owner, j.at, j.event_id, j.body, "
            "j.blob, NULL, NULL, NULL, NULL, j.token, NULL, NULL, NULL "
            "FROM events e LEFT JOIN journal j ON j.event_id = e.id WHERE e.id > ? ORDER BY e.id LIMIT ?",
            (after, limit),
        )
        return [
            (event_of_row(row[:EVENT_WIDTH]), None if row[EVENT_WIDTH] is None else entry_of_row(row[EVENT_WIDTH:]))
            for row in rows
        ]

    def decisions(self, after: Position = START, limit: int = 1000) -> list[Entry]:
        """The next entries that are not on lists, in order."""
        rows = self.read(
            f"SELECT {self._entry} {FROM_JOURNAL} WHERE NOT {ON_LIST} AND j.kind <> 'forgotten' AND j.seq > ? "
            "ORDER BY j.seq LIMIT ?",
            (after, limit),
        )
        return [entry_of_row(row) for row in rows]

    def end(self) -> Position:
        """The last entry of the journal: what is there up to it stays as it is."""
        return int(self.read(f"SELECT coalesce(max(seq), {START}) FROM journal")[0][0])
