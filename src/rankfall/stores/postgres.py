"""PostgreSQL: many servers, many machines, one journal."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from rankfall.errors import ConnectionLostError, StoreError
from rankfall.stores.dialect import Dialect, Row
from rankfall.stores.schema import Types

_TYPES = Types(
    seq="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    xid="BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint",
    blob="BYTEA",
    real="DOUBLE PRECISION",
    big="BIGINT",
    there="SELECT 1 WHERE to_regclass('notes') IS NOT NULL",
    more=("CREATE INDEX IF NOT EXISTS journal_order ON journal (xid, seq)",),
    numbered_by_us=(
        "LOCK TABLE journal, events, snapshots, checkpoints IN ACCESS EXCLUSIVE MODE",
        "ALTER TABLE journal ALTER COLUMN seq DROP IDENTITY",
    ),
)
TIMEOUTS = {
    "idle_in_transaction_session_timeout": 2_000,  # a server that stands still loses its transaction, and its locks
    "lock_timeout": 4_000,  # longer than that, so that the others outlast it
    "statement_timeout": 60_000,
}
"""Milliseconds after which PostgreSQL gives up, on our connections: nobody holds up the others for longer."""
_SETTINGS = {
    "synchronous_commit": "on",
    "default_transaction_isolation": "read\\ committed",  # statements see what others wrote before they got the lock
    "client_min_messages": "warning",
    "jit": "off",  # it takes 30 to 150 ms for a statement that takes one, whenever the plan looks expensive
}
_TIMELINE = """
SELECT system_identifier || '/' || CASE WHEN pg_is_in_recovery() THEN 'standby'
    ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END FROM pg_control_system()
"""
"""The identity of the cluster, and its timeline: a new one begins with each failover."""


class _Connection:
    def __init__(self, url: str, settings: Mapping[str, object]) -> None:
        try:
            self._inner = psycopg.connect(
                url,
                autocommit=True,
                prepare_threshold=1,
                connect_timeout=5,
                application_name="rankfall",
                options=" ".join(f"-c {name}={value}" for name, value in settings.items()),
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=10_000,
            )
        except psycopg.ProgrammingError:  # it quotes the address, or parts of it: the password may be among them
            raise StoreError(
                "the address of the database cannot be read; it is postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with "
                "%XX for characters that have a meaning in an address"
            ) from None
        except psycopg.Error as problem:
            raise StoreError(f"cannot reach PostgreSQL: {str(problem).strip()}") from problem
        self._lock = threading.Lock()
        self.timeline = self._timeline()

    def _timeline(self) -> str:
        """Where it leads to; nothing if this role may not ask, or what answers is only like PostgreSQL."""
        try:
            return str(self._inner.execute(_TIMELINE).fetchall()[0][0])
        except psycopg.OperationalError as problem:
            self._inner.close()
            raise StoreError(f"cannot reach PostgreSQL: {str(problem).strip()}") from problem
        except psycopg.Error:
            return ""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        try:
            with self._lock, self._inner.cursor(binary=True) as cursor:
                cursor.execute(sql.replace("?", "%s"), parameters or None)
                return cursor.fetchall() if cursor.description else []
        except psycopg.Error as problem:
            raise self._failure(problem) from problem

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        if not rows:
            return []
        given: list[list[Row]] = []
        try:
            with self._lock, self._inner.cursor(binary=True) as cursor:
                cursor.executemany(sql.replace("?", "%s"), rows, returning=True)
                while True:
                    given.append(cursor.fetchall() if cursor.description else [])
                    if not cursor.nextset():
                        return given
        except psycopg.Error as problem:
            raise self._failure(problem) from problem

    def _failure(self, problem: psycopg.Error) -> StoreError:
        kind = ConnectionLostError if self._inner.closed else StoreError
        return kind(f"PostgreSQL: {str(problem).strip()}")

    def close(self) -> None:
        self._inner.close()


def postgres_at(url: str, *, read_only: bool = False) -> Dialect:
    """The dialect for a database at this address.

    Transactions commit in any order, but those that append to the journal do so one at a time: each holds a lock from
    before its first entry until its commit. So entries are numbered in the order of commits, and a reader who sees an
    entry sees all before it.
    """
    settings = {**_SETTINGS, **TIMEOUTS, **({"default_transaction_read_only": "on"} if read_only else {})}
    return Dialect(
        name="postgresql",
        connect=lambda: _Connection(url, settings),
        types=_TYPES,
        begin="BEGIN",
        gathered="json_agg(json_build_array({}))::text",
        patient=(
            "SET LOCAL lock_timeout = 0",
            "SET LOCAL statement_timeout = 0",
            "SET LOCAL idle_in_transaction_session_timeout = '10min'",  # while a migration works on what it has read
        ),
        time="SELECT extract(epoch FROM clock_timestamp())::float8",
        exclusive="SELECT pg_advisory_xact_lock(7226325663)",
        storing="SELECT pg_advisory_xact_lock_shared(7226325665)",
        forgetting="SELECT pg_advisory_xact_lock(7226325665)",
        appending="SELECT pg_advisory_xact_lock(7226325664)",
    )
