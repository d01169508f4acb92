"""Servers of two versions on one store: entries from the future stop learning, visibly, and nothing else."""

import logging
import math
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx
import pytest
from engines import WAIT, FakeClock, Quiet, arrays, batch, make_model, open_engine
from engines import small_catalog as few_items
from postgres import Cluster
from served import FEED, PATCH, RANK, Served, problem
from waiting import wait_until

from rankfall.errors import JournalError, StoreError, UnavailableError
from rankfall.history.export import export
from rankfall.journal.entries import Encoded
from rankfall.service.commands import (
    Activate,
    ChangeSettings,
    CreateModel,
    ForgetUser,
    GiveFeedback,
    PutItems,
    Reset,
    StoreEvent,
    TakeSnapshot,
)
from rankfall.service.owners import OwnerState
from rankfall.service.setup import prepare
from rankfall.service.writer import Job
from rankfall.stores import Event, open_store
from rankfall.stores.store import Store
from rankfall.wire import FeedbackRequest, ModelSettings, RankRequest

FUTURE = {
    "a field": Encoded("settings", 1, '{"gamma": 3.0, "patience": 2}', None),
    "a version": Encoded("settings", 9, '{"gamma": 3.0}', None),
    "a kind": Encoded("merge", 1, "{}", None),
    "a policy": Encoded("settings", 1, '{"policy": "CascadeTomorrow"}', None),
    "a value": Encoded("settings", 1, '{"mode": "dreaming"}', None),
}
future = pytest.mark.parametrize("entry", FUTURE.values(), ids=list(FUTURE))


def append(place: str, entry: Encoded, model: str = "default") -> None:
    """As a server of a newer version would."""
    store = open_store(place)
    with store.transaction() as tx:
        tx.append(entry, model, 1.0)
    store.close()


def delete(place: str, kinds: tuple[str, ...] = ("merge", "settings")) -> None:
    """What an upgrade does to an entry from the future, as far as this version is concerned: it can be passed by."""
    store = open_store(place)
    with store.transaction() as tx:
        for kind in kinds:
            tx.run("DELETE FROM journal WHERE kind = ?", (kind,))
    store.close()


@pytest.fixture
def engine(engine: Quiet) -> Quiet:
    make_model(engine, feedback_wait=WAIT)
    return engine


def learned_from(events: list[Event], clicks: list[int]) -> dict[str, bytes]:
    return batch([(event.features or b"", click) for event, click in zip(events, clicks, strict=True)])


@future
def test_learning_stops_before_an_entry_from_the_future(
    place: str, engine: Quiet, entry: Encoded, caplog: pytest.LogCaptureFixture
) -> None:
    early = engine.rank_now()
    assert engine.feed_now((early.id, 1))[0].result == "accepted"
    append(place, entry)
    with caplog.at_level(logging.ERROR, "rankfall.service"):
        for _ in range(3):
            engine.fold()
    assert [record.message for record in caplog.records] == [
        "learning has stopped; this server ranks with what it knows"
    ]
    stopped = engine.state.stopped
    assert stopped is not None
    assert "was written by a newer version" in stopped.reason
    assert arrays(engine) == learned_from([early], [0])
    assert engine.rank_now().arm == "policy"  # it goes on answering


@future
def test_nothing_is_lost_and_an_upgrade_goes_on(place: str, engine: Quiet, entry: Encoded) -> None:
    events = [engine.rank_now()]
    append(place, entry)
    events += [engine.rank_now() for _ in range(3)]
    deferred = engine.rank_now(defer_activation=True)
    assert engine.write(Activate(deferred.id)) > 0
    for event in events:
        assert engine.feed_now((event.id, 2))[0].result == "accepted"  # it is stored for good
        assert engine.feed_now((event.id, 2))[0].result == "duplicate"
    assert engine.state.stopped is not None
    assert arrays(engine) == batch([])
    engine.pass_time(WAIT + 1)
    engine.run(engine.upkeep.run)
    assert engine.store.feedback_on(deferred.id) is None  # what it would decide itself waits for the upgrade
    delete(place)
    upgraded = open_engine(place, engine.clock)  # type: ignore[arg-type]
    try:
        assert arrays(upgraded) == learned_from(events, [1] * 4)
        assert upgraded.expire() == 1
    finally:
        upgraded.crash()


def test_decisions_wait_for_the_upgrade(place: str, engine: Quiet) -> None:
    append(place, FUTURE["a kind"])
    engine.fold()
    before = len(engine.store.decisions())
    for command in (
        ChangeSettings("default", {"gamma": 2.0}),
        CreateModel("other", ModelSettings()),
        Reset("default"),
        PutItems(None, ("i1",)),
        TakeSnapshot("default"),
        ForgetUser("anna"),
    ):
        with pytest.raises(UnavailableError, match=r"cannot decide: .* newer version.*; upgrade this server"):
            engine.write(command)
    assert len(engine.store.decisions()) == before


@future
def test_a_restart_in_that_state(place: str, engine: Quiet, entry: Encoded) -> None:
    first = engine.rank_now()
    engine.feed_now((first.id, 1))
    append(place, entry)
    second = engine.rank_now()
    assert engine.feed_now((second.id, 3))[0].result == "accepted"
    lines = prepare(place, few_items, {})
    assert lines[0].startswith("Learning has stopped: ")
    again = open_engine(place)
    try:
        assert again.state.stopped == engine.state.stopped
        assert arrays(again) == learned_from([first], [0])
        assert again.rank_now().arm == "policy"
    finally:
        again.stop()
    delete(place)
    upgraded = open_engine(place)
    try:
        assert arrays(upgraded) == learned_from([first, second], [0, 2])
    finally:
        upgraded.crash()


def test_a_store_that_begins_in_the_future_cannot_be_served(place: str) -> None:
    append(place, Encoded("catalog", 7, "{}", None), "")
    with pytest.raises(Exception, match="cannot be served: entry 1 was written by a newer version"):
        prepare(place, few_items, {})


@pytest.mark.parametrize("checkpoint", ["engine", "owner"])
def test_checkpoints_of_a_newer_version_are_passed_by(place: str, engine: Quiet, checkpoint: str) -> None:
    """The newer server folds on and saves; the older one must neither die of it nor take it for its own state."""
    first = engine.rank_now()
    engine.feed_now((first.id, 1))
    engine.checkpoint()
    if checkpoint == "engine":
        from rankfall.array_container import pack

        newer = pack({"version": 99, "everything": "else"}, {})
        model, owner = "", "engine"
    else:
        newer, model, owner = b"RANKFALL of another kind", "default", ""
    store = open_store(place)
    with store.transaction() as tx:
        sql = "UPDATE checkpoints SET state = ? WHERE model = ? AND owner = ?"
        tx.run(sql, (newer, model, owner))
    store.close()
    again = open_engine(place)
    try:
        assert arrays(again) == learned_from([first], [0])
    finally:
        again.crash()


def test_a_checkpoint_beyond_an_entry_from_the_future_is_passed_by(
    place: str, engine: Quiet, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer server has folded the entry and saved: whoever starts from there would never see what stops it."""
    from rankfall.journal import entries

    event = engine.rank_now()
    engine.feed_now((event.id, 1))
    with monkeypatch.context() as patched:
        patched.setitem(entries.KINDS, "merge", entries.KINDS["forget"])  # type: ignore[arg-type]
        patched.setitem(entries._DECODER, "merge", entries._DECODER["forget"])
        newer = open_engine(place, clock)
        append(place, Encoded("merge", 1, '{"salt": "s", "digest": "d"}', None), "")
        newer.fold()
        assert newer.state.stopped is None
        newer.checkpoint()
        newer.crash()
    again = open_engine(place, clock)
    try:
        assert again.state.stopped is not None
        assert "'merge'" in again.state.stopped.reason
        assert arrays(again) == learned_from([event], [0])
    finally:
        again.crash()


def test_two_versions_side_by_side(
    place: str, engine: Quiet, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer version knows one more field. It learns on; the older one stops, and is right again once upgraded."""
    from rankfall.journal import entries, fold

    newer = open_engine(place, clock)
    known = entries.KINDS["settings"]
    try:
        event = engine.rank_now()
        with monkeypatch.context() as patched:  # only while the newer server works: it reads version 2 of settings
            kinds = {**entries.KINDS, "settings": entries._Kind(known.record, (_without_patience,))}
            patched.setattr(entries, "KINDS", kinds)
            append(place, Encoded("settings", 1, '{"gamma": 2.0, "patience": 2}', None))
            newer.fold()
            assert newer.feed_now((event.id, 1))[0].result == "accepted"
            assert newer.model().settings.gamma == 2.0
            assert newer.state.stopped is None
            assert arrays(newer) == learned_from([event], [0])
        assert fold.decode is entries.decode
        engine.fold()
        assert engine.state.stopped is not None
        other = engine.rank_now()
        assert engine.feed_now((other.id, 2))[0].result == "accepted"
        with monkeypatch.context() as patched:
            patched.setattr(entries, "KINDS", kinds)
            newer.fold()
            upgraded = open_engine(place, clock)
        assert arrays(upgraded) == arrays(newer) == learned_from([event, other], [0, 1])
        upgraded.crash()
    finally:
        newer.crash()


def _without_patience(body: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in body.items() if name != "patience"}


def test_an_export_says_that_it_must_be_upgraded(place: str, engine: Quiet, tmp_path: Path) -> None:
    append(place, FUTURE["a version"])
    with pytest.raises(JournalError, match="has version 9; this version reads up to 1"):
        export(engine.store, tmp_path)


# What is durable is never told as an error


def test_what_was_stored_is_not_told_as_an_error(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake while learning comes after the commit: all 40 lists and their feedback were stored, and say so."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("made to fail")

    monkeypatch.setattr(OwnerState, "learn", fail)
    engine.view_now()
    events = [engine.rank_now() for _ in range(40)]
    assert [one.result for event in events for one in engine.feed_now((event.id, 1))] == ["accepted"] * 40
    stopped = engine.state.stopped
    assert stopped is not None
    assert "ZeroDivisionError" in stopped.reason
    assert all(engine.store.feedback_on(event.id) is not None for event in events)
    monkeypatch.undo()
    again = open_engine(str(engine.place))
    try:
        assert arrays(again) == learned_from(events, [0] * 40)
    finally:
        again.crash()


def test_lists_in_one_batch_with_feedback_that_fails_to_be_learned(
    engine: Quiet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists are given before the fold; its failure must not reach them, nor the feedback beside them."""
    view, early = engine.view_now(), engine.rank_now()
    made = [engine.make(engine.model(), view, RankRequest()) for _ in range(40)]
    commands = [*map(StoreEvent, made), GiveFeedback((FeedbackRequest(early.id, 1),))]
    jobs: list[Job[Any]] = [Job(command, Future(), math.inf) for command in commands]

    def fail(*_: object) -> None:
        raise ZeroDivisionError("made to fail")

    monkeypatch.setattr(OwnerState, "learn", fail)
    engine.run(lambda: engine.writer._carry_out(jobs))
    *lists, feedback = [job.future.result() for job in jobs]
    assert lists == made
    assert [one.result for one in feedback] == ["accepted"]
    assert engine.state.stopped is not None
    assert engine.store.ranked("default") == 41


def test_a_store_that_cannot_be_read_after_the_commit(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    event = engine.rank_now()

    def away(*_: object) -> None:
        raise StoreError("made to fail")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "tail", away)
        assert engine.feed_now((event.id, 1))[0].result == "accepted"
        assert engine.rank_now().arm == "policy"
    engine.fold()
    assert arrays(engine) == learned_from([event], [0])


@pytest.mark.stress
def test_a_commit_that_fails_stores_nothing_and_says_so(
    postgres: Cluster, postgres_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankfall.service.writer.PATIENCE", 0.0)
    engine = open_engine(postgres_url, clock)
    try:
        make_model(engine)
        engine.rank_now()
        postgres.stop("immediate")
        with pytest.raises(StoreError):
            engine.rank_now()
        postgres.start()
        assert engine.rank_now().arm == "policy"
        assert engine.store.ranked("default") == 2
    finally:
        if not postgres.running:
            postgres.start()
        engine.stop()


@pytest.mark.stress
def test_a_server_says_that_it_has_stopped_and_serves_on(tmp_path: Path, small_catalog: Path) -> None:
    """Over HTTP, in a process of its own, and once more after a restart."""
    data = tmp_path / "data"
    with Served(log=tmp_path / "log", data=data, catalog=small_catalog) as served:
        event = served.client.post(RANK, json={"k": 3}).json()
        append(str(data), FUTURE["a kind"])
        check_stopped(served)
        given = served.client.post(FEED, json={"event_id": event["event_id"], "clicked": 1})
        assert (given.status_code, given.json()["accepted"]) == (200, 1)
        refused = served.client.patch(PATCH, json={"gamma": 2.0})
        assert "upgrade this server" in problem(refused, 503, "unavailable")
        served.kill()
        served.spawn()
        wait_until(lambda: answers(served))
        check_stopped(served)
        assert served.client.get(f"/v1/events/{event['event_id']}").json()["feedback"]["clicked"] == [1]
        assert served.said(1_000).count("learning has stopped; this server ranks") == 3  # once at each start, and live


def check_stopped(served: Served) -> None:
    ready = wait_until(lambda: (found := served.client.get("/health/ready")).status_code == 503 and found)
    assert isinstance(ready, httpx.Response)
    assert ready.json()["reason"].startswith("learning has stopped: entry 3 was written by a newer version")
    assert "rankfall_learning_stopped 1.0" in served.client.get("/metrics").text
    assert served.client.post(RANK, json={"k": 3}).json()["arm"] == "policy"
    assert served.client.get(PATCH).json()["learned"] == 0


def answers(served: Served) -> bool:
    try:
        return served.client.get("/health/live").status_code == 200
    except httpx.TransportError:
        return False
