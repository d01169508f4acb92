"""Both clients against a real server that behaves badly on request."""

import asyncio
import inspect
import json
import logging
import pickle
import re
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from waiting import PATIENCE, wait_until

from rankfall.client import (
    AsyncClient,
    Client,
    ConflictError,
    FeedbackResult,
    InvalidError,
    NotFoundError,
    RankResponse,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from rankfall.client.attempts import Attempts, RetryLimits
from rankfall.client.call import Call
from rankfall.client.calls import models
from rankfall.client.calls.ranking import RankArguments
from rankfall.errors import FileError
from rankfall.wire import BatchedRankRequest, Item, ItemDeleted, ModelChanges, ModelSettings

pytestmark = pytest.mark.stress

KEY = "s3cr3t-key"


class Service:
    """A small Rankfall service, and a list of what shall go wrong with the next requests."""

    def __init__(self) -> None:
        self.reset()
        self.app = Starlette(routes=self._routes())

    def reset(self) -> None:
        self.trouble: deque[str] = deque()
        self.late = threading.Event()  # set when the work of a "slow" request is done
        self.seen: list[tuple[str, str, bytes]] = []  # requests, as they arrived
        self.headers: list[dict[str, str]] = []
        self.answers: dict[str, dict[str, Any]] = {}  # by request_id
        self.learned: dict[str, Any] = {}  # clicks by event
        self.items: dict[str, dict[str, Any]] = {}
        self.snapshots: list[str] = []
        self.fallback = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        trouble = self.trouble.popleft() if self.trouble else "none"
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        self.seen.append((scope["method"], scope["raw_path"].decode(), body))

        async def replay() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def nowhere(message: Any) -> None:
            pass

        if trouble in ("lost", "slow", "gateway"):  # the work is done, the answer does not arrive
            await self.app(scope, replay, nowhere)
        if trouble in ("lost", "dropped"):
            receive.__self__.transport.abort()
            await receive()
        elif trouble == "slow":
            self.late.set()
            while (await receive())["type"] != "http.disconnect":
                pass
        elif trouble == "cut":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"99")]})
            await send({"type": "http.response.body", "body": b'{"event', "more_body": True})
            receive.__self__.transport.close()
            await receive()
        else:
            answer = ANSWERS.get(trouble, self.app)
            await answer(scope, replay, send)

    def _rank_one(self, asked: dict[str, Any], model: str) -> dict[str, Any]:
        if model == "nowhere":
            return error("not_found", "no model 'nowhere'; there is: default")
        known = self.answers.get(asked["request_id"])
        if known is None:
            ids = asked.get("candidates") or ["a", "b/ü", "c"]
            known = {
                "event_id": None if self.fallback else f"event-{len(self.answers)}",
                "model": model,
                "items": [{"id": x, "position": n, "score": None} for n, x in enumerate(ids, 1)][: asked.get("k")],
                "model_version": 1,
                "policy": "CascadeHybrid",
                "mode": "online",
                "arm": "fallback" if self.fallback else "policy",
                "expires_at": "2026-11-15T22:30:00.123456Z",
                "unknown": [],
            }
            if asked.get("explain"):
                known["items"][0] |= {"title": "A", "relevance": 0.1, "coverage": {"t": 0.5}, "bonus": 0.2}
            self.answers[asked["request_id"]] = known
        return known

    async def _rank(self, request: Request) -> Response:
        answer = self._rank_one(await request.json(), request.path_params["model"])
        return JSONResponse(answer, 404 if "error" in answer else 200)

    async def _rank_many(self, request: Request) -> Response:
        requests = (await request.json())["requests"]
        return JSONResponse({"results": [self._rank_one(each, each["model"]) for each in requests]})

    async def _feedback(self, request: Request) -> Response:
        counts = dict.fromkeys(["accepted", "duplicate", "late", "unknown", "rejected"], 0)
        problems = []
        for index, each in enumerate((await request.json())["feedback"]):
            event = each["event_id"]
            known = event.startswith("event-")
            reports = [(None, event, each["clicked"])] if "clicked" in each else []
            reports += [(n, f"{event} {json.dumps(one)}", one) for n, one in enumerate(each.get("outcomes", []))]
            for outcome, key, what in reports:
                result = "unknown" if not known else "duplicate" if key in self.learned else "accepted"
                counts[result] += 1
                if result == "accepted":
                    self.learned[key] = what
                else:
                    problem = {"index": index, "event_id": event, "result": result, "reason": "so it is"}
                    problems.append(problem | ({} if outcome is None else {"outcome": outcome}))
        return JSONResponse({**counts, "problems": problems})

    async def _page(self, request: Request) -> Response:
        start = int(request.query_params.get("after", 0))
        end = start + int(request.query_params["limit"])
        items = [{"id": n, "coverage": {}, "relevance": []} for n in range(start, min(end, 5))]
        return JSONResponse({"items": items, "next": str(end) if end < 5 else None})

    async def _item(self, request: Request) -> Response:
        name = request.path_params["name"]
        if request.method == "PUT":
            self.items[name] = await request.json()
            return JSONResponse({"id": name, "created": True, "version": 2})
        if name not in self.items:
            return JSONResponse(error("not_found", f"no item {name!r}"), 404)
        if request.method == "DELETE":
            del self.items[name]
            return JSONResponse({"id": name, "version": 3})
        if request.method == "PATCH":
            self.items[name] |= await request.json()
            return JSONResponse({"id": name, "created": False, "version": 4})
        return JSONResponse({"id": name, **self.items[name]})

    async def _bulk(self, request: Request) -> Response:
        lines = (await request.body()).splitlines()
        return JSONResponse({"put": len(lines), "created": 0, "deleted": 0, "version": 5})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["model"]
        if request.method != "GET":
            return JSONResponse({"name": name, **await request.json()})
        return JSONResponse(
            {
                "name": name,
                "settings": {"k": 7},
                "version": 3,
                "learned": 2,
                "created_at": NOW,
                "weights": [{"name": "t", "block": "topic", "weight": 0.5, "sd": 0.1}],
                "counts": {"ranked": 3, "with_feedback": 2, "clicked": 1, "no_click": 1, "expired": 0},
                "arms": {"policy": {"with_feedback": 2, "clicked": 1, "rate": 0.5}},
            }
        )

    async def _snapshots(self, request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse({"snapshots": [SNAPSHOT]})
        self.snapshots.append(request.path_params["model"])
        return JSONResponse(SNAPSHOT, 201)

    def _routes(self) -> list[Route]:
        methods = ["GET", "PUT", "POST", "PATCH", "DELETE"]
        fixed = [Route(path, always(response), methods=methods) for path, response in FIXED.items()]
        return [
            Route("/v1/models/{model}/rank", self._rank, methods=["POST"]),
            Route("/v1/rank", self._rank_many, methods=["POST"]),
            Route("/v1/feedback", self._feedback, methods=["POST"]),
            Route("/v1/catalog/items", self._page),
            Route("/v1/catalog/items/{name:path}", self._item, methods=methods),
            Route("/v1/catalog/bulk", self._bulk, methods=["POST"]),
            Route("/v1/models/{model}/snapshots", self._snapshots, methods=methods),
            *fixed,
            Route("/v1/models/{model:path}", self._model, methods=["GET", "PUT", "PATCH"]),
        ]


def always(response: Response) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_request: Request) -> Response:
        return response

    return answer


def error(code: str, message: str, **more: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **more}}


NOW = "2026-11-15T23:00:00Z"
SNAPSHOT = {"id": "s1", "name": "", "version": 1, "created_at": NOW}
LISTED = {
    "event_id": "event-0",
    "model": "default",
    "items": [],
    "model_version": 1,
    "policy": "CascadeHybrid",
    "mode": "online",
    "arm": "policy",
    "expires_at": NOW,
    "unknown": [],
}
FIXED: dict[str, Response] = {
    "/v1/events/{event}/activate": JSONResponse({"event_id": "event-0", "active": True, "expires_at": NOW}),
    "/v1/events/{event}": JSONResponse(
        {
            **{name: LISTED[name] for name in ("event_id", "model", "arm", "expires_at")},
            "user": "ann",
            "segment": None,
            "created_at": NOW,
            "active": True,
            "learn": True,
            "propensity": 1.0,
            "response": LISTED,
            "feedback": {"kind": "feedback", "clicked": [2], "at": NOW},
        }
    ),
    "/v1/catalog": JSONResponse(
        {
            "items": 5,
            "topics": ["t"],
            "features": 1,
            "ids": "integer",
            "titles": False,
            "version": 1,
            "later": "unknown",
        }
    ),
    "/v1/models": JSONResponse({"models": [{"name": "default", "k": 7}]}),
    "/v1/models/{model}/reset": JSONResponse({"version": 9}),
    "/v1/models/{model}/history": JSONResponse(
        {
            "bucket_seconds": 60,
            "buckets": [{"start": NOW, "arms": {"policy": {"with_feedback": 2, "clicked": 1}}, "covered": 1.5}],
        }
    ),
    "/v1/models/{model}/snapshots/s1/restore": JSONResponse({"version": 9}),
    "/v1/models/{model}/snapshots/s1/download": Response(b"\x00learned", media_type="application/octet-stream"),
    "/health/ready": JSONResponse({"status": "ready"}),
    "/metrics": PlainTextResponse("rankfall_pending_events 3\n"),
    "/v1/users/{user}": JSONResponse({"user": "ann", "models": 1, "events_removed": 2, "events_anonymised": 3}),
}

ANSWERS: dict[str, Any] = {
    "busy": JSONResponse(error("unavailable", "one moment"), 503, {"Retry-After": "0"}),
    "away": JSONResponse(error("unavailable", "back in an hour"), 503, {"Retry-After": "3600"}),
    "many": JSONResponse(error("too_many", "slower"), 429),
    "gateway": PlainTextResponse("<html>Bad Gateway", 502),
    "garbage": Response(b"{]", media_type="application/json"),
    "list": JSONResponse([1, 2]),
    "broken": PlainTextResponse("Internal Server Error", 500),
    "moved": PlainTextResponse("", 307, {"Location": "http://elsewhere.invalid/"}),
    "400": JSONResponse(error("bad_request", "not JSON"), 400),
    "401": JSONResponse(error("unauthorized", f"no such key: {KEY}"), 401),
    "403": JSONResponse(error("forbidden", "this key may not rank"), 403),
    "404": JSONResponse(error("not_found", "no model"), 404),
    "408": JSONResponse(error("timeout", "too slow"), 408),
    "409": JSONResponse(error("conflict", "another body"), 409),
    "413": JSONResponse(error("too_large", "too many"), 413),
    "422": JSONResponse(error("invalid", "k must be at least 1", where="body.k"), 422),
}


@contextmanager
def serving(app: Any, sock: socket.socket) -> Iterator[None]:
    config = uvicorn.Config(
        app,
        log_config=None,
        lifespan="off",
        ws="none",
        http="h11",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=600,  # so that the server never closes a connection which a client is about to use
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        assert server.started
        yield
    finally:
        server.should_exit = True
        thread.join()


def bound() -> socket.socket:
    """A socket nobody listens on yet: connecting is refused, and nobody else can take the port."""
    sock = socket.socket(proto=socket.IPPROTO_TCP)  # said outright, or asyncio leaves Nagle's delays on
    sock.bind(("127.0.0.1", 0))
    return sock


def address(sock: socket.socket) -> str:
    return f"http://127.0.0.1:{sock.getsockname()[1]}"


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Service, str]]:
    service = Service()
    with bound() as sock, serving(service, sock):
        yield service, address(sock)


@pytest.fixture
def service(running: tuple[Service, str]) -> Service:
    running[0].reset()
    return running[0]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No waiting between attempts; the longest pauses they would have had."""
    longest: list[float] = []
    monkeypatch.setattr("rankfall.client.attempts.uniform", lambda _, high: longest.append(high) or 0.0)
    return longest


class Awaited:
    """An `AsyncClient` that can be used like a `Client`."""

    def __init__(self, runner: asyncio.Runner, client: AsyncClient) -> None:
        self._runner, self._client = runner, client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = getattr(self._client, name)(*args, **kwargs)
            return self._each(result) if inspect.isasyncgen(result) else self._runner.run(result)

        return call

    def _each(self, results: Any) -> Iterator[Any]:
        async def following() -> Any:
            return await anext(results, None)

        while (result := self._runner.run(following())) is not None:
            yield result

    def __repr__(self) -> str:
        return repr(self._client)


class Impatient(httpx.HTTPTransport):
    """Gives up on a request that the service answers slowly as soon as the service has done its work."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with giving_up(self._service, request):
            return super().handle_request(request)


class ImpatientAsync(httpx.AsyncHTTPTransport):
    """The same for `AsyncClient`."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with giving_up(self._service, request):
            return await super().handle_async_request(request)


@contextmanager
def giving_up(service: Service, request: httpx.Request) -> Iterator[None]:
    slow = "slow" in list(service.trouble)[:1]
    if slow:
        request.extensions["timeout"]["read"] = 0.05  # never long enough: there is no response
    try:
        yield
    except httpx.ReadTimeout:
        assert slow
        assert service.late.wait(PATIENCE)
        raise


Connect = Callable[..., Any]


@pytest.fixture(scope="module", params=["sync", "async"])
def connect(request: pytest.FixtureRequest, running: tuple[Service, str]) -> Iterator[Connect]:
    """Makes clients of one kind. They share connections, since it takes long to read the certificates for each."""
    if request.param == "sync":
        with httpx.Client(transport=Impatient(running[0])) as http:
            yield lambda url=running[1], **options: Client(url, http=http, **options)
    else:
        with asyncio.Runner() as runner:
            http_async = httpx.AsyncClient(transport=ImpatientAsync(running[0]))
            yield lambda url=running[1], **options: Awaited(runner, AsyncClient(url, http=http_async, **options))
            runner.run(http_async.aclose())


@pytest.fixture
def client(connect: Connect, service: Service) -> Any:
    return connect(api_key=KEY)


# Ranking


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


# Trouble


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


def test_own_duplicates_of_outcomes_are_accepted(client: Any, service: Service) -> None:
    service.trouble.append("lost")
    cart, more = {"id": "a", "type": "cart"}, {"id": "a", "type": "cart", "outcome_id": "second"}
    result = client.feedback("event-0", clicked="a", outcomes=[cart, more, cart])
    assert (result.accepted, result.assumed, result.duplicate) == (3, 3, 1)
    assert [(one.index, one.outcome) for one in result.problems] == [(0, 2)]


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


# Errors


@pytest.mark.parametrize(
    ("trouble", "kind", "code"),
    [
        ("400", InvalidError, "bad_request"),
        ("401", RefusedError, "unauthorized"),
        ("403", RefusedError, "forbidden"),
        ("404", NotFoundError, "not_found"),
        ("409", ConflictError, "conflict"),
        ("413", InvalidError, "too_large"),
        ("422", InvalidError, "invalid"),
        ("broken", ServiceError, "bad_response"),
        ("moved", ServiceError, "bad_response"),
        ("garbage", ServiceError, "bad_response"),
        ("list", ServiceError, "bad_response"),
    ],
)
def test_errors_are_told_apart_and_not_repeated(
    client: Any, service: Service, trouble: str, kind: type[ServiceError], code: str
) -> None:
    service.trouble.append(trouble)
    with pytest.raises(ServiceError) as caught:
        client.rank()
    assert type(caught.value) is kind
    assert caught.value.code == code
    assert str(caught.value.status) == trouble or not trouble.isdecimal()
    assert len(service.seen) == 1
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.status, str(copy)) == (code, caught.value.status, str(caught.value))


def test_an_error_names_the_place(client: Any, service: Service) -> None:
    service.trouble.append("422")
    with pytest.raises(InvalidError, match=r"^k must be at least 1 \(body.k\)$"):
        client.rank(k=0)


def test_the_key_stays_secret(client: Any, service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        service.trouble.append("401")
        with pytest.raises(RefusedError, match=r"no such key: \*\*\*") as caught:
            client.rank()
        service.trouble.extend(["dropped"] * 4)
        with pytest.raises(UnavailableError) as lost:
            client.rank()
    assert KEY not in repr(client) + repr(caught.value) + repr(lost.value) + caplog.text
    assert "Client('http://127.0.0.1:" in repr(client)


@pytest.mark.parametrize("key", ["", "two words", "line\n", "ключ"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(connect: Connect, key: str) -> None:
    with pytest.raises(InvalidError, match="visible ASCII") as caught:
        connect(api_key=key)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["localhost:8321", "ftp://x", "http://", "http://u:p@x", "http://x/?a=b", "http://x:port"]
)
def test_addresses_that_lead_nowhere(connect: Connect, url: str) -> None:
    with pytest.raises(InvalidError, match="address"):
        connect(url)


@pytest.mark.parametrize("options", [{"retries": -1}, {"timeout": 0}, {"deadline": float("nan")}])
def test_settings_that_make_no_sense(connect: Connect, options: Any) -> None:
    with pytest.raises(InvalidError, match=next(iter(options))):
        connect(**options)


# Catalog, models, the rest


@pytest.mark.parametrize("item", ["a/b", "crème brûlée", "100%", "%2F", "..", ".", "a?b#c", "日本", "x;y", 7])
def test_ids_in_paths_arrive_as_they_are(client: Any, service: Service, item: str | int) -> None:
    client.put_item(item, coverage={"t": 1.0}, relevance=[0.5], title="T")
    assert list(service.items) == [str(item)]
    assert client.patch_item(item, relevance=[0.25]).version == 4
    assert client.item(item) == Item(str(item), {"t": 1.0}, [0.25], "T")
    assert client.delete_item(item).version == 3
    with pytest.raises(NotFoundError):
        client.item(item)


def test_an_empty_id_is_not_a_path(client: Any, service: Service) -> None:
    for call in (client.delete_item, client.forget_user, client.activate, client.item):
        with pytest.raises(InvalidError, match="empty"):
            call("")
    assert service.seen == []


def test_pages_are_turned_when_needed(client: Any, service: Service) -> None:
    items = client.items(page_size=2)
    assert service.seen == []
    assert [next(items).id, next(items).id] == [0, 1]
    assert len(service.seen) == 1
    assert [item.id for item in items] == [2, 3, 4]
    assert len(service.seen) == 3


def test_numpy_is_understood(client: Any, service: Service) -> None:
    import numpy as np

    client.put_item("x", coverage={"t": np.float32(0.5)}, relevance=np.array([0.5, 1.0]))
    assert service.items["x"] == {"coverage": {"t": 0.5}, "relevance": [0.5, 1.0]}
    client.feedback("event-0", clicked=np.int64(7))
    assert service.learned["event-0"] == {"id": 7}
    with pytest.raises(InvalidError, match="cannot be sent as JSON"):
        client.put_item("x", coverage={"t": float("nan")}, relevance=[])
    with pytest.raises(InvalidError, match="cannot be sent as JSON"):
        client.put_item("x", coverage={"t": object()}, relevance=[])


def test_many_items_as_lines_or_as_a_file(client: Any, service: Service, tmp_path: Path) -> None:
    items = [{"id": n, "coverage": {"t": 1}, "relevance": []} for n in range(3)]
    assert client.put_items(iter(items)).put == 3
    assert [json.loads(line) for line in service.seen[0][2].splitlines()] == items
    assert service.headers[0]["content-type"] == "application/x-ndjson"
    (tmp_path / "items.parquet").write_bytes(b"PAR1")
    client.put_catalog(tmp_path / "items.parquet")
    assert service.seen[1][2] == b"PAR1"
    assert service.headers[1]["content-type"] == "application/vnd.apache.parquet"
    with pytest.raises(FileError, match=r"nothing\.parquet"):
        client.put_catalog(tmp_path / "nothing.parquet")


def test_a_snapshot_becomes_a_file_or_nothing(client: Any, service: Service, tmp_path: Path) -> None:
    target = tmp_path / "model.npz"
    service.trouble.append("404")
    with pytest.raises(NotFoundError):
        client.download_snapshot("default", "s1", target)
    assert list(tmp_path.iterdir()) == []
    assert client.download_snapshot("default", "s1", target, user="ann") == target
    assert service.seen[-1][1] == "/v1/models/default/snapshots/s1/download"
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == b"\x00learned"
    with pytest.raises(FileError, match="cannot write"):
        client.download_snapshot("default", "s1", tmp_path / "no" / "model.npz")


@pytest.mark.parametrize(
    ("name", "args", "options", "method", "path", "sent"),
    [
        ("catalog", [], {}, "GET", "/v1/catalog", b""),
        ("models", [], {}, "GET", "/v1/models", b""),
        (
            "create_model",
            ["m/1"],
            {"k": 5, "forgetting": None},
            "PUT",
            "/v1/models/m%2F1",
            b'{"k":5,"forgetting":null}',
        ),
        ("model", [], {"user": "ann"}, "GET", "/v1/models/default", b""),
        ("change_model", ["m"], {"gamma": 0.5}, "PATCH", "/v1/models/m", b'{"gamma":0.5}'),
        ("reset_model", ["m"], {}, "POST", "/v1/models/m/reset", b""),
        ("history", [], {"hours": 3}, "GET", "/v1/models/default/history", b""),
        ("snapshots", ["m"], {}, "GET", "/v1/models/m/snapshots", b""),
        ("make_snapshot", ["m"], {"name": "n"}, "POST", "/v1/models/m/snapshots", b'{"name":"n"}'),
        ("restore_snapshot", ["m", "s1"], {}, "POST", "/v1/models/m/snapshots/s1/restore", b""),
        ("activate", ["event-0"], {}, "POST", "/v1/events/event-0/activate", b""),
        ("event", ["event-0"], {}, "GET", "/v1/events/event-0", b""),
        ("forget_user", ["ann"], {}, "DELETE", "/v1/users/ann", b""),
        ("metrics", [], {}, "GET", "/metrics", b""),
    ],
)
def test_what_each_call_sends(
    client: Any, service: Service, name: str, args: list[Any], options: Any, method: str, path: str, sent: bytes
) -> None:
    assert getattr(client, name)(*args, **options) is not None
    assert service.seen == [(method, path, sent)]


# Both clients


def test_both_clients_have_the_same_methods() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        methods = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
        return {name: list(inspect.signature(method).parameters) for name, method in methods.items()}

    assert surface(Client) == surface(AsyncClient)
    for name in surface(Client):
        assert getattr(Client, name).__doc__ == getattr(AsyncClient, name).__doc__ is not None


def test_connections_are_given_back_but_not_yours(service: Service, running: tuple[Service, str]) -> None:
    with httpx.Client(headers={"X-Mine": "1"}) as http:
        with Client(running[1], http=http) as client:
            client.rank()
        assert not http.is_closed
    assert service.headers[0]["x-mine"] == "1"
    with Client(running[1]) as client:
        client.rank()
    assert client._http.is_closed

    async def main() -> None:
        async with AsyncClient(running[1]) as client:
            await asyncio.gather(*[client.rank() for _ in range(5)])
        assert client._http.is_closed

    asyncio.run(main())
    assert len(service.answers) == 7


def test_the_client_is_light() -> None:
    code = "import rankfall.client, sys; print([name for name in ('numpy', 'polars', 'numba') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# Decisions, without a network


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


def test_the_docs_have_every_method_with_its_arguments() -> None:
    page = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
    written: dict[str, set[str]] = {}
    for name, arguments in re.findall(r"`(\w+)\(([^`]*)\)`", page[page.index("## Methods") :]):
        said = [one.split("=")[0].strip("* ") for one in arguments.split(",")]
        written.setdefault(name, set()).update(one for one in said if one)
    methods = {name: method for name, method in vars(Client).items() if callable(method) and name[0] != "_"}
    real = {name: set(inspect.signature(method).parameters) - {"self"} for name, method in methods.items()}
    assert written == real


def test_settings_of_models_are_those_of_the_service() -> None:
    assert models.Settings.__annotations__.keys() == set(ModelSettings.__struct_fields__)
    assert models.Changes.__annotations__.keys() == set(ModelChanges.__struct_fields__)
