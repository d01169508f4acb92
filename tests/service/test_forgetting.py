"""A user who is forgotten is gone: from every table, whatever is stored meanwhile, and from SQLite's files."""

import sqlite3
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from engines import FakeClock, Quiet, arrays, batch, make_model, open_engine
from postgres import Cluster
from waiting import PATIENCE
from zero_one_zero import execute

from rankfall.cli import app
from rankfall.errors import StoreError
from rankfall.service.commands import ForgetUser, GiveFeedback, LoadOwner, StoreEvent
from rankfall.stores import Event, Transaction, open_store
from rankfall.wire import FeedbackRequest, RankRequest

NAME = "anna-whom-nobody-else-is-called"
TABLES = ("events", "journal", "checkpoints", "snapshots", "notes")


def rows_with(place: str, name: str) -> list[tuple[str, str]]:
    """Tables that hold a name anywhere, and the rows; bytes are looked through too."""
    found = []
    for table in TABLES:
        for row in execute(place, f"SELECT * FROM {table}"):
            values = [bytes(v) if isinstance(v, bytes | memoryview) else str(v).encode() for v in row]
            if any(name.encode() in value for value in values):
                found.append((table, str(row)[:200]))
    return found


def files_with(folder: str, name: str) -> list[str]:
    return [path.name for path in Path(folder).iterdir() if name.encode() in path.read_bytes()]


def make_models(engine: Quiet) -> None:
    make_model(engine, "own", scope="user")
    make_model(engine)


def list_for(engine: Quiet, user: str, model: str = "own") -> Event:
    """A list, not stored yet."""
    view = engine.write(LoadOwner(model, user if model == "own" else ""))
    return engine.make(engine.model(model), view, RankRequest(user=user))


def feed(engine: Quiet, event: Event, click: int = 1) -> str:
    (given,) = engine.write(GiveFeedback((FeedbackRequest(event.id, click),)))
    return given.result


def counts(engine: Quiet) -> dict[str, Any]:
    return {
        name: (model.history.counts.plain(), model.history.forgotten + engine.store.ranked(name))
        for name, model in engine.state.models.items()
    }


def check_counts(place: str, *engines: Quiet) -> None:
    """Live servers and one that starts now have the same, with checkpoints and without."""
    for engine in engines:
        engine.fold()
        assert counts(engine) == counts(engines[0])
    for prepare in ("SELECT 1", "DELETE FROM checkpoints"):
        execute(place, prepare)
        again = open_engine(place)
        assert counts(again) == counts(engines[0])
        again.crash()


@pytest.mark.stress
@pytest.mark.parametrize("first", ["list", "forget"])
def test_a_list_that_is_stored_while_its_user_is_forgotten(
    postgres: Cluster, postgres_url: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored before, it is removed; stored after, it is a list of a new user, and a later call removes it."""
    monkeypatch.setattr("rankfall.stores.postgres.TIMEOUTS", {})
    one, other = open_engine(postgres_url), open_engine(postgres_url)
    try:
        make_models(one)
        other.fold()
        assert feed(one, one.write(StoreEvent(list_for(one, NAME)))) == "accepted"
        event = list_for(one, NAME)
        began, held = threading.Event(), "add_events" if first == "list" else "forget"
        original = getattr(Transaction, held)

        def holding(tx: Transaction, *arguments: Any) -> Any:
            """Let the first transaction end only when the other one waits for it."""
            done = original(tx, *arguments)
            began.set()
            postgres.wait_for_blocked(postgres_url)
            return done

        monkeypatch.setattr(Transaction, held, holding)
        waiting: list[Future[Any]] = []
        forget = ForgetUser(NAME)
        if first == "forget":
            waiting.append(other.writer.submit_from_thread(forget))
            assert began.wait(PATIENCE)
        waiting.append(one.writer.submit_from_thread(StoreEvent(event)))
        if first == "list":
            assert began.wait(PATIENCE)
            waiting.append(other.writer.submit_from_thread(forget))
        for future in waiting:
            future.result(PATIENCE)
        monkeypatch.undo()
        stored = one.store.event(event.id)
        assert (stored is None) == (first == "list")
        if stored is not None:
            assert (stored.user, stored.owner) == (NAME, NAME)
            assert feed(one, stored) == "accepted"
            one.fold()
            assert one.view_now("own", NAME).policy.n_updates == 1  # of what came after
            assert other.write(forget) == (1, 1, 0)
        assert rows_with(postgres_url, NAME) == []
        one.fold()
        assert arrays(one, "own", NAME) == batch([])
        check_counts(postgres_url, one, other)
    finally:
        one.crash()
        other.crash()


def test_a_model_that_another_server_made_a_moment_ago(place: str) -> None:
    """The server that forgets has not heard of it yet."""
    one, other = open_engine(place), open_engine(place)
    try:
        make_models(one)
        assert feed(one, one.write(StoreEvent(list_for(one, NAME)))) == "accepted"
        assert other.write(ForgetUser(NAME)) == (1, 1, 0)
        assert rows_with(place, NAME) == []
    finally:
        one.crash()
        other.crash()


def test_lists_that_earlier_versions_left_behind_are_found(place: str) -> None:
    engine = open_engine(place)
    try:
        make_models(engine)
        for _ in range(3):
            event = engine.write(StoreEvent(list_for(engine, NAME)))
        assert feed(engine, event) == "accepted"
        execute(place, "UPDATE events SET user_id = NULL")
        assert engine.write(ForgetUser(NAME)) == (1, 3, 0)
        assert rows_with(place, NAME) == []
    finally:
        engine.crash()


def test_counts_hold_when_users_are_forgotten(place: str) -> None:
    one, other = open_engine(place), open_engine(place)
    try:
        make_models(one)
        other.fold()
        for n in range(12):
            event = one.write(StoreEvent(list_for(one, f"user {n % 3}", "own" if n % 2 else "default")))
            if n % 4:
                assert feed(one, event, n % 3 + 1) == "accepted"
        other.fold()
        before = counts(one)
        assert before["own"][0]["counts"] == {"policy": [6, 6, 0]}
        one.write(ForgetUser("user 1"))
        assert counts(one) == before
        other.checkpoint()
        check_counts(place, one, other)
        assert counts(one) == before
    finally:
        one.crash()
        other.crash()


@pytest.mark.stress
@pytest.mark.usefixtures("patient")
def test_many_users_are_forgotten_under_load(place: str) -> None:
    """Lists, feedback, checkpoints and forgetting at random, from several threads of two servers."""
    names = [f"{NAME}-{n}" for n in range(6)]
    one, other = open_engine(place, FakeClock()), open_engine(place, FakeClock())
    try:
        make_models(one)
        other.fold()

        def work(seed: int) -> None:
            rng = np.random.default_rng(seed)
            for _ in range(20):
                engine, user = (one, other)[rng.integers(2)], names[rng.integers(len(names))]
                chance = rng.random()
                if chance < 0.2:
                    engine.write(ForgetUser(user))
                elif chance < 0.25:
                    engine.checkpoint()
                else:
                    event = engine.write(StoreEvent(list_for(engine, user, "own" if chance < 0.8 else "default")))
                    if chance < 0.7:
                        assert feed(engine, event, int(rng.integers(1, 4))) in ("accepted", "unknown")

        with ThreadPoolExecutor(5) as threads:
            for done in [threads.submit(work, seed) for seed in range(5)]:
                done.result(PATIENCE)
        gone = names[:3]
        for name in gone:
            other.write(ForgetUser(name))
        assert [row for name in gone for row in rows_with(place, name)] == []
        check_counts(place, one, other)
        for name in names:
            assert arrays(one, "own", name) == arrays(other, "own", name)
            assert (name in gone) <= (arrays(one, "own", name) == batch([]))
        if not place.startswith("postgresql"):
            other.run(other.store.compact)
            assert [file for name in gone for file in files_with(place, name)] == []
    finally:
        one.crash()
        other.crash()


def test_the_name_is_not_in_the_wal_of_sqlite(tmp_path: Path) -> None:
    place = str(tmp_path / "data")
    engine, other = open_engine(place), open_engine(place)
    try:
        make_models(engine)
        for model in ("own", "default") * 20:
            assert feed(engine, engine.write(StoreEvent(list_for(engine, NAME, model)))) == "accepted"
        engine.checkpoint()
        other.fold()
        assert files_with(place, NAME)
        engine.write(ForgetUser(NAME))
        assert not engine.store.to_scrub
        assert "rankfall.sqlite-wal" not in files_with(place, NAME)
        engine.run(engine.store.compact)
        assert files_with(place, NAME) == []
    finally:
        engine.crash()
        other.crash()


def test_compacting_leaves_nothing_in_unused_parts_of_pages(tmp_path: Path) -> None:
    """SQLite leaves copies of rows there when it moves them: without compacting, one store in ten has a name."""
    rng = np.random.default_rng(0)
    names = [f"{NAME}-{n}" for n in range(6)]
    for n in range(40):
        with closing(open_store(tmp_path / str(n))) as store:
            with store.transaction() as tx:
                tx.run("CREATE TABLE shown (id TEXT PRIMARY KEY, owner TEXT, name TEXT, body TEXT)")
                tx.run("CREATE INDEX by_name ON shown (name)")
                tx.run("CREATE INDEX by_owner ON shown (owner, id)")
                for name in rng.choice(names, 150).tolist():
                    chance = rng.random()
                    if chance < 0.15:
                        tx.run("DELETE FROM shown WHERE name = ?", (name,))
                    elif chance < 0.25:
                        tx.run("UPDATE shown SET name = NULL, owner = '' WHERE name = ?", (name,))
                    else:
                        row = (rng.bytes(8).hex(), name, name, "x" * int(rng.integers(50, 700)))
                        tx.run("INSERT INTO shown VALUES (?, ?, ?, ?)", row)
                for name in names[:3]:
                    tx.run("DELETE FROM shown WHERE name = ?", (name,))
            store.compact()
            assert [name for name in names[:3] if files_with(str(tmp_path / str(n)), name)] == []


def test_the_command_compacts_a_store(tmp_path: Path, postgres_url: str) -> None:
    place = str(tmp_path / "data")
    engine = open_engine(place)
    make_models(engine)
    assert feed(engine, engine.write(StoreEvent(list_for(engine, NAME)))) == "accepted"
    engine.write(ForgetUser(NAME))
    done = CliRunner().invoke(app, ["compact", "--data", place])
    assert (done.exit_code, done.output) == (0, "Compacted.\n")
    assert files_with(place, NAME) == []
    assert feed(engine, engine.write(StoreEvent(list_for(engine, NAME)))) == "accepted"
    engine.crash()
    missing = CliRunner().invoke(app, ["compact", "--data", str(tmp_path / "no")], standalone_mode=False)
    assert "holds no store" in str(missing.exception)
    with closing(open_store(postgres_url)) as store, pytest.raises(StoreError, match="VACUUM FULL"):
        store.compact()


def test_a_store_that_cannot_be_scrubbed_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> bool:
        raise StoreError("the disk is full")

    open_store(tmp_path).close()
    monkeypatch.setattr("rankfall.stores.sqlite._scrub", fail)
    store = open_store(tmp_path)
    assert store.to_scrub
    assert store.note("schema") is not None
    store.close()


def test_a_reader_in_the_way_of_scrubbing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upkeep tries again when the reader is gone; and so does the next start, if the server is killed before."""
    monkeypatch.setattr("rankfall.service.upkeep.EXPIRE_EVERY", 0.0)
    place = str(tmp_path / "data")
    engine = open_engine(place)
    make_models(engine)
    reader = sqlite3.connect(tmp_path / "data" / "rankfall.sqlite", isolation_level=None)

    def forget_while_somebody_reads() -> None:
        assert feed(engine, engine.write(StoreEvent(list_for(engine, NAME)))) == "accepted"
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchall()
        engine.write(ForgetUser(NAME))
        assert engine.store.to_scrub
        assert files_with(place, NAME)
        reader.execute("ROLLBACK")

    forget_while_somebody_reads()
    engine.run(engine.upkeep.run)
    assert not engine.store.to_scrub
    assert files_with(place, NAME) == []
    forget_while_somebody_reads()
    killed = open_engine(place)
    assert files_with(place, NAME) == []
    killed.crash()
    engine.crash()
    reader.close()
