"""A short cut for the two busiest routes: the same functions, without what the framework does around them."""

from __future__ import annotations

from typing import Any

from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from rankfall.service.http.context import Service
from rankfall.service.http.edge import GRANT
from rankfall.service.http.problems import response_of
from rankfall.service.http.serving import FEEDBACK, RANK, feedback_from, rank_from, routes

_ROUTES: dict[str, Any] = {route.path: route for route in routes.routes if isinstance(route, APIRoute)}
_BEFORE, _AFTER = RANK.split("{model}")


class Direct:
    """Answers rank and feedback; hands everything else on."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Its body has been read, so that one message has all of it."""
        path: str = scope["path"] if scope["type"] == "http" and scope["method"] == "POST" else ""
        model = path[len(_BEFORE) : -len(_AFTER)] if path.startswith(_BEFORE) and path.endswith(_AFTER) else ""
        if path != FEEDBACK and (not model or "/" in model):
            await self._app(scope, receive, send)
            return
        message = await receive()
        if message["type"] != "http.request":  # the caller is gone
            return
        scope["route"] = _ROUTES[RANK if model else FEEDBACK]
        try:
            if model:
                text = await rank_from(self._service, scope[GRANT], model, message["body"])
            else:
                text = await feedback_from(self._service, scope[GRANT], message["body"])
        except Exception as problem:
            await response_of(problem)(scope, receive, send)
            return
        body = text.encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
