"""What becomes of feedback, without a server."""

from pathlib import Path

from engines import make_model, open_engine

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
