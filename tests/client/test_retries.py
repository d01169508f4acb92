"""What the clients send again, and what they do not, when the service or the way to it fails."""

from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unreliable_service import Connect, Service, address, bound, serving

from rankfall.client import (
    Client,
    FeedbackResult,
    NotFoundError,
    ServiceError,
    UnavailableError,
)
from rankfall.client.attempts import Attempts, RetryLimits
from rankfall.client.call import Call
from rankfall.wire import ItemDeleted

pytestmark = pytest.mark.stress


@pytest.mark.parametrize("trouble", ["lost", "dropped", "cut", "busy", "many", "gateway", "slow"])
def test_a_retry_gets_the_same_list(connect: Connect, service: Service, trouble: str) -> None:
    service.trouble.append(trouble)
    ranked = connect().rank(user="ann")
    assert ranked.event_id == "event-0"
    assert len(service.answers) == 1
    assert len(service.seen) == 2
    assert service.seen[0] == service.seen[1]


@pytest.mark.parametrize("trouble", ["lost", "gateway", "slow"])
def test_our_own_duplicate_is_accepted_and_says_so(connect: Connect, service: Service, trouble: str) -> None:
    service.trouble.append(trouble)
    result = connect().feedback("event-0", clicked="a")
    assert result == FeedbackResult(accepted=1, assumed=1)
    assert result.ok


@pytest.mark.parametrize("trouble", ["busy", "many"])
def test_a_duplicate_is_not_ours_if_the_first_attempt_was_turned_away(
    client: Any, service: Service, trouble: str
) -> None:
    service.learned["event-0"] = None
    service.trouble.append(trouble)
    assert client.feedback("event-0", clicked="a").duplicate == 1


def test_a_dropped_attempt_that_did_nothing_is_simply_accepted(client: Any, service: Service) -> None:
    service.trouble.append("dropped")
    assert client.feedback("event-0", clicked="a") == FeedbackResult(accepted=1)


def test_what_the_caller_gave_twice_stays_a_duplicate(client: Any, service: Service) -> None:
    service.trouble.append("lost")
    twice = [{"event": "event-0", "clicked": "a"}, {"event": "event-0", "clicked": "b"}]
    result = client.feedback_many(twice)
    assert (result.accepted, result.assumed, result.duplicate) == (1, 1, 1)
    assert [problem.index for problem in result.problems] == [1]


def test_own_duplicates_of_outcomes_are_accepted(client: Any, service: Service) -> None:
    service.trouble.append("lost")
    cart, more = {"id": "a", "type": "cart"}, {"id": "a", "type": "cart", "outcome_id": "second"}
    result = client.feedback("event-0", clicked="a", outcomes=[cart, more, cart])
    assert (result.accepted, result.assumed, result.duplicate) == (3, 3, 1)
    assert [(one.index, one.outcome) for one in result.problems] == [(0, 2)]


def test_an_item_deleted_by_a_lost_attempt_is_deleted(client: Any, service: Service) -> None:
    client.put_item("x", coverage={}, relevance=[])
    service.trouble.append("lost")
    assert client.delete_item("x") == ItemDeleted("x", None)
    with pytest.raises(NotFoundError, match="no item 'x'"):
        client.delete_item("x")


@pytest.mark.parametrize("trouble", ["lost", "dropped", "busy", "gateway", "slow"])
@pytest.mark.parametrize("name", ["make_snapshot", "reset_model", "restore_snapshot"])
def test_what_must_not_happen_twice_is_not_repeated(
    connect: Connect, service: Service, name: str, trouble: str
) -> None:
    service.trouble.append(trouble)
    client = connect()
    with pytest.raises(UnavailableError):
        getattr(client, name)(*["default", "s1"][: 1 + (name == "restore_snapshot")])
    assert len(service.seen) == 1


def test_a_response_is_not_waited_for_longer_than_the_timeout(service: Service, running: tuple[Service, str]) -> None:
    service.trouble.append("slow")
    with Client(running[1], timeout=0.2, retries=0) as client, pytest.raises(UnavailableError, match="in 1 attempt"):
        client.rank()


def test_what_never_left_is_sent_again(connect: Connect, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with bound() as sock, ExitStack() as stack:

        def start(low: float, high: float) -> float:  # called when the client decides to try again
            stack.enter_context(serving(service, sock))
            return 0.0

        monkeypatch.setattr("rankfall.client.attempts.uniform", start)
        assert connect(address(sock)).make_snapshot().id == "s1"
        assert service.snapshots == ["default"]


def test_nobody_there(connect: Connect, hurried: list[float]) -> None:
    with bound() as sock:
        client = connect(address(sock), retries=5)
        assert client.ready() is False
        assert hurried == []
        with pytest.raises(UnavailableError, match="was not answered in 6 attempts") as caught:
            client.rank()
        assert (caught.value.code, caught.value.status) == ("unavailable", None)
        assert "carried out" not in str(caught.value)
        assert hurried == [0.1, 0.2, 0.4, 0.8, 1.6]


def test_a_lost_answer_leaves_doubt_and_the_error_says_so(connect: Connect, service: Service) -> None:
    service.trouble.append("lost")
    with pytest.raises(UnavailableError, match=r"in 1 attempt: .*; it may have been carried out"):
        connect(retries=0).rank()


def test_attempts_end(client: Any, service: Service) -> None:
    service.trouble.extend(["busy", "lost", "gateway", "many", "busy"])
    with pytest.raises(UnavailableError, match="slower"):
        client.rank()
    assert len(service.seen) == 4


def test_a_wait_beyond_the_deadline_is_not_begun(client: Any, service: Service) -> None:
    service.trouble.append("away")
    with pytest.raises(UnavailableError, match="back in an hour"):
        client.rank()
    assert len(service.seen) == 1


@pytest.mark.parametrize("trouble", ["busy", "many", "gateway", "dropped"])
def test_not_ready(client: Any, service: Service, trouble: str) -> None:
    assert client.ready() is True
    service.trouble.append(trouble)
    assert client.ready() is False
    assert len(service.seen) == 2


def response(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_the_service_says_how_long_to_wait() -> None:
    exchange = Attempts(Call("GET", "/", bytes), "http://x", RetryLimits())
    exchange.request()
    exchange.take(response(503, retry_after="7"))
    assert exchange.pause == 7.0


OUTCOMES = [
    200,
    400,
    408,
    429,
    502,
    503,
    504,
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("late"),
    httpx.ReadError(""),
]


@given(st.lists(st.sampled_from(OUTCOMES), min_size=10, max_size=10), st.integers(0, 5), st.booleans())
def test_attempts_are_bounded_and_safe(outcomes: list[Any], retries: int, repeatable: bool) -> None:
    call = Call("POST", "/", lambda reply: reply, repeatable=repeatable)
    exchange = Attempts(call, "http://x", RetryLimits(retries=retries))
    tried = []
    try:
        for outcome in outcomes:
            if exchange.over:
                break
            tried.append(outcome)
            exchange.request()
            if isinstance(outcome, int):
                exchange.take(response(outcome))
            else:
                exchange.lost(outcome)
    except ServiceError:
        assert tried[-1] != 200
    else:
        reached = [outcome for outcome in tried[:-1] if outcome in (502, 504) or not isinstance(outcome, int)]
        in_doubt = any(not isinstance(outcome, httpx.ConnectError) for outcome in reached)
        assert exchange.result().repeated == in_doubt
    assert len(tried) <= retries + 1
    assert not {200, 400} & {outcome for outcome in tried[:-1] if isinstance(outcome, int)}
    if not repeatable:
        assert all(isinstance(outcome, httpx.ConnectError) for outcome in tried[:-1])
