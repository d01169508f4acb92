"""PostgreSQL: many servers, many machines, one journal."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import psycopg

from rankfall.errors import ConnectionLostError, StoreError
from rankfall.stores.dialect import Dialect, Row
from rankfall.stores.migrations import Types

_TYPES = Types(
    seq="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    xid="BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint",
    blob="BYTEA",
    real="DOUBLE PRECISION",
    big="BIGINT",
    there="SELECT 1 WHERE to_regclass('notes') IS NOT NULL",
    more=("CREATE INDEX IF NOT EXISTS journal_order ON journal (xid, seq)",),
)


class _Connection:
    def __init__(self, url: str) -> None:
        try:
            self._inner = psycopg.connect(
                url,
                autocommit=True,
                prepare_threshold=1,
                connect_timeout=5,
                application_name="rankfall",
                options="-c synchronous_commit=on -c client_min_messages=warning",
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
            )
        except psycopg.ProgrammingError:  # it quotes the address, or parts of it: the password may be among them
            raise StoreError(
                "the address of the database cannot be read; it is postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with "
                "%XX for characters that have a meaning in an address"
            ) from None
        except psycopg.Error as problem:
            raise StoreError(f"cannot reach PostgreSQL: {str(problem).strip()}") from problem
        self._lock = threading.Lock()

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


def postgres_at(url: str) -> Dialect:
    """The dialect for a database at this address.

    Transactions commit out of order, so an entry with a lower number may appear after one with a higher number was
    read. Each entry carries its transaction's id; entries are ordered by it, and read only below the oldest
    transaction still under way. What is below stays as it is, for every reader.
    """
    return Dialect(
        name="postgresql",
        connect=lambda: _Connection(url),
        types=_TYPES,
        begin="BEGIN",
        appending="SELECT pg_advisory_xact_lock_shared(7226325664)",
        forgetting="SELECT pg_advisory_xact_lock(7226325664)",
        exclusive="SELECT pg_advisory_xact_lock(7226325663)",
        after="(j.xid, j.seq) > (?, ?)",
        final="j.xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
        order="j.xid, j.seq",
        clock="SELECT coalesce(max(xid), 0) <= pg_current_xact_id()::text::bigint FROM journal",
    )
