"""How large and how slow a request may be, and how much it may ask for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from rankfall.errors import InvalidError, RankfallError
from rankfall.service.http.bodies import BODY
from rankfall.service.http.errors import refusal
from rankfall.wire import RankRequest


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

    def check_request(self, request: RankRequest) -> None:
        """Raise if a request asks for too much."""
        if request.k is not None and request.k > self.k:
            raise RankfallError(f"k is {request.k}; at most {self.k} items are ranked")
        for name in ("candidates", "exclude", "baseline"):
            given = getattr(request, name)
            if given is not None and len(given) > self.candidates:
                raise RankfallError(f"{name} has {len(given)} ids; at most {self.candidates} are taken")

    def check_batch(self, size: int) -> None:
        """Raise if a batch is too large."""
        if size > self.batch:
            raise RankfallError(f"a batch of {size}; at most {self.batch} are taken at once")


class BodyLimits:
    """Reads the whole body of each request before anything else happens, and keeps it in the scope."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request pass with its body, or refuse it."""
        if scope["type"] == "http" and scope["method"] in ("POST", "PUT", "PATCH"):
            try:
                scope[BODY] = await self._read(scope, receive)
            except InvalidError as problem:
                await refusal(problem)(scope, receive, send)
                return
            except ClientDisconnect:  # nobody is there to tell
                return
        await self._app(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
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
                    if message["type"] != "http.request":
                        raise ClientDisconnect
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
        return b"".join(parts)


def _too_large(message: str) -> InvalidError:
    return InvalidError(message, code="too_large", status=413)
