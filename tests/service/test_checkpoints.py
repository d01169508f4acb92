"""The state is saved in slices between batches; each is small, and none holds up what callers want."""

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from engines import Quiet, arrays, make_model, open_engine
from waiting import PATIENCE, wait_until

from rankfall import Catalog
from rankfall.errors import StoreError
from rankfall.journal.catalogs import encode_catalog
from rankfall.service import owners, upkeep
from rankfall.service.checkpoints import Saver
from rankfall.service.commands import ForgetUser
from rankfall.service.owners import StateCopy
from rankfall.stores import Checkpoint, Mark, Store, Transaction

USERS = [f"user {n}" for n in range(7)]
Saved = list[list[Checkpoint]]


@pytest.fixture
def engine(place: str) -> Iterator[Quiet]:
    opened = open_engine(place)
    make_model(opened, "own", scope="user")
    for user in USERS:
        learn(opened, user)
    yield opened
    opened.crash()


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> Saved:
    """What was saved, transaction by transaction."""
    found: Saved = []
    save = Transaction.save

    def record(tx: Transaction, checkpoints: Any, seen: Mark) -> bool:
        found.append(list(checkpoints))
        return save(tx, found[-1], seen)

    monkeypatch.setattr(Transaction, "save", record)
    return found


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "SLICE", 600)  # two states of four columns have 688
    monkeypatch.setattr(upkeep, "SAVING_SHARE", 1.0)  # whenever there is nothing else to do


def learn(engine: Quiet, user: str) -> None:
    event = engine.rank_now("own", user=user)
    assert engine.feed_now((event.id, 1))[0].result == "accepted"


def states(engine: Quiet) -> dict[str, dict[str, bytes]]:
    return {user: arrays(engine, "own", user) for user in USERS}


def kept(engine: Quiet, user: str) -> Checkpoint | None:
    first = engine.model("own").history.epochs[0].position
    return engine.store.checkpoints("own", [user], first, engine.state.position)[0]


def names(saved: Saved) -> list[list[str]]:
    return [[one.owner for one in slice_] for slice_ in saved]


def save_some(engine: Quiet) -> None:
    """What the engine does of it between two batches, once the slice before is packed."""
    before = engine.upkeep._saver._slice
    if before is not None:
        before.packed.result(PATIENCE)
    engine.run(engine.upkeep.run)


def test_every_transaction_is_small(engine: Quiet, saved: Saved) -> None:
    """The states used last come first; what is not the state of an owner comes in the end."""
    learn(engine, USERS[3])
    engine.checkpoint()
    used_last = [USERS[3], *reversed([user for user in USERS if user != USERS[3]])]
    assert names(saved) == [used_last[:2], used_last[2:4], used_last[4:6], used_last[6:], ["engine"]]
    saved.clear()
    engine.checkpoint()
    assert names(saved) == [["engine"]]


def test_a_stop_saves_all_and_a_start_has_the_same_bits(place: str, saved: Saved) -> None:
    engine = open_engine(place)
    make_model(engine, "own", scope="user")
    for user in USERS:
        learn(engine, user)
    before = states(engine)
    engine.stop()
    assert [len(slice_) for slice_ in saved] == [2, 2, 2, 1, 1]
    again = open_engine(place)
    try:
        read = again.store.feedback
        found: list[int] = []

        def count(*wanted: Any) -> Any:
            pages = read(*wanted)
            found.append(sum(map(len, pages)))
            return pages

        again.store.feedback = count  # type: ignore[method-assign]
        assert states(again) == before
        assert set(found) == {0}  # all of it was in the checkpoints
    finally:
        again.crash()


@pytest.mark.stress
def test_callers_are_served_while_states_are_packed(
    place: str, engine: Quiet, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is learned meanwhile is not in the copies, and is still to be saved afterwards."""
    go_on, checkpoint = threading.Event(), StateCopy.checkpoint

    def held(copy: StateCopy) -> Checkpoint:
        assert go_on.wait(PATIENCE)
        return checkpoint(copy)

    monkeypatch.setattr(StateCopy, "checkpoint", held)
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 1)
    engine.run(engine.upkeep.run)
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 1_000)
    for _ in range(3):
        engine.run(engine.upkeep.run)  # does not wait
        learn(engine, USERS[-1])
    assert saved == []
    go_on.set()
    while engine.upkeep._saver.saving:
        before = len(saved)
        save_some(engine)
        assert names(saved)[before + 1 :] in ([], [["engine"]])  # a slice at a time
    assert [len(slice_) for slice_ in saved] == [2, 2, 2, 1, 1]
    assert engine.model("own").unsaved() == [USERS[-1]]
    last = states(engine)
    again = open_engine(place)
    try:
        assert states(again) == last
    finally:
        again.crash()


@pytest.mark.stress
def test_callers_are_served_while_the_catalog_is_packed(
    place: str, engine: Quiet, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens meanwhile is not in what is saved, and a start folds it again."""
    begun, go_on = threading.Event(), threading.Event()

    def held(catalog: Catalog) -> bytes:
        begun.set()
        assert go_on.wait(PATIENCE)
        return encode_catalog(catalog)

    monkeypatch.setattr("rankfall.journal.fold.encode_catalog", held)
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 1)
    engine.run(engine.upkeep.run)
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 1_000)
    wait_until(lambda: engine.run(engine.upkeep.run) or begun.is_set())
    position = engine.state.position
    learn(engine, USERS[0])
    engine.put("i0", {"x": 0.9}, [0.1, 0.2])
    engine.run(engine.upkeep.run)  # does not wait
    go_on.set()
    while engine.upkeep._saver.saving:
        save_some(engine)
    assert [(one.owner, one.position) for one in saved[-1]] == [("engine", position)]
    again = open_engine(place)
    try:
        assert again.state.mark == engine.state.mark
        assert again.catalog == engine.catalog
        assert again.model("own").history.counts.plain() == engine.model("own").history.counts.plain()
        assert states(again) == states(engine)
    finally:
        again.crash()


def test_callers_have_the_writer_most_of_the_time(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a slice that took 10 ms nothing is saved for 90 ms."""
    now, steps, step = [time.monotonic()], [], Saver.step

    def slow(saver: Saver, **options: Any) -> None:
        step(saver, **options)
        steps.append(now[0])
        now[0] += 0.010

    monkeypatch.setattr(Saver, "step", slow)
    monkeypatch.setattr(upkeep, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(upkeep, "SAVING_SHARE", 0.1)
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 1)
    engine.run(engine.upkeep.run)
    assert len(steps) == 1
    for passed, expected in ((0.0, 1), (0.080, 1), (0.011, 2), (0.080, 2)):
        now[0] += passed
        engine.run(engine.upkeep.run)
        assert len(steps) == expected


def test_a_user_who_is_forgotten_while_states_are_packed(
    engine: Quiet, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 1)
    engine.run(engine.upkeep.run)  # the first copies are made
    assert USERS[-1] in {copy.owner for copy in engine.upkeep._saver._slice.copies}  # type: ignore[union-attr]
    engine.write(ForgetUser(USERS[-1]))
    engine.checkpoint()
    assert USERS[-1] in names(saved)[0]  # it was tried
    assert kept(engine, USERS[-1]) is None
    assert kept(engine, USERS[0]) is not None


def test_a_store_that_fails_in_the_middle(engine: Quiet, saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 1)
    engine.run(engine.upkeep.run)
    save_some(engine)
    assert len(saved) == 1

    def away(_store: Store) -> None:
        raise StoreError("made to fail")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "transaction", away)
        with pytest.raises(StoreError):
            save_some(engine)
    assert not engine.upkeep._saver.saving
    engine.checkpoint()
    assert sorted(owner for part in names(saved) for owner in part) == sorted([*USERS, "engine"])


def test_states_that_leave_memory_are_saved_in_slices(place: str, saved: Saved) -> None:
    engine = open_engine(place, room=5)
    try:
        make_model(engine, "own", scope="user")
        for _ in range(10):
            for user in USERS[:5]:
                learn(engine, user)
        engine.run(lambda: engine.state.load("own", ["a", "b", "c", "d", "e"]))
        assert [len(slice_) for slice_ in saved] == [2, 2, 1]
    finally:
        engine.crash()


def test_a_snapshot_saves_one_state_at_most(engine: Quiet, saved: Saved) -> None:
    from rankfall.service.commands import TakeSnapshot

    engine.write(TakeSnapshot("own"))
    assert saved == []
    make_model(engine, "all")
    event = engine.rank_now("all")
    engine.feed_now((event.id, 1))
    engine.write(TakeSnapshot("all"))
    assert names(saved) == [[""]]
    wait_until(lambda: engine.store.snapshots("all"))
