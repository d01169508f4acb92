"""A small Rankfall service that behaves badly on request, for the tests of the clients."""

import json
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from waiting import wait_until

KEY = "s3cr3t-key"
Connect = Callable[..., Any]
"""Makes a client, of an address and of options."""


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
