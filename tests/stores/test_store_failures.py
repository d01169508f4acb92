"""What fails: statements, connections, the database, a locked file, the machine."""

import sqlite3
import sys
from pathlib import Path

import pytest
from postgres import Cluster
from stored import reset

from rankfall.errors import RankfallError, StoreError
from rankfall.stores import (
    Store,
    Transaction,
    open_store,
)

pytestmark = pytest.mark.usefixtures("no_timeouts")


def test_what_fails_inside_a_transaction(store: Store) -> None:
    with store.transaction() as tx:
        tx.note("a", "1")
        with pytest.raises(KeyError), tx.attempt():  # noqa: PT012
            tx.note("a", "2")
            tx.append(reset(), "m", 0.0)
            raise KeyError
        with tx.attempt():
            tx.note("b", "3")
    assert (store.note("a"), store.note("b")) == ("1", "3")
    assert store.decisions() == []
    with pytest.raises(KeyError), store.transaction() as tx:  # noqa: PT012
        tx.note("a", "4")
        raise KeyError
    assert store.note("a") == "1"
    with pytest.raises(StoreError, match="nowhere"), store.transaction() as tx:  # noqa: PT012
        tx.note("a", "5")
        tx.run("SELECT 1 FROM nowhere")
    assert store.note("a") == "1"
    with store.transaction() as tx:  # goes on as if nothing had happened
        tx.note("a", "6")
    assert store.note("a") == "6"


def test_connections_that_were_cut_are_made_again(postgres: Cluster, postgres_url: str) -> None:
    store = open_store(postgres_url)
    try:
        assert store.note("a") is None
        _write(store)
        assert postgres.cut(postgres_url) == 2
        assert store.note("a") == "1"  # a read is simply made once more
        with pytest.raises(StoreError):
            _write(store)  # a write is not: whether it was stored is for the caller to find out
        _write(store)
    finally:
        store.close()


def test_reads_fail_while_the_database_is_away(postgres: Cluster, postgres_url: str) -> None:
    store = open_store(postgres_url)
    try:
        _write(store)
        assert store.note("a") == "1"
        postgres.stop("immediate")
        try:
            for _ in range(2):
                with pytest.raises(StoreError, match="PostgreSQL"):
                    store.note("a")
        finally:
            postgres.start()
        assert store.note("a") == "1"
    finally:
        store.close()


def _write(store: Store) -> None:
    with store.transaction() as tx:
        tx.note("a", "1")


@pytest.mark.stress
def test_a_locked_file_is_a_store_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("PRAGMA busy_timeout = 50", "PRAGMA journal_mode = WAL")
    monkeypatch.setattr(sys.modules["rankfall.stores.sqlite"], "_SETTINGS", settings)
    store = open_store(tmp_path)
    other = sqlite3.connect(tmp_path / "rankfall.sqlite", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            _write(store)
        other.execute("ROLLBACK")
        _write(store)
        assert store.note("a") == "1"
    finally:
        other.close()
        store.close()


def test_what_is_committed_in_sqlite_survives_a_crash(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    try:
        with store.transaction() as tx:
            assert tx.run("PRAGMA synchronous") == [(2,)]  # FULL
            assert tx.run("PRAGMA journal_mode") == [("wal",)]
    finally:
        store.close()


def test_errors_have_one_root() -> None:
    assert issubclass(StoreError, RankfallError)
    assert Transaction.__doc__
