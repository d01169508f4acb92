"""What becomes of feedback, without a server."""

from pathlib import Path

import pytest
from engines import WAIT, FakeClock, make_model, open_engine

from rankfall.service.commands import GiveFeedback
from rankfall.wire import FeedbackRequest


class Compared(str):
    """Text that counts how often it is compared."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_many_clicks_cost_no_more_than_their_number(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    make_model(engine, k=8)
    shown = engine.rank_now()
    last = engine.model().catalog.ids[int(engine.view_now().policy.rank(8).items[-1])]
    clicks = [Compared(last) for _ in range(1000)]
    (result,) = engine.write(GiveFeedback((FeedbackRequest(shown.id, list(clicks)),)))
    assert (result.result, result.clicked) == ("accepted", True)
    assert Compared.times <= len(clicks)
    engine.stop()


@pytest.mark.parametrize("token", ["", "of this very call"])
def test_feedback_that_is_repeated_after_the_wait_is_no_late_one(place: str, token: str) -> None:
    """It was stored in time, and only its answer was lost: it counts, and whoever repeats it must hear so."""
    clock = FakeClock()
    engine = open_engine(place, clock)
    try:
        make_model(engine, feedback_wait=WAIT)
        heard, silent = engine.rank_now(), engine.rank_now()
        call = GiveFeedback((FeedbackRequest(heard.id, 1),))
        (first,) = engine.write(call)
        clock.now += WAIT + 1
        assert engine.expire() == 1
        again = call if token else GiveFeedback((FeedbackRequest(heard.id, 1),))
        (second, third) = (*engine.write(again), *engine.feed_now((silent.id, 1)))
        assert (first.result, second.result, third.result) == ("accepted", "accepted" if token else "duplicate", "late")
        assert engine.view_now().policy.n_updates == 2
    finally:
        engine.crash()
