"""Transactions that overlap: one order for all, nothing by halves, and who comes second waits."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace
from stored import EVENT, feedback, reset
from waiting import PATIENCE

from rankfall.stores import (
    BEGINNING,
    Entry,
    Store,
    open_store,
)

pytestmark = pytest.mark.usefixtures("no_timeouts")


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
