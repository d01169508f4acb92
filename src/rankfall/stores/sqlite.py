"""SQLite: one file, no server; what is committed survives a crash of the machine."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankfall.errors import StoreError
from rankfall.stores.dialect import Connection, Dialect, Row
from rankfall.stores.schema import Types

_PATIENT = "PRAGMA busy_timeout = 5000"
_SETTINGS = (
    _PATIENT,
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA journal_size_limit = 67108864",
)


class _Connection:
    timeline = ""  # a file has one

    def __init__(self, path: Path, address: str | Path, settings: Sequence[str]) -> None:
        self._path = path
        try:
            self._inner = sqlite3.connect(
                address,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
                uri=isinstance(address, str),
            )
        except sqlite3.Error as problem:
            raise StoreError(f"cannot open {path}: {problem}") from problem
        try:
            for setting in settings:
                self._inner.execute(setting).fetchall()
        except sqlite3.Error as problem:
            self._inner.close()
            raise StoreError(f"cannot open {path}: {problem}") from problem

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._inner.execute(sql, parameters).fetchall()
        except sqlite3.Error as problem:
            raise StoreError(f"{self._path}: {problem}") from problem

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        return [self.run(sql, row) for row in rows]

    def close(self) -> None:
        self._inner.close()


def _to_write(path: Path) -> _Connection:
    """A connection that reads and writes. SQLite keeps its log beside the file, and does not say if it cannot."""
    try:
        return _Connection(path, path, _SETTINGS)
    except StoreError as problem:
        if os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK)):
            raise
        raise StoreError(f"{problem}; file and folder must be writable") from problem.__cause__


def _read_only(path: Path) -> _Connection:
    """A connection that cannot write. Where nobody can write, and nobody did not finish, the file alone is enough."""
    address = path.absolute().as_uri()
    settings = (_PATIENT, "SELECT 1 FROM sqlite_master")
    try:
        return _Connection(path, f"{address}?mode=ro", settings)
    except StoreError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _Connection(path, f"{address}?mode=ro&immutable=1", settings)


def _scrub(connection: Connection) -> bool:
    """Empty the WAL, where what was deleted still stands; False if a reader or another writer is in the way."""
    connection.run("PRAGMA busy_timeout = 250")
    try:
        return not connection.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
    finally:
        connection.run(_PATIENT)


def sqlite_at(path: Path, *, read_only: bool = False) -> Dialect:
    """The dialect for a database file, which is made if it is not there, unless it is to be read only."""
    return Dialect(
        name="sqlite",
        connect=lambda: _read_only(path) if read_only else _to_write(path),
        types=Types(
            seq="INTEGER PRIMARY KEY AUTOINCREMENT",
            xid="INTEGER NOT NULL DEFAULT 0",
            blob="BLOB",
            real="REAL",
            big="INTEGER",
            there="SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'notes'",
        ),
        scrub=_scrub,
        compact="VACUUM",
        gathered="json_group_array(json_array({}))",
        begin="BEGIN IMMEDIATE",  # one transaction at a time: no further locks are needed
    )
