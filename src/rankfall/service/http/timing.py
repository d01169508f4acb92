"""How long each request took, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankfall.service.http.endpoint import ROUTE

Observer = Callable[[str, str, int, float], None]
"""Is told method, route, status and seconds of each request."""


class Timing:
    """Tells its observers about each request that was served."""

    def __init__(self, app: ASGIApp, observers: Sequence[Observer]) -> None:
        self._app, self._observers = app, observers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
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
            await self._app(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - started
            for observe in self._observers:
                observe(scope["method"], scope.get(ROUTE, "other"), status, seconds)
