"""After a failover all connections of a store lead to the same database, also if the old one is alive."""

import logging
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from postgres import Cluster, stopped

from rankfall.errors import StoreError
from rankfall.journal.entries import Encoded
from rankfall.stores import BEGINNING, Store, open_store

pytestmark = pytest.mark.stress


@pytest.fixture(scope="module")
def promoted(postgres: Cluster) -> Iterator[Cluster]:
    """A standby that became the primary, on a timeline of its own."""
    with stopped(postgres.programs, postgres) as standby:
        standby.promote()
        yield standby


@pytest.fixture
def moved(promoted: Cluster, postgres_url: str) -> Iterator[Store]:
    """A store whose address leads to the standby from now on; the connections that it has lead to the old primary."""
    store, new = open_store(postgres_url), open_store(promoted.fresh())
    append(store, "before")
    assert models(store) == ["before"]
    store.dialect = replace(store.dialect, connect=new.dialect.connect)
    try:
        yield store
    finally:
        store.close()
        new.close()


def append(store: Store, model: str) -> None:
    with store.transaction() as tx:
        tx.append(Encoded("reset", 1, "{}", None), model, 0.0)


def models(store: Store) -> list[str]:
    return [entry.model for entry in store.tail(BEGINNING, 100)]


def end_connection(postgres: Cluster, pid: int) -> None:
    assert postgres.ask("SELECT pg_terminate_backend(%s, 60000)", pid) == [(True,)]


def test_what_is_written_to_the_new_database_is_read_from_it(
    postgres: Cluster, moved: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection to write was cut, the one to read was not."""
    old = moved.timeline
    with moved.transaction() as tx:
        [[pid]] = tx.run("SELECT pg_backend_pid()")
    end_connection(postgres, pid)
    with pytest.raises(StoreError):
        append(moved, "lost")
    with caplog.at_level(logging.WARNING, "rankfall.stores"):
        append(moved, "after")
    assert models(moved) == ["after"]
    assert moved.timeline != old
    assert [record.message for record in caplog.records] == ["the address of the store leads to another timeline now"]


def test_nothing_is_written_to_the_old_database_once_the_new_one_was_read(
    postgres: Cluster, postgres_url: str, moved: Store
) -> None:
    """The connection to read was cut, the one to write was not; and a transaction was under way."""
    [[pid]] = moved.read("SELECT pg_backend_pid()")
    end_connection(postgres, pid)
    with pytest.raises(StoreError, match="another timeline"), moved.transaction() as tx:  # noqa: PT012
        tx.append(Encoded("reset", 1, "{}", None), "lost", 0.0)
        assert models(moved) == []
    append(moved, "after")
    assert models(moved) == ["after"]
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT model FROM journal").fetchall() == [("before",)]


def test_those_beside_a_store_follow_it(postgres: Cluster, moved: Store) -> None:
    other = moved.beside()
    try:
        moved.read("SELECT 1")
        append(other, "after")  # its first connection
        assert models(moved) == ["after"]
        assert other.timeline == moved.timeline
    finally:
        other.close()


def test_a_database_that_does_not_say_where_it_is(postgres: Cluster, postgres_url: str) -> None:
    """As where the functions for it are withheld: the store works all the same."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = postgres_url.rpartition("/")[2]
        connection.execute("CREATE ROLE modest LOGIN")
        try:
            connection.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
            connection.execute(f"GRANT ALL ON DATABASE {name} TO modest; GRANT ALL ON SCHEMA public TO modest")  # type: ignore[arg-type]
            store = open_store(postgres_url.replace("postgres@", "modest@"))
            append(store, "it works")
            assert (models(store), store.timeline) == (["it works"], "")
            store.close()
        finally:
            connection.execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
            connection.execute("DROP OWNED BY modest; DROP ROLE modest")
