"""The edge of the service: how large and how slow a request may be, and a word on each that was answered."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankfall.errors import InvalidError, RefusedError, ServiceError
from rankfall.service.http.keys import Keys
from rankfall.service.http.metrics import Metrics

_log = logging.getLogger("rankfall.access")


GRANT = "rankfall.grant"
"""Where in the scope of a request it stands what its caller may do."""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    body: int = 1 << 20  # bytes
    bulk: int = 256 << 20  # bytes, for catalogs
    body_seconds: float = 10.0
    bulk_seconds: float = 300.0
    k: int = 1000
    candidates: int = 10_000
    batch: int = 1000


def error_body(code: str, message: str, where: str | None = None) -> dict[str, Any]:
    """An error as callers get it."""
    return {"error": {"code": code, "message": message, **({"where": where} if where else {})}}


class Edge:
    """Reads the body of each request before anything else happens, counts, and logs."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, keys: Keys) -> None:
        self._app, self._limits, self._metrics, self._keys = app, limits, metrics, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self._admit(scope)
            if scope["method"] in ("POST", "PUT", "PATCH"):
                receive = await self._whole(scope, receive)
            await self._app(scope, receive, sending)
        except (InvalidError, RefusedError) as problem:
            await _refuse(problem, sending)
        finally:
            taken = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.answer(route, status, taken)
            if status >= 500 or taken > 1.0 or _log.isEnabledFor(logging.DEBUG):
                level = logging.WARNING if status >= 500 or taken > 1.0 else logging.DEBUG
                extra = {"method": scope["method"], "route": route, "status": status, "seconds": round(taken, 6)}
                _log.log(level, "request", extra=extra)

    def _admit(self, scope: Scope) -> None:
        """Who has no key is told nothing, and nothing they send is read."""
        if scope["path"].startswith(("/v1", "/metrics")):
            given = next((value for name, value in scope["headers"] if name == b"x-api-key"), b"")
            scope[GRANT] = self._keys.grant(given.decode("latin-1"))
            if scope[GRANT] is None:
                raise RefusedError("no valid key in the header X-API-Key", code="unauthorized", status=401)

    async def _whole(self, scope: Scope, receive: Receive) -> Receive:
        bulk = scope["path"] == "/v1/catalog/bulk"
        most = self._limits.bulk if bulk else self._limits.body
        seconds = self._limits.bulk_seconds if bulk else self._limits.body_seconds
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > most:
                raise _too_large(f"the body has {int(value)} bytes; at most {most} are taken")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":  # the caller is gone
                        return _replay(message, receive)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise _too_large(f"the body has more than {most} bytes")
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            raise InvalidError(
                f"the body did not arrive within {seconds:g} seconds", code="timeout", status=408
            ) from None
        return _replay({"type": "http.request", "body": b"".join(parts), "more_body": False}, receive)


def _too_large(message: str) -> InvalidError:
    return InvalidError(message, code="too_large", status=413)


def _replay(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


async def _refuse(problem: ServiceError, send: Send) -> None:
    body = json.dumps(error_body(problem.code, problem.message), separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
