"""The store: one schema and one set of statements, over SQLite or PostgreSQL.

Two tables are the truth. ``events`` has every list that was answered; ``journal`` has, in one order for all, everything
that changes what is known. ``checkpoints`` and ``snapshots`` only save time: each is a place in the journal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Protocol

from rankfall.errors import StoreError
from rankfall.journal.records import START, Checkpoint, Entry, Event, Position, Snapshot

Row = tuple[Any, ...]

_EVENT = (
    "id, model, key, user_id, segment, request_id, digest, created, expires, active, arm, learn, propensity, catalog, "
    "covered, request, answer, features"
)
_ENTRY = "j.xid, j.seq, j.kind, j.model, j.key, j.at, j.event_id, j.body, j.blob, e.arm, e.learn, e.covered, e.features"
_FIELDS = attrgetter(*(field.name for field in fields(Event)))
_FROM = "FROM journal j LEFT JOIN events e ON e.id = j.event_id"


class Connection(Protocol):
    """What the two databases have in common, as far as it is needed here. Statements mark parameters by ``?``."""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one statement; the rows it gives, if any."""
        ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        """Run a statement once for each row, in order; what each run gave."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


@dataclass(frozen=True)
class Dialect:
    """What the two databases do not have in common."""

    name: str
    connect: Callable[[], Connection]
    schema: Sequence[str]
    begin: str
    answering: str  # nothing is forgotten until this transaction ends
    forgetting: str  # waits for those who are answering, and makes them wait until this transaction ends
    alone: str  # makes the others that ask for it wait until this transaction ends
    after: str  # entries after a position (two parameters)
    final: str  # entries before which nothing can come to stand any more
    order: str
    clock: str  # a check that the order of positions still holds; one row, one truth value
    one_file: bool = False


class Transaction:
    """Reads and writes that happen together. Nothing is durable before the block ends."""

    def __init__(self, dialect: Dialect, connection: Connection) -> None:
        self._dialect = dialect
        self._connection = connection
        self.run = connection.run
        self.run_many = connection.run_many

    def alone(self) -> None:
        """Wait until no other transaction that called this is under way, and keep it so: look first, then write."""
        if self._dialect.alone:
            self.run(self._dialect.alone)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """A part that can fail without taking the rest of the transaction with it."""
        self.run("SAVEPOINT attempt")
        try:
            yield
        except Exception:
            self.run("ROLLBACK TO SAVEPOINT attempt")
            self.run("RELEASE SAVEPOINT attempt")
            raise
        self.run("RELEASE SAVEPOINT attempt")

    def add_events(self, events: Sequence[Event]) -> list[bool]:
        """Store lists as shown; False where the id or the request id is taken."""
        marks = ", ".join("?" * len(_EVENT.split(",")))
        sql = f"INSERT INTO events ({_EVENT}) VALUES ({marks}) ON CONFLICT DO NOTHING RETURNING 1"
        rows = [_event_row(event) for event in events]
        return [bool(given) for given in self.run_many(sql, rows)]

    def events(self, ids: Sequence[str]) -> list[Event | None]:
        """The lists with these ids, without their features; None where there is none."""
        columns = _EVENT.replace("features", "NULL")
        found = self.run_many(f"SELECT {columns} FROM events WHERE id = ?", [(one,) for one in ids])
        return [_event(rows[0]) if rows else None for rows in found]

    def event_of_request(self, model: str, request_id: str) -> Event | None:
        """The list that answered this request."""
        sql = f"SELECT {_EVENT.replace('features', 'NULL')} FROM events WHERE model = ? AND request_id = ?"
        rows = self.run(sql, (model, request_id))
        return _event(rows[0]) if rows else None

    def activate(self, event_id: str, expires: float) -> None:
        """Mark a list as shown."""
        self.run("UPDATE events SET active = 1, expires = ? WHERE id = ? AND active = 0", (expires, event_id))

    def add_answers(self, rows: Sequence[tuple[str, str, str, str, str, float, str]]) -> list[bool]:
        """Append (kind, model, key, event id, body, at, token) for events.

        False where the event has its answer, or is gone: whoever forgets its user meanwhile waits for this, or this
        for them.
        """
        sql = (
            "INSERT INTO journal (kind, model, key, event_id, body, at, token) "
            "SELECT ?, ?, ?, id, ?, ?, ? FROM events WHERE id = ? "
            "ON CONFLICT (event_id) DO NOTHING RETURNING 1"
        )
        if rows and self._dialect.answering:
            self.run(self._dialect.answering)
        given = [(kind, model, key, *rest, event) for kind, model, key, event, *rest in rows]
        return [bool(stored) for stored in self.run_many(sql, given)]

    def answer_of(self, event_id: str) -> tuple[str, str, float, str] | None:
        """Kind, body, time and token of the answer to an event."""
        rows = self.run("SELECT kind, body, at, token FROM journal WHERE event_id = ?", (event_id,))
        return rows[0] if rows else None

    def append(self, kind: str, model: str, at: float, body: str, *, key: str = "", blob: bytes | None = None) -> int:
        """Append a decision to the journal; its number."""
        sql = (
            "INSERT INTO journal (kind, model, key, body, blob, at, token) VALUES (?, ?, ?, ?, ?, ?, '') RETURNING seq"
        )
        return int(self.run(sql, (kind, model, key, body, blob, at))[0][0])

    def first(self, kind: str, model: str) -> str | None:
        """The body of the first entry of this kind for this model."""
        sql = "SELECT body FROM journal WHERE model = ? AND kind = ? ORDER BY xid, seq LIMIT 1"
        rows = self.run(sql, (model, kind))
        return rows[0][0] if rows else None

    def has(self, kind: str, model: str) -> bool:
        """Whether the journal has an entry of this kind for this model."""
        return bool(self.run("SELECT 1 FROM journal WHERE model = ? AND kind = ? LIMIT 1", (model, kind)))

    def save(self, checkpoints: Iterable[Checkpoint], seen: Position) -> None:
        """Keep states; older ones of the same key that no snapshot needs are dropped.

        ``seen`` is how far the journal was read. If a user was forgotten after that nothing is kept, for it could be a
        state of that user.
        """
        kept = list(checkpoints)
        self.alone()
        if self.run(
            "SELECT 1 FROM journal WHERE model = '' AND key = '' AND kind = 'forget' AND (xid, seq) > (?, ?) LIMIT 1",
            seen,
        ):
            return
        self.run_many(
            "INSERT INTO checkpoints (model, key, xid, seq, state) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(c.model, c.key, *c.position, c.state) for c in kept],
        )
        self.run_many(
            "DELETE FROM checkpoints WHERE model = ? AND key = ? AND (xid, seq) < (?, ?) AND NOT EXISTS "
            "(SELECT 1 FROM snapshots s WHERE s.model = checkpoints.model "
            "AND (s.xid, s.seq) = (checkpoints.xid, checkpoints.seq))",
            [(c.model, c.key, *c.position) for c in kept],
        )

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Name a place in the journal."""
        self.run(
            "INSERT INTO snapshots (id, model, name, xid, seq, at) VALUES (?, ?, ?, ?, ?, ?)",
            (snapshot.id, snapshot.model, snapshot.name, *snapshot.position, snapshot.at),
        )

    def forget(self, user: str, own: Sequence[str]) -> tuple[int, int, int]:
        """Remove a user: all of the models in ``own``, the name from everything else.

        Returns how many states and lists were removed, and from how many lists the name was taken.
        """
        states = removed = 0
        if self._dialect.forgetting:
            self.run(self._dialect.forgetting)
        for model in own:
            held = self.run("SELECT 1 FROM journal WHERE model = ? AND key = ? LIMIT 1", (model, user))
            states += len(held)
            self.run("DELETE FROM checkpoints WHERE model = ? AND key = ?", (model, user))
            self.run("DELETE FROM journal WHERE model = ? AND key = ? AND event_id IS NOT NULL", (model, user))
            removed += len(self.run("DELETE FROM events WHERE model = ? AND user_id = ? RETURNING 1", (model, user)))
        named = self.run(
            "UPDATE events SET user_id = NULL, request_id = NULL, digest = NULL WHERE user_id = ? RETURNING 1", (user,)
        )
        return states, removed, len(named)

    def note(self, name: str, value: str) -> None:
        """Remember a word under a name."""
        self.run(
            "INSERT INTO notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )


class Store:
    """Reads, and opens transactions. One thread writes; any thread may read."""

    def __init__(self, dialect: Dialect, *, make: bool = True) -> None:
        self.dialect = dialect
        self._writing = threading.RLock()
        self._reading = threading.RLock()
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        if not make:
            self._need_tables()
        with self.transaction() as tx:
            tx.alone()
            for statement in dialect.schema:
                tx.run(statement)
            if not tx.run(dialect.clock)[0][0]:
                raise StoreError(
                    "the journal has entries of transactions this database has not made: it was restored from a dump "
                    "into another cluster, where their order cannot be continued. Copy the cluster itself, or advance "
                    "its transaction counter (pg_resetwal -x) beyond the largest xid in the table journal"
                )

    def _need_tables(self) -> None:
        connection = self.dialect.connect()
        try:
            connection.run("SELECT 1 FROM journal LIMIT 1")
        except StoreError:
            raise StoreError("this database holds no store of Rankfall; rankfall serve makes one") from None
        finally:
            connection.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Writes that are durable when the block has ended, all or none. Raises StoreError when they are not."""
        with self._writing:
            try:
                if self._writer is None:
                    self._writer = self.dialect.connect()
                self._writer.run(self.dialect.begin)
                yield Transaction(self.dialect, self._writer)
                self._writer.run("COMMIT")
            except BaseException as problem:
                self._undo(fresh=isinstance(problem, StoreError))
                raise

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

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for statements that change nothing."""
        with self._reading:
            try:
                if self._reader is None:
                    self._reader = self.dialect.connect()
                yield self._reader
            except StoreError:
                if self._reader is not None:
                    self._reader.close()
                self._reader = None
                raise

    def close(self) -> None:
        """Let go of the database; nothing is lost."""
        with self._writing, self._reading:
            for connection in (self._writer, self._reader):
                if connection is not None:
                    connection.close()
            self._writer = self._reader = None

    def tail(self, after: Position, limit: int) -> list[Entry]:
        """The next final entries of the journal, in order."""
        d = self.dialect
        with self.reading() as connection:
            rows = connection.run(
                f"SELECT {_ENTRY} {_FROM} WHERE {d.after} AND {d.final} ORDER BY {d.order} LIMIT ?",
                (*after, limit),
            )
        return [_entry(row) for row in rows]

    def answers(
        self, model: str, keys: Sequence[str], after: Sequence[Position], upto: Position, limit: int
    ) -> list[list[Entry]]:
        """For each key the feedback after its position, up to and with ``upto``, in order; at most so many of each."""
        with self.reading() as connection:
            found = connection.run_many(
                f"SELECT {_ENTRY} {_FROM} WHERE j.model = ? AND j.key = ? AND (j.xid, j.seq) > (?, ?) "
                "AND (j.xid, j.seq) <= (?, ?) AND j.kind IN ('feedback', 'expired') ORDER BY j.xid, j.seq LIMIT ?",
                [(model, key, *position, *upto, limit) for key, position in zip(keys, after, strict=True)],
            )
        return [[_entry(row) for row in rows] for rows in found]

    def checkpoints(self, model: str, keys: Sequence[str], after: Position, upto: Position) -> list[Checkpoint | None]:
        """For each key the newest state kept after ``after``, up to and with ``upto``."""
        with self.reading() as connection:
            found = connection.run_many(
                "SELECT model, key, xid, seq, state FROM checkpoints WHERE model = ? AND key = ? "
                "AND (xid, seq) >= (?, ?) AND (xid, seq) <= (?, ?) ORDER BY xid DESC, seq DESC LIMIT 1",
                [(model, key, *after, *upto) for key in keys],
            )
        return [Checkpoint(r[0][0], r[0][1], Position(r[0][2], r[0][3]), bytes(r[0][4])) if r else None for r in found]

    def event(self, event_id: str) -> Event | None:
        """One list, with its features."""
        with self.reading() as connection:
            rows = connection.run(f"SELECT {_EVENT} FROM events WHERE id = ?", (event_id,))
        return _event(rows[0]) if rows else None

    def answer_of(self, event_id: str) -> tuple[str, str, float] | None:
        """Kind, body and time of the answer to an event."""
        with self.reading() as connection:
            rows = connection.run("SELECT kind, body, at FROM journal WHERE event_id = ?", (event_id,))
        return rows[0] if rows else None

    def snapshots(self, model: str) -> list[Snapshot]:
        """The snapshots of a model, oldest first."""
        with self.reading() as connection:
            rows = connection.run(
                "SELECT id, model, name, xid, seq, at FROM snapshots WHERE model = ? ORDER BY xid, seq, at", (model,)
            )
        return [Snapshot(r[0], r[1], r[2], Position(r[3], r[4]), r[5]) for r in rows]

    def note(self, name: str) -> str | None:
        """The word remembered under a name."""
        with self.reading() as connection:
            rows = connection.run("SELECT value FROM notes WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def ranked(self, model: str) -> int:
        """How many lists a model has answered."""
        with self.reading() as connection:
            return int(connection.run("SELECT count(*) FROM events WHERE model = ?", (model,))[0][0])

    def pending(self, now: float) -> int:
        """How many lists still wait for feedback."""
        with self.reading() as connection:
            rows = connection.run(
                "SELECT count(*) FROM events e WHERE e.expires > ? "
                "AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.event_id = e.id)",
                (now,),
            )
        return int(rows[0][0])

    def unanswered(self, now: float, since: float, limit: int) -> list[tuple[str, str, str]]:
        """(id, model, key) of lists known to be shown whose wait for feedback ran out after ``since``."""
        with self.reading() as connection:
            return connection.run(
                "SELECT e.id, e.model, e.key FROM events e WHERE e.expires > ? AND e.expires <= ? AND e.active = 1 "
                "AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.event_id = e.id) ORDER BY e.id LIMIT ?",
                (since, now, limit),
            )

    def waiting_since(self, after: Position) -> float | None:
        """When the oldest entry that is not folded yet was written, final or not; None if there is none."""
        with self.reading() as connection:
            rows = connection.run(f"SELECT min(j.at) FROM journal j WHERE {self.dialect.after}", after)
        return rows[0][0]  # type: ignore[no-any-return]

    def log(self, after: str = "", limit: int = 10_000) -> list[tuple[Event, Entry | None]]:
        """Lists in the order of their ids, each with its answer; page on by the last id."""
        columns = ", ".join(f"e.{name.strip()}" for name in _EVENT.split(","))
        with self.reading() as connection:
            rows = connection.run(
                f"SELECT {columns}, j.xid, j.seq, j.kind, j.model, j.key, j.at, j.event_id, j.body "
                "FROM events e LEFT JOIN journal j ON j.event_id = e.id WHERE e.id > ? ORDER BY e.id LIMIT ?",
                (after, limit),
            )
        width = len(_EVENT.split(","))
        return [
            (_event(row[:width]), None if row[width] is None else _entry((*row[width:], None, None, None, None, None)))
            for row in rows
        ]

    def decisions(self, after: Position = START, limit: int = 1000) -> list[Entry]:
        """The next entries that are not feedback, in order, final or not."""
        with self.reading() as connection:
            rows = connection.run(
                f"SELECT {_ENTRY} {_FROM} WHERE j.event_id IS NULL AND (j.xid, j.seq) > (?, ?) "
                "ORDER BY j.xid, j.seq LIMIT ?",
                (*after, limit),
            )
        return [_entry(row) for row in rows]

    def end(self) -> Position:
        """The last final entry of the journal: what is there up to it stays as it is."""
        backwards = ", ".join(f"{column} DESC" for column in self.dialect.order.split(", "))
        with self.reading() as connection:
            rows = connection.run(
                f"SELECT j.xid, j.seq FROM journal j WHERE {self.dialect.final} ORDER BY {backwards} LIMIT 1"
            )
        return Position(*rows[0]) if rows else START


def _event_row(event: Event) -> Row:
    row = list(_FIELDS(event))
    row[9], row[11] = int(event.active), int(event.learn)
    return tuple(row)


def _event(row: Row) -> Event:
    values = list(row)
    values[9], values[11] = bool(values[9]), bool(values[11])
    values[-1] = None if values[-1] is None else bytes(values[-1])
    return Event(*values)


def _entry(row: Row) -> Entry:
    xid, seq, kind, model, key, at, event_id, body, blob, arm, learn, covered, features = row
    return Entry(
        position=Position(xid, seq),
        kind=kind,
        model=model,
        key=key,
        at=at,
        event_id=event_id,
        body=body,
        blob=None if blob is None else bytes(blob),
        arm=arm,
        learn=bool(learn),
        covered=covered or 0,
        features=None if features is None else bytes(features),
    )
