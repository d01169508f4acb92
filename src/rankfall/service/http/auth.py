"""Who is asking, and what they may do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from rankfall.errors import RefusedError, ServiceError, UnavailableError, short
from rankfall.service.http.api_keys import Grant, Keys
from rankfall.service.http.errors import refusal
from rankfall.service.http.keys_file import KeysFile
from rankfall.service.http.wrong_keys import WrongKeys

GUARDED = ("/v1", "/metrics")
"""How the paths begin that need a key."""
_GRANT = "rankfall.grant"


class Authentication:
    """Looks up the API key of each request. Without a valid one nothing is told, and nothing that is sent is read."""

    def __init__(self, app: ASGIApp, keys: Keys | KeysFile) -> None:
        self._app, self._keys = app, keys
        self._wrong_keys = WrongKeys()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request pass, or refuse it."""
        if scope["type"] == "http" and scope["path"].startswith(GUARDED):
            given = next((value for name, value in scope["headers"] if name == b"x-api-key"), b"")
            scope[_GRANT] = self._keys.grant(given.decode("latin-1"))
            if scope[_GRANT] is None:
                await refusal(await self._wrong_key(scope))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _wrong_key(self, scope: Scope) -> ServiceError:
        """What a caller without a valid key is told, when it is time to tell."""
        address, _ = scope.get("client") or ("", 0)
        wait = self._wrong_keys.wait(address)
        if wait is None:
            return UnavailableError("too many wrong keys from this address", code="too_many", status=429)
        if wait:
            await asyncio.sleep(wait)
        return RefusedError("no valid key in the header X-API-Key", code="unauthorized", status=401)


Need = Callable[[Request], None]
"""Raises if the caller may not do what is asked; it looks at the address only, so that no body is read for nothing."""


def grant_of(request: Request) -> Grant:
    """What this caller may do."""
    grant: Grant = request.scope[_GRANT]
    return grant


def on_model(right: str) -> Need:
    """The right on the model that the path names."""

    def check(request: Request) -> None:
        allowed(grant_of(request), right, request.path_params["model"])

    return check


def to_know(request: Request) -> None:
    """The right to rank with the model that the path names, or to administer it."""
    grant, model = grant_of(request), request.path_params["model"]
    if not grant.may("admin", model):
        allowed(grant, "rank", model)


def somewhere(right: str) -> Need:
    """The right on any model."""

    def check(request: Request) -> None:
        if right not in grant_of(request).rights:
            raise RefusedError(f"this key does not have the right {right!r}")

    return check


def everywhere(right: str) -> Need:
    """The right on all models, and so on what they share."""

    def check(request: Request) -> None:
        if not grant_of(request).everywhere(right):
            raise RefusedError(f"this key does not have the right {right!r} on all models")

    return check


def allowed(grant: Grant, right: str, model: str) -> Grant:
    """The grant, if it has this right on this model; raises if not."""
    if not grant.may(right, model):
        raise RefusedError(f"this key does not have the right {right!r} on model {short(model)}")
    return grant
