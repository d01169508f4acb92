"""Lists, clicks and outcomes, as callers give them and as they are sent."""

import inspect
import json
from typing import Any

import pytest
from unreliable_service import KEY, Service

from rankfall.client import (
    Client,
    FeedbackResult,
    InvalidError,
    NotFoundError,
    RankResponse,
)
from rankfall.client.calls.ranking import RankArguments
from rankfall.wire import BatchedRankRequest

pytestmark = pytest.mark.stress


def test_a_list_and_its_feedback(client: Any, service: Service) -> None:
    ranked = client.rank(user="ann", k=2, explain=True, exclude=iter(["x"]))
    assert isinstance(ranked, RankResponse)
    assert ranked.ids == ("a", "b/ü")
    assert ranked.items[0].title == "A"
    assert ranked.items[0].coverage == {"t": 0.5}
    assert ranked.items[1].bonus is None
    assert ranked.expires_at is not None
    assert ranked.expires_at.utcoffset() is not None
    assert client.feedback(ranked, clicked="b/ü") == FeedbackResult(accepted=1)
    assert service.learned == {ranked.event_id: {"id": "b/ü"}}
    again = client.feedback(ranked.event_id, position=1)
    assert (again.duplicate, again.accepted, again.assumed, again.ok) == (1, 0, 0, False)
    assert again.problems[0].result == "duplicate"
    assert service.headers[0]["x-api-key"] == KEY
    assert json.loads(service.seen[0][2])["exclude"] == ["x"]


def test_every_call_has_its_own_request_id(client: Any, service: Service) -> None:
    assert client.rank().event_id != client.rank().event_id
    assert client.rank(request_id="r").event_id == client.rank(request_id="r").event_id


def test_the_client_takes_what_the_service_takes() -> None:
    assert set(RankArguments.__annotations__) == set(BatchedRankRequest.__struct_fields__)
    assert set(inspect.signature(Client.rank).parameters) - {"self"} == set(RankArguments.__annotations__)


def test_many_lists_at_once(client: Any, service: Service) -> None:
    first, second, third = client.rank_many([{"user": "ann"}, {"model": "nowhere"}, {"k": 1}])
    assert first.ids == ("a", "b/ü", "c")
    assert isinstance(second, NotFoundError)
    assert (second.code, second.status) == ("not_found", 404)
    assert third.ids == ("a",)
    assert client.rank_many([]) == []
    assert len(service.seen) == 1
    with pytest.raises(InvalidError, match="unknown: usr; there is: model, user"):
        client.rank_many([{"usr": "ann"}])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"clicked": "a"}, {"id": "a"}),
        ({"clicked": 7}, {"id": 7}),
        ({"clicked": [7, "a"]}, [{"id": 7}, {"id": "a"}]),
        ({"clicked": None}, None),
        ({"clicked": []}, []),
        ({"position": 2}, {"position": 2}),
        ({"position": (1, 3)}, [{"position": 1}, {"position": 3}]),
    ],
)
def test_clicks_are_sent_so_that_nothing_is_guessed(client: Any, service: Service, given: Any, sent: Any) -> None:
    client.feedback("event-0", **given)
    assert service.learned["event-0"] == sent


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"clicked": 1, "position": 1},
        {"position": None},
        {"position": "a"},
        {"clicked": True},
        {"clicked": {"id": 7}},
    ],
)
def test_clicks_that_make_no_sense_are_not_sent(client: Any, service: Service, given: Any) -> None:
    with pytest.raises(InvalidError):
        client.feedback("event-0", **given)
    assert service.seen == []


def test_a_fallback_list_can_be_used_like_any_other(client: Any, service: Service) -> None:
    service.fallback = True
    ranked = client.rank(baseline=["a"])
    assert ranked.event_id is None
    result = client.feedback(ranked, clicked="a")
    assert (result.unknown, result.problems[0].result) == (1, "unknown")
    assert client.activate(ranked) is None
    assert len(service.seen) == 1
    mixed = client.feedback_many(
        [
            {"event": ranked, "clicked": "a"},
            {"event": "event-1", "clicked": "a"},
            {"event": "gone", "position": 1},
        ]
    )
    assert (mixed.accepted, mixed.unknown) == (1, 2)
    assert [(problem.index, problem.event_id) for problem in mixed.problems] == [(0, None), (2, "gone")]


def test_one_id_is_not_a_list_of_letters(client: Any, service: Service) -> None:
    with pytest.raises(InvalidError, match="exclude is a list of ids, not 'tt1'"):
        client.rank(exclude="tt1")
    assert service.seen == []


def test_outcomes_are_sent_with_the_clicks_or_alone(client: Any, service: Service) -> None:
    ranked = client.rank(user="ann")
    assert client.feedback(ranked, clicked="a", outcomes=[{"position": 1, "type": "cart"}]).accepted == 2
    assert client.outcome(ranked, 7, "purchase", 2.5, outcome_id="order 7") == FeedbackResult(accepted=1)
    assert client.outcome(ranked.event_id, 7, "purchase", 2.5, outcome_id="order 7").duplicate == 1
    sent = [json.loads(body)["feedback"][0] for _, _, body in service.seen[1:3]]
    bought = {"id": 7, "type": "purchase", "value": 2.5, "outcome_id": "order 7"}
    assert sent == [
        {"event_id": "event-0", "clicked": {"id": "a"}, "outcomes": [{"position": 1, "type": "cart"}]},
        {"event_id": "event-0", "outcomes": [bought]},
    ]
    service.fallback = True
    nowhere = client.feedback(client.rank(user="ben"), clicked=None, outcomes=[bought])
    assert (nowhere.unknown, [one.outcome for one in nowhere.problems]) == (2, [None, 0])


def test_outcomes_that_cannot_be_sent(client: Any, service: Service) -> None:
    for outcomes, said in (
        ({"id": "a", "type": "cart"}, "outcomes are a list of them"),
        ([{"id": "a"}], "an outcome has a type, and an id or a position"),
        ([{"id": "a", "position": 1, "type": "cart"}], "an outcome has a type, and an id or a position"),
        ([{"id": "a", "kind": "cart"}], "unknown: kind; there is: id, position, type, value, outcome_id"),
        ([{"id": "a", "type": "cart", "value": float("nan")}], "cannot be sent as JSON"),
    ):
        with pytest.raises(InvalidError, match=said):
            client.feedback("event-0", outcomes=outcomes)
    assert service.seen == []
