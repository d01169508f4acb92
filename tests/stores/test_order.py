"""Numbers of entries rise in the order of commits, whatever else happens in PostgreSQL; and they can be moved."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from engines import FakeClock, Quiet, arrays, make_model, open_engine, patch, small_catalog
from msgspec.structs import replace
from postgres import Cluster, cluster, newest_programs, stopped
from psycopg import sql
from waiting import PATIENCE, wait_until

from rankfall.errors import StoreError
from rankfall.journal.entries import Encoded
from rankfall.service.commands import ForgetUser, TakeSnapshot
from rankfall.service.setup import prepare
from rankfall.stores import BEGINNING, Store, open_store

pytestmark = pytest.mark.stress


def append(store: Store, model: str) -> None:
    with store.transaction() as tx:
        tx.append(Encoded("reset", 1, "{}", None), model, 0.0)


def models(store: Store) -> list[str]:
    return [entry.model for entry in store.tail(BEGINNING, 100)]


def test_who_appends_waits_for_those_who_did_before(
    postgres: Cluster, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is numbered while an entry with a lower number may still come, or not come."""
    monkeypatch.setattr("rankfall.stores.postgres.TIMEOUTS", {})
    reader, first, second = (open_store(postgres_url) for _ in range(3))
    try:
        with ThreadPoolExecutor(1) as threads:
            with first.transaction() as tx:
                tx.append(Encoded("reset", 1, "{}", None), "first", 0.0)
                with pytest.raises(KeyError), tx.attempt():  # noqa: PT012
                    tx.append(Encoded("reset", 1, "{}", None), "undone", 0.0)
                    raise KeyError
                waiting = threads.submit(append, second, "second")
                postgres.wait_for_blocked(postgres_url)
                assert models(reader) == []
            waiting.result(PATIENCE)
        assert models(reader) == ["first", "second"]
        with pytest.raises(KeyError), first.transaction() as tx:  # noqa: PT012
            with pytest.raises(ZeroDivisionError), tx.attempt():  # noqa: PT012
                tx.append(Encoded("reset", 1, "{}", None), "undone", 0.0)
                raise ZeroDivisionError
            append(second, "third")  # what was undone holds nobody up
            tx.append(Encoded("reset", 1, "{}", None), "undone", 0.0)
            raise KeyError
        append(second, "fourth")
        assert models(reader) == ["first", "second", "third", "fourth"]
    finally:
        for store in (reader, first, second):
            store.close()


def test_gaps_in_the_numbers_are_harmless(place: str) -> None:
    engine, other = open_engine(place), open_engine(place)
    try:
        make_model(engine)
        with engine.store.transaction() as tx:
            tx.append(Encoded("settings", 1, '{"gamma": 2.0}', None), "default", 0.0)
            tx.run("UPDATE journal SET seq = seq + 1000 WHERE kind = 'settings'")
        event = engine.rank_now()
        assert engine.feed_now((event.id, 1))[0].result == "accepted"
        other.fold()
        assert other.model().settings.gamma == 2.0
        assert arrays(other) == arrays(engine)
        assert other.state.position == engine.state.position == engine.store.end() > 1000
    finally:
        other.crash()
        engine.crash()


@pytest.fixture(params=["another database", "another table"])
def stranger(request: pytest.FixtureRequest, postgres: Cluster, postgres_url: str) -> Iterator[None]:
    """Somebody else's transaction, which has written and stays open."""
    url = postgres_url if request.param == "another table" else postgres.url()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE strange (n int)")
        connection.execute("SELECT pg_current_xact_id()")
        yield
        connection.rollback()


@pytest.mark.usefixtures("stranger")
def test_transactions_of_others_have_no_effect(postgres_url: str) -> None:
    lines = prepare(postgres_url, small_catalog, {"k": 3})  # the first start on an empty database
    assert lines[-1].startswith("Model 'default'")
    engine, other = open_engine(postgres_url), open_engine(postgres_url)
    try:
        make_model(engine, "second")
        assert engine.rank_now("second").arm == "policy"
        patch(engine, gamma=3.0)
        assert engine.model().settings.gamma == 3.0
        event = engine.rank_now()
        assert engine.feed_now((event.id, 1))[0].result == "accepted"
        assert engine.view_now().policy.n_updates == 1
        assert engine.lag() == 0.0
        other.fold()
        assert arrays(other) == arrays(engine)
    finally:
        other.crash()
        engine.crash()


def test_a_server_that_stands_still_holds_up_the_others_for_a_while_only(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL ends its transaction, and with it its lock; what it had written was not acknowledged."""
    monkeypatch.setattr("rankfall.service.writer.PATIENCE", PATIENCE)
    engine, frozen = open_engine(postgres_url), open_store(postgres_url)
    try:
        make_model(engine)
        event = engine.rank_now()
        end = engine.state.mark
        with pytest.raises(StoreError), frozen.transaction() as tx:  # noqa: PT012
            tx.exclusive()
            tx.append(Encoded("reset", 1, "{}", None), "default", 0.0)
            assert engine.feed_now((event.id, 1))[0].result == "accepted"
        assert [entry.kind for entry in engine.store.tail(end, 10)] == ["feedback"]
        append(frozen, "default")  # and goes on when it wakes
        assert engine.fold() == 1
    finally:
        frozen.close()
        engine.crash()


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Quiet]:
    """One that has learned, and forgotten a user; some of it after the last checkpoint."""
    engine = open_engine(postgres_url, FakeClock())
    make_model(engine)
    make_model(engine, "own", scope="user")
    for user in ("anna", "bert"):
        events = [engine.rank_now(name, user=user) for name in ("default", "own") for _ in range(3)]
        engine.feed_now(*((event.id, 2) for event in events[::2]))
    engine.write(TakeSnapshot("own"))
    engine.checkpoint()
    engine.write(ForgetUser("bert"))
    try:
        yield engine
    finally:
        engine.crash()


def check_goes_on(engine: Quiet, url: str) -> None:
    """Another server on what was moved has the same bits, and the same happens to both from then on."""
    moved = open_engine(url, FakeClock())
    try:
        assert moved.state.position == engine.state.position
        lists = "SELECT id FROM events e WHERE NOT EXISTS (SELECT 1 FROM journal WHERE event_id = e.id) ORDER BY id"
        waiting = [event_id for (event_id,) in engine.store.read(lists)]
        assert len(waiting) == 4
        for both in (engine, moved):
            assert [result.result for result in both.feed_now(*((one, 3) for one in waiting))] == ["accepted"] * 4
        assert moved.state.position == engine.state.position
        for model, owner in (("default", ""), ("own", "anna")):
            assert arrays(moved, model, owner) == arrays(engine, model, owner)
        assert [replace(e, at=0.0, token="") for e in moved.store.tail(BEGINNING, 99)] == [
            replace(e, at=0.0, token="") for e in engine.store.tail(BEGINNING, 99)
        ]
    finally:
        moved.crash()


def move(postgres: Cluster, source: str, target: str, *options: str) -> None:
    dump = [postgres.programs / "pg_dump", *options, source]
    text = subprocess.run(dump, check=True, capture_output=True).stdout
    psql = [postgres.programs / "psql", "--quiet", "-v", "ON_ERROR_STOP=1", target]
    subprocess.run(psql, check=True, input=text, stdout=subprocess.DEVNULL)


def test_a_dump_goes_on_in_another_cluster(postgres: Cluster, postgres_url: str, engine: Quiet) -> None:
    """Numbers are nobody's but the journal's: no transaction of the old cluster, no counter."""
    with cluster(postgres.programs) as elsewhere:
        url = elsewhere.fresh()
        move(postgres, postgres_url, url)
        check_goes_on(engine, url)


def test_an_upgraded_cluster_goes_on(postgres: Cluster, postgres_url: str, engine: Quiet) -> None:
    """By pg_upgrade. If there is no other version here, to the same one: tables and counters move as to a new one."""
    with stopped(postgres.programs, postgres) as old, stopped(newest_programs(postgres.programs)) as new:
        old.start()
        old.stop()
        new.upgrade(old)
        new.start()
        check_goes_on(engine, new.url(postgres_url.rpartition("/")[2]))


def test_a_logical_replica_goes_on(postgres: Cluster, postgres_url: str, engine: Quiet) -> None:
    """It gets rows and nothing else; among them those that are changed and deleted while it follows."""
    replica = postgres.fresh()
    with (
        psycopg.connect(postgres_url, autocommit=True) as source,
        psycopg.connect(replica, autocommit=True) as target,
    ):
        move(postgres, postgres_url, replica, "--schema-only")
        source.execute("CREATE PUBLICATION everything FOR ALL TABLES")
        source.execute("SELECT pg_create_logical_replication_slot('replica', 'pgoutput')")
        following = "CREATE SUBSCRIPTION replica CONNECTION {} PUBLICATION everything WITH (create_slot = false)"
        target.execute(sql.SQL(following).format(postgres_url))
        try:
            for user in ("anna", "carl"):
                event = engine.rank_now("own", user=user)
                engine.feed_now((event.id, 1))
            engine.checkpoint()
            engine.write(ForgetUser("carl"))
            tables = ("events", "journal", "checkpoints", "snapshots", "notes", "heartbeat")
            for table in tables:
                rows = sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(sql.Identifier(table))
                wait_until(lambda rows=rows: source.execute(rows).fetchall() == target.execute(rows).fetchall())
        finally:
            target.execute("DROP SUBSCRIPTION replica")
    check_goes_on(engine, replica)
    postgres.drop(replica)
