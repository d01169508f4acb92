"""What the writer does between batches is done a little at a time."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from engines import WAIT, Quiet, make_model, open_engine
from waiting import PATIENCE

from rankfall.service import upkeep
from rankfall.service.http.metrics import Metrics
from rankfall.stores import Transaction


@pytest.fixture
def engine(place: str) -> Iterator[Quiet]:
    opened = open_engine(place)
    make_model(opened, feedback_wait=WAIT)
    yield opened
    opened.stop()


def test_lists_that_expire_together_are_closed_a_page_at_a_time(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feedback on lists that still wait is taken in between."""
    monkeypatch.setattr(upkeep, "PAGE", 3)
    monkeypatch.setattr(upkeep, "EXPIRE_EVERY", 0.0)
    pages: list[int] = []
    append = Transaction.append_on_events

    def record(tx: Transaction, entries: Any) -> list[bool]:
        pages.append(len(entries))
        return append(tx, entries)

    silent = [engine.rank_now() for _ in range(8)]
    engine.pass_time(WAIT / 2)
    waiting = [engine.rank_now() for _ in range(2)]
    engine.pass_time(WAIT / 2 + 1)
    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "append_on_events", record)
        assert engine.run(engine.upkeep.run) is True
        assert engine.feed_now((waiting[0].id, 1))[0].result == "accepted"
        assert engine.run(engine.upkeep.run) is True
        assert engine.feed_now((waiting[1].id, 1))[0].result == "accepted"
        assert engine.run(engine.upkeep.run) is False
        assert engine.run(engine.upkeep.run) is False
    assert pages == [3, 1, 3, 1, 2]
    assert all(engine.store.feedback_on(event.id).kind == "expired" for event in silent)  # type: ignore[union-attr]


def test_a_page_begins_where_the_one_before_ended(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each page would look through all that were closed before it."""
    monkeypatch.setattr(upkeep, "PAGE", 3)
    events = []
    for _ in range(8):
        engine.pass_time(1)
        events.append(engine.rank_now())
    engine.pass_time(WAIT + 1)
    since: list[float] = []
    overdue = engine.store.overdue

    def record(counted: float, begin: float, limit: int) -> Any:
        since.append(begin)
        return overdue(counted, begin, limit)

    monkeypatch.setattr(engine.store, "overdue", record)
    assert engine.expire() == 8
    assert since[1:] == [events[2].counted_expires, events[5].counted_expires]


@pytest.mark.stress
def test_whoever_looks_at_the_store_keeps_nobody_waiting(engine: Quiet) -> None:
    """A count of many lists is under way, for the metrics, and takes as long as it likes."""
    counting, go_on = threading.Event(), threading.Event()
    event = engine.rank_now()
    engine.reader.pending(0.0)
    reading = engine.reader._reader
    assert reading is not None
    run = reading.run

    def slow(*statement: Any) -> Any:
        counting.set()
        assert go_on.wait(PATIENCE)
        return run(*statement)

    reading.run = slow  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as threads:
        text = threads.submit(Metrics().text, engine)
        try:
            assert counting.wait(PATIENCE)
            assert engine.feed_now((event.id, 1))[0].result == "accepted"
            assert engine.rank_now().arm == "policy"
        finally:
            go_on.set()
        assert b"rankfall_pending_events 1.0" in text.result(PATIENCE)


def test_lists_that_wait_are_not_counted_each_time(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[float] = []
    monkeypatch.setattr("rankfall.service.pending.SHARE", 1e-12)
    monkeypatch.setattr(engine.reader, "pending", lambda now: counted.append(now) or 7)
    for _ in range(3):
        assert b"rankfall_pending_events 7.0" in Metrics().text(engine)
    assert len(counted) == 1
