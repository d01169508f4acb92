"""The store keeps what it is given, exactly, in one order for all; over SQLite and PostgreSQL alike."""

import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from postgres import Cluster
from waiting import PATIENCE

from rankfall.errors import LostEntryError, RankfallError, StoreError
from rankfall.journal.entries import Encoded, FeedbackForgotten, decode
from rankfall.stores import (
    BEGINNING,
    END,
    START,
    Checkpoint,
    Entry,
    Event,
    Mark,
    OnEvent,
    Snapshot,
    Store,
    Transaction,
    open_store,
)

EVENT = Event(
    id="e1",
    model="m",
    owner="k",
    user="u\U0001f600'\"",
    segment=None,
    request_id="r1",
    digest="d",
    created=0.1 + 0.2,
    expires=1e9 + 1 / 3,
    active=True,
    arm="policy",
    learn=True,
    propensity=1 / 3,
    catalog=2**40,
    covered=3,
    request='{"candidates": ["a?%s"]}',
    response='{"items": []}',
    features=np.array([[np.pi, -0.0], [5e-324, 1e308]]).tobytes(),
)


@pytest.fixture(autouse=True)
def no_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests hold transactions open until others have come to wait, however long that takes."""
    monkeypatch.setattr("rankfall.stores.postgres.TIMEOUTS", {})


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    opened = open_store(place)
    yield opened
    opened.close()


def feedback(event: str, owner: str = "k", clicked: str = '{"clicked": [0]}', model: str = "m") -> OnEvent:
    return OnEvent(Encoded("feedback", 1, clicked, None), event, model, owner, 1.5, "token")


def reset(body: str = "{}") -> Encoded:
    return Encoded("reset", 1, body, None)


def test_events_come_back_exactly(store: Store) -> None:
    bare = replace(EVENT, id="e2", user=None, request_id=None, digest=None, active=False, learn=False, features=None)
    bare = replace(bare, propensity=None, request=None, arm="control")
    with store.transaction() as tx:
        assert tx.add_events([EVENT, bare]) == [True, True]
        assert tx.events(["e2", "none", "e1"]) == [bare, None, replace(EVENT, features=None)]
        assert tx.event_of_request("m", "r1") == replace(EVENT, features=None)
        assert tx.event_of_request("other", "r1") is None
    assert store.event("e1") == EVENT
    assert store.event("e2") == bare
    assert store.event("none") is None
    assert store.ranked("m") == 2
    assert store.events_with_feedback() == [(EVENT, None), (bare, None)]
    assert store.events_with_feedback(after="e1") == [(bare, None)]


def test_the_first_event_of_an_id_or_request_stays(store: Store) -> None:
    with store.transaction() as tx:
        tx.add_events([EVENT])
        again = [
            replace(EVENT, response="other"),  # same id
            replace(EVENT, id="e2", response="other"),  # same request
            replace(EVENT, id="e3", model="m2"),  # a request of another model
            replace(EVENT, id="e4", request_id=None),
            replace(EVENT, id="e5", request_id=None),  # requests without a name are all different
        ]
        assert tx.add_events(again) == [False, False, True, True, True]
    assert store.event("e1") == EVENT
    assert store.event("e2") is None


def test_an_event_is_answered_once(store: Store) -> None:
    with store.transaction() as tx:
        tx.add_events([EVENT])
        assert tx.append_on_events([feedback("e1"), feedback("e1", clicked="{}")]) == [True, False]
    with store.transaction() as tx:
        assert tx.append_on_events([OnEvent(Encoded("expired", 1, "{}", None), "e1", "m", "k", 9.0)]) == [False]
        assert tx.feedback_on("e1") == ("feedback", 1, '{"clicked": [0]}', 1.5, "token")
        assert tx.feedback_on("e2") is None
    assert store.feedback_on("e1") == ("feedback", 1, '{"clicked": [0]}', 1.5, "token")
    (entry,) = store.tail(BEGINNING, 10)
    assert (entry.kind, entry.owner, entry.event_id, entry.at) == ("feedback", "k", "e1", 1.5)
    assert (entry.arm, entry.learn, entry.covered, entry.features) == ("policy", True, 3, EVENT.features)
    assert store.events_with_feedback()[0][1] == replace(
        entry, arm=None, learn=False, covered=0, features=None, catalog=0
    )
    assert store.tail(entry.mark, 10) == []


def test_decisions_come_back_exactly(store: Store) -> None:
    with store.transaction() as tx:
        first = tx.append(Encoded("catalog", 2, "{}", b"\x00\xff"), "", 0.1)
        second = tx.append(Encoded("create", 1, '{"a": "\\u0000"}', None), "m", 0.2)
        found = tx.first("create", "m")
        assert found is not None
        assert found.body == '{"a": "\\u0000"}'
        assert tx.first("create", "other") is None
    assert second > first
    entries = store.decisions()
    assert [(e.kind, e.version, e.model, e.at, e.body, e.blob) for e in entries] == [
        ("catalog", 2, "", 0.1, "{}", b"\x00\xff"),
        ("create", 1, "m", 0.2, '{"a": "\\u0000"}', None),
    ]
    assert [e.position for e in entries] == [first, second]
    assert store.tail(BEGINNING, 10) == entries
    assert store.tail(BEGINNING, 1) == entries[:1]
    assert store.tail(entries[0].mark, 1) == entries[1:]
    assert store.waiting_since(START) == 0.1
    assert store.waiting_since(entries[-1].position) is None


def test_states_snapshots_and_notes(store: Store) -> None:
    states = [Checkpoint("m", "k", seq, bytes([seq])) for seq in (2, 4, 6)]
    seen = appended(store, 6)
    with store.transaction() as tx:
        tx.add_snapshot(Snapshot("s", "m", "before", 4, 2.5))
        for state in states:
            assert tx.save([state], seen)
        assert tx.save([Checkpoint("m", "other", 1, b"o")], seen)
        tx.note("word", "one")
        tx.note("word", "two")
    found = store.checkpoints("m", ["k", "none", "other"], START, END)
    assert found == [states[2], None, Checkpoint("m", "other", 1, b"o")]
    assert store.checkpoints("m", ["k"], START, 5) == [states[1]]  # a snapshot needs it
    assert store.checkpoints("m", ["k"], START, 3) == [None]  # nobody needs it
    assert store.checkpoints("m", ["k"], 7, END) == [None]
    assert store.snapshots("m") == [Snapshot("s", "m", "before", 4, 2.5)]
    assert store.snapshots("other") == []
    assert store.note("word") == "two"
    assert store.note("none") is None


def appended(store: Store, entries: int) -> Mark:
    """Append entries; the last one."""
    with store.transaction() as tx:
        for _ in range(entries):
            tx.append(reset(), "m", 0.5)
    return store.tail(BEGINNING, 100)[-1].mark


def test_a_state_is_kept_only_of_entries_that_are_there(store: Store) -> None:
    seen = appended(store, 5)
    lost = [Checkpoint("m", owner, 5, b"lost") for owner in "ab"]
    with store.transaction() as tx:
        assert tx.save([*lost, Checkpoint("m", "a", 4, b"kept")], seen)
        tx.add_snapshot(Snapshot("s", "m", "", 4, 0.0))
    with store.transaction() as tx:
        assert tx.save([Checkpoint("m", "a", 4, b"kept")], seen)
        tx.run("DELETE FROM journal WHERE seq = 5")  # the store goes back in time
        assert not tx.save([Checkpoint("m", "c", 4, b"of another history")], seen)
        assert not tx.save([Checkpoint("m", "c", 4, b"of another history")], seen._replace(position=4))
    with pytest.raises(LostEntryError, match="entry 5 of the journal is not there any more"):
        store.tail(seen, 10)
    again = appended(store, 1)
    assert (again.position, again.token != seen.token) == (5, True)
    with pytest.raises(LostEntryError):
        store.tail(seen, 10)
    assert store.tail(again, 10) == []
    kept = Checkpoint("m", "a", 4, b"kept")
    assert store.checkpoints("m", ["a", "b", "c"], START, END) == [kept, None, None]
    with store.transaction() as tx:
        tx.save([Checkpoint("m", "b", 5, b"new")], again)
        assert tx.drop_lost_checkpoints(4) == 1
        assert tx.run("SELECT owner, seq FROM checkpoints ORDER BY owner") == [("a", 4), ("b", 5)]
    assert store.checkpoints("m", ["a", "b"], START, END) == [kept, Checkpoint("m", "b", 5, b"new")]


def test_silence_is_that_of_lists_known_to_be_shown(store: Store) -> None:
    def event(name: str, expires: float, active: bool) -> Event:
        return replace(EVENT, id=name, request_id=None, expires=expires, active=active)

    lists = [event("early", 5, True), event("b", 15, True), event("deferred", 15, False), event("a", 16, True)]
    with store.transaction() as tx:
        tx.add_events([*lists, event("answered", 15, True), event("waiting", 25, True)])
        tx.append_on_events([feedback("answered")])
    assert store.overdue(counted=20, since=10, limit=10) == [("b", "m", "k", 15), ("a", "m", "k", 16)]
    assert store.overdue(counted=20, since=10, limit=1) == [("b", "m", "k", 15)]
    assert store.overdue(counted=16, since=15.5, limit=10) == [("a", "m", "k", 16)]
    with store.transaction() as tx:
        tx.activate("deferred", 118.0, 100.0)  # all but 18 s of it were in gaps
        tx.activate("a", 99.0, 0.0)  # shown already: its wait does not begin again
    assert [row[0] for row in store.overdue(counted=20, since=10, limit=10)] == ["b", "a", "deferred"]
    assert store.pending(14) == 4


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


def test_a_user_is_forgotten(store: Store) -> None:
    def event(name: str, model: str, user: str) -> Event:
        return replace(EVENT, id=name, model=model, owner=user if model == "m" else "", user=user, request_id=name)

    with store.transaction() as tx:
        tx.add_events([event("1", "m", "u"), event("2", "m", "v"), event("3", "shared", "u"), event("4", "m", "u")])
        tx.append_on_events([feedback("1", "u"), feedback("2", "v"), feedback("3", "", "{}", "shared")])
    seen = appended(store, 1)
    with store.transaction() as tx:
        assert tx.save([Checkpoint("m", "u", 4, b"u"), Checkpoint("m", "v", 4, b"v")], seen)
    with store.transaction() as tx:
        assert tx.forget("u", {"m": None, "none": None}) == (1, {"m": 2}, 1)
    assert [event.id for event, _ in store.events_with_feedback()] == ["2", "3"]
    third = store.event("3")
    assert third is not None
    assert (third.user, third.request_id, third.digest, third.features) == (None, None, None, EVENT.features)
    left, *others = store.tail(BEGINNING, 10)
    assert [entry.event_id for entry in others] == ["2", "3", None]
    assert (left.owner, left.event_id, left.mark) == ("", None, Mark(1, "token", 1.5))  # what is counted stays
    assert decode(left.kind, left.version, left.body) == FeedbackForgotten("policy", clicked=True, covered=3)
    assert [entry.kind for entry in store.decisions()] == ["reset"]
    assert store.checkpoints("m", ["u", "v"], START, END) == [None, Checkpoint("m", "v", 4, b"v")]


@pytest.mark.parametrize("first", ["answer", "forget"])
@pytest.mark.stress
def test_a_user_is_forgotten_whole_while_another_server_answers(
    place: str, store: Store, first: str, request: pytest.FixtureRequest
) -> None:
    """Whoever comes first, nothing of the user is left; and nobody waits for ever."""
    with store.transaction() as tx:
        tx.add_events(
            [replace(EVENT, id=f"e{n}", request_id=None, model="m", owner="anna", user="anna") for n in range(4)]
        )
    other = open_store(place)
    began, asks, result = threading.Event(), threading.Event(), []

    def forget() -> None:
        turn("forget")
        with other.transaction() as tx:
            tx.forget("anna", {"m": None})
            hold("forget")

    def answers() -> None:
        turn("answer")
        with store.transaction() as tx:
            result.append(tx.append_on_events([feedback(f"e{n}", owner="anna") for n in range(4)]))
            hold("answer")

    def turn(who: str) -> None:
        if who != first:
            assert began.wait(PATIENCE)
            asks.set()

    def hold(who: str) -> None:
        """Let the first one end only when the other one waits for it."""
        if who == first:
            began.set()
            assert asks.wait(PATIENCE)
            wait_for_blocked(place, request)

    with ThreadPoolExecutor(2) as threads:
        for job in [threads.submit(forget), threads.submit(answers)]:
            job.result(PATIENCE)
    other.close()
    assert result == [[first == "answer"] * 4]
    assert [(entry.kind, entry.owner) for entry in store.tail(BEGINNING, 10)] == [("forgotten", "")] * 4 * (
        first == "answer"
    )
    assert store.event("e0") is None


def wait_for_blocked(place: str, request: pytest.FixtureRequest) -> None:
    """Wait until somebody waits for a lock, where the database can say so; SQLite cannot."""
    if place.startswith("postgresql"):
        request.getfixturevalue("postgres").wait_for_blocked(place)


def test_answers_of_keys_between_two_places(store: Store) -> None:
    for i in range(6):
        with store.transaction() as tx:
            tx.add_events([replace(EVENT, id=f"e{i}", request_id=None, owner="ab"[i % 2])])
            tx.append_on_events([feedback(f"e{i}", "ab"[i % 2])])
    entries = store.tail(BEGINNING, 10)
    places = [entry.position for entry in entries]
    found = store.feedback("m", ["a", "b", "c"], [places[0], START, START], places[4], 10)
    assert store.feedback("m", ["a", "b"], [START, START], places[5], 1) == [[entries[0]], [entries[1]]]
    assert found == [[entries[2], entries[4]], [entries[1], entries[3]], []]
    assert all(entry.features == EVENT.features for of_key in found for entry in of_key)


def test_a_store_opened_again_has_everything(place: str, store: Store) -> None:
    with store.transaction() as tx:
        tx.add_events([EVENT])
        tx.append(reset(), "m", 0.5)
    again = open_store(place)
    try:
        assert again.event("e1") == EVENT
        assert again.tail(BEGINNING, 10) == store.tail(BEGINNING, 10)
        with again.transaction() as tx:
            tx.append(reset(), "m", 0.6)
    finally:
        again.close()
    assert [entry.at for entry in store.tail(BEGINNING, 10)] == [0.5, 0.6]


@pytest.mark.stress
@pytest.mark.usefixtures("patient")
def test_many_writers_and_readers_agree_on_one_order(place: str, store: Store) -> None:
    """Readers that tail while others write: nothing lost, nothing twice, the same order for all."""
    writers, each = 4, 15
    failed: list[BaseException] = []
    done = threading.Event()

    def guarded(what: Callable[[Store], None]) -> None:
        own = open_store(place)
        try:
            what(own)
        except BaseException as problem:
            failed.append(problem)
        finally:
            own.close()

    def write(own: Store, name: int) -> None:
        for i in range(each):
            with own.transaction() as tx:
                tx.append(reset(f"{i}"), f"{name}", 0.0)
                tx.append(reset(f"{i} again"), f"{name}", 0.0)

    seen: list[list[Entry]] = [[], []]

    def read(own: Store, into: list[Entry]) -> None:
        while True:
            last = done.is_set()
            while entries := own.tail(into[-1].mark if into else BEGINNING, 7):
                into.extend(entries)
            if last:
                return

    writing = [
        threading.Thread(target=guarded, args=(lambda own, n=n: write(own, n),))  # type: ignore[misc]
        for n in range(writers)
    ]
    reading = [
        threading.Thread(target=guarded, args=(lambda own, into=into: read(own, into),))  # type: ignore[misc]
        for into in seen
    ]
    for thread in [*reading, *writing]:
        thread.start()
    for thread in writing:
        thread.join()
    done.set()
    for thread in reading:
        thread.join()
    assert not failed
    assert seen[0] == seen[1] == store.tail(BEGINNING, 1000)
    assert len({entry.position for entry in seen[0]}) == len(seen[0]) == writers * each * 2
    for name in range(writers):
        bodies = [entry.body for entry in seen[0] if entry.model == f"{name}"]
        assert bodies == [text for i in range(each) for text in (f"{i}", f"{i} again")]


def test_what_was_rolled_back_is_never_seen(store: Store) -> None:
    with pytest.raises(KeyError), store.transaction() as tx:  # noqa: PT012
        tx.append(reset("gone"), "m", 0.0)
        raise KeyError
    with store.transaction() as tx:
        tx.append(reset("kept"), "m", 0.0)
    assert [entry.body for entry in store.tail(BEGINNING, 10)] == ["kept"]


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


@pytest.mark.stress
def test_the_writer_waits_for_others_who_are_alone(place: str, store: Store, request: pytest.FixtureRequest) -> None:
    other = open_store(place)
    order: list[str] = []
    asks = threading.Event()

    def second() -> None:
        asks.set()
        with other.transaction() as tx:
            tx.exclusive()
            order.append("second")

    try:
        with ThreadPoolExecutor(1) as threads:
            with store.transaction() as tx:
                tx.exclusive()
                job = threads.submit(second)
                assert asks.wait(PATIENCE)
                wait_for_blocked(place, request)
                tx.note("a", "1")
                order.append("first")
            job.result(PATIENCE)
        assert order == ["first", "second"]
    finally:
        other.close()


def test_errors_have_one_root() -> None:
    assert issubclass(StoreError, RankfallError)
    assert Transaction.__doc__
