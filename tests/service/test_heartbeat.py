"""Silence means "no click" only if feedback could arrive, whatever happens to servers, stores and clocks."""

import logging
import time

import pytest
from engines import START, FakeClock, Quiet, arrays, batch, make_model, open_engine

from rankfall.errors import StoreError
from rankfall.service.clock import Clock, Moment
from rankfall.service.heartbeat import RETRY_TIME
from rankfall.service.http.metrics import Metrics
from rankfall.stores import Event, Store

LISTS = 100
SHORT = 5.0


@pytest.fixture
def engine(engine: Quiet) -> Quiet:
    make_model(engine, feedback_wait=SHORT)
    return engine


def click_on(engine: Quiet, shown: list[Event]) -> None:
    """Give clicks on all these lists, which are all in time, and learned as clicks."""
    assert {fed.result for fed in engine.feed_now(*((event.id, 1) for event in shown))} == {"accepted"}
    by_id = sorted(shown, key=lambda event: event.id)
    assert arrays(engine) == batch([(event.features, 0) for event in by_id])  # type: ignore[misc]


@pytest.mark.parametrize("first", ["feedback", "upkeep"])
def test_clicks_after_an_outage_are_learned_as_clicks(engine: Quiet, clock: FakeClock, first: str) -> None:
    """Whichever comes first when the store is back: what callers send again, or the look for waits that are over."""
    shown = [engine.rank_now() for _ in range(LISTS)]
    clock.now += 6.0  # nobody beat meanwhile
    if first == "upkeep":
        engine.run(engine.upkeep.run)
        assert engine.expire() == 0
    click_on(engine, shown)


def test_an_outage_in_which_the_store_fails(engine: Quiet, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = [engine.rank_now() for _ in range(LISTS)]

    def away(_store: Store) -> None:
        raise StoreError("made to fail")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "transaction", away)
        for _ in range(6):
            clock.now += 1.0
            with pytest.raises(StoreError):
                engine.run(engine.upkeep.run)
    engine.run(engine.upkeep.run)
    assert engine.expire() == 0
    click_on(engine, shown)


def test_a_server_that_was_down(place: str, engine: Quiet, clock: FakeClock) -> None:
    shown = [engine.rank_now() for _ in range(LISTS)]
    clock.now += 6.0
    again = open_engine(place, FakeClock(clock.now))
    try:
        again.run(again.upkeep.run)
        assert again.expire() == 0
        click_on(again, shown)
    finally:
        again.crash()


def test_only_a_running_server_warns_of_a_gap(
    place: str, engine: Quiet, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Commands and new stores would warn of nothing: they were not there before."""
    clock.now += 6.0
    with caplog.at_level(logging.INFO, "rankfall"):
        again = open_engine(place, FakeClock(clock.now))
        again.clock.now += 6.0  # type: ignore[attr-defined]
        again.run(again.upkeep.run)
        again.crash()
    told = [record for record in caplog.records if record.message.startswith("no feedback could arrive")]
    assert [(record.levelname, record.seconds) for record in told] == [("INFO", 11.0), ("WARNING", 11.0)]  # type: ignore[attr-defined]


def test_silence_after_an_outage_is_learned(engine: Quiet, clock: FakeClock) -> None:
    event = engine.rank_now()
    engine.pass_time(SHORT - 1)
    clock.now += 3600.0
    engine.run(engine.upkeep.run)
    engine.pass_time(RETRY_TIME)
    assert engine.expire() == 0
    engine.pass_time(2)
    assert engine.expire() == 1
    assert engine.feed_now((event.id, 1))[0].result == "late"


def test_a_server_that_hangs_beside_one_that_does_not_is_no_gap(place: str, engine: Quiet, clock: FakeClock) -> None:
    other = open_engine(place, FakeClock())
    try:
        event = engine.rank_now()
        for _ in range(7):
            other.clock.now += 1.0  # type: ignore[attr-defined]
            other.run(other.upkeep.run)
        assert other.feed_now((event.id, 1))[0].result == "late"
        clock.now += 7.0
        assert engine.feed_now((event.id, 1))[0].result == "late"
    finally:
        other.crash()


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_is_set_changes_no_wait(place: str, engine: Quiet, clock: FakeClock, jump: float) -> None:
    """Of the database, or of the machine of a SQLite file; a second server comes to the same."""
    other = open_engine(place, FakeClock())
    try:
        early, late = engine.rank_now(), engine.rank_now()
        for one in (engine, other):
            one.clock.now += jump  # type: ignore[attr-defined]
            one.run(one.upkeep.run)
            assert one.expire() == 0
        assert other.feed_now((early.id, 1))[0].result == "accepted"
        engine.pass_time(SHORT + RETRY_TIME + 1)
        assert engine.expire() == 1
        assert engine.store.feedback_on(late.id) is not None
    finally:
        other.crash()


def test_a_peer_whose_clock_is_fast_expires_nothing_early(place: str) -> None:
    engine = Quiet(place, Clock())  # type: ignore[arg-type]
    fast = open_engine(place, Clock(lambda: time.time() + 25.0))  # type: ignore[arg-type]
    try:
        make_model(engine, feedback_wait=20.0)
        event = engine.rank_now()
        fast.run(fast.upkeep.run)
        assert fast.expire() == 0
        assert fast.feed_now((event.id, 1))[0].result == "accepted"
        made = fast.rank_now()
        assert engine.feed_now((made.id, 1))[0].result == "accepted"
    finally:
        fast.crash()
        engine.stop()


def test_skew_is_shown(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "rankfall"):
        engine = open_engine(postgres_url, Clock(lambda: time.time() + 3600.0))  # type: ignore[arg-type]
        engine.run(engine.heartbeat.beat)
    try:
        told = [record for record in caplog.records if record.message.startswith("the clock of this machine differs")]
        assert len(told) == 1
        text = Metrics().text(engine).decode()
        (skew,) = [float(line.split()[1]) for line in text.splitlines() if line.startswith("rankfall_clock_skew_sec")]
        assert skew == pytest.approx(3600, abs=60)
        assert abs(engine.clock() - time.time()) < 60
    finally:
        engine.stop()


def test_until_when_feedback_counts(engine: Quiet, clock: FakeClock) -> None:
    event = engine.rank_now()
    assert clock.moment().end_of_wait(event) == event.expires == START + SHORT
    clock.now += 100.0
    engine.run(engine.upkeep.run)
    assert clock.moment().end_of_wait(event) == event.expires + 100 + RETRY_TIME
    assert Moment(clock.now + 60, clock.gaps).end_of_wait(event) == event.expires
