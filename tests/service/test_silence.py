"""Lists that nobody answers: when silence is learned as no click, and when it is not."""

import pytest
from engines import START, WAIT, FakeClock, Quiet, answer, arrays, batch, make_model, open_engine

from rankfall.errors import ConflictError, NotFoundError
from rankfall.service.commands import (
    Activate,
)
from rankfall.service.heartbeat import RETRY_TIME


def test_silence_on_a_shown_list_is_learned_once(engine: Quiet) -> None:
    make_model(engine, feedback_wait=WAIT)
    shown, deferred = engine.rank_now(), engine.rank_now(defer_activation=True)
    engine.pass_time(WAIT - 1)
    assert engine.expire() == 0
    engine.pass_time(2)
    assert engine.expire() == 1
    assert engine.expire() == 0
    assert answer(engine, shown, 1) == "late"
    assert answer(engine, deferred, 1) == "late"
    engine.pass_time(1000 * WAIT)
    assert engine.expire() == 0
    assert shown.features is not None
    assert arrays(engine) == batch([(shown.features, None)])
    assert engine.model("default").history.counts.counts == {"policy": [1, 0, 1]}


def test_the_wait_begins_when_a_deferred_list_is_shown(engine: Quiet, clock: FakeClock) -> None:
    make_model(engine, feedback_wait=WAIT)
    event, never = engine.rank_now(defer_activation=True), engine.rank_now(defer_activation=True)
    engine.pass_time(WAIT / 2)
    expires = engine.write(Activate(event.id))
    assert expires == clock.now + WAIT
    engine.pass_time(WAIT / 4)
    assert engine.write(Activate(event.id)) == expires
    engine.pass_time(START + WAIT + 1 - clock.now)
    assert engine.expire() == 0
    with pytest.raises(ConflictError, match="expired"):
        engine.write(Activate(never.id))
    with pytest.raises(NotFoundError):
        engine.write(Activate("nothing"))
    with pytest.raises(NotFoundError):
        engine.write(Activate(event.id, frozenset()))
    engine.pass_time(expires - clock.now)
    assert engine.expire() == 1


def test_silence_is_learned_after_the_clock_was_set_back(place: str) -> None:
    """A machine that starts with a clock a year ahead must not make the service deaf for a year."""
    ahead = open_engine(place, FakeClock(START + 365 * 86_400))
    make_model(ahead, feedback_wait=WAIT)
    early = ahead.rank_now()
    ahead.pass_time(WAIT + 1)
    assert ahead.expire() == 1
    waiting = ahead.rank_now()
    ahead.stop()
    clock = FakeClock(START)
    engine = open_engine(place, clock)
    try:
        event = engine.rank_now()
        assert answer(engine, waiting, 2) == "accepted"
        engine.pass_time(WAIT + 1)
        assert engine.expire() == 1
        assert answer(engine, event, 1) == "late"
        lists = [(early.features, None), (waiting.features, 1), (event.features, None)]
        assert arrays(engine) == batch(lists)  # type: ignore[arg-type]
    finally:
        engine.stop()


def test_the_wait_goes_on_after_the_service_was_down(place: str, clock: FakeClock) -> None:
    engine = open_engine(place, clock)
    make_model(engine, feedback_wait=WAIT)
    event = engine.rank_now()
    engine.crash()
    again = open_engine(place, FakeClock(START + 30 * 86_400))
    try:
        assert again.expire() == 0
        again.pass_time(WAIT + RETRY_TIME + 1)
        assert again.expire() == 1
        assert event.features is not None
        assert arrays(again) == batch([(event.features, None)])
    finally:
        again.stop()


def test_more_silence_than_a_page(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.service.upkeep.PAGE", 3)
    make_model(engine, feedback_wait=WAIT)
    for _ in range(8):
        engine.rank_now()
    engine.pass_time(WAIT + 1)
    assert engine.expire() == 8
    assert engine.view_now().policy.n_updates == 8
