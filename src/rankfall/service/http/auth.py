"""Who is asking, and what they may do."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from rankfall.errors import RefusedError
from rankfall.service.http.api_keys import RIGHTS, Grant, Keys
from rankfall.service.http.errors import refusal

GUARDED = ("/v1", "/metrics")
"""How the paths begin that need a key."""
_GRANT = "rankfall.grant"


class Authentication:
    """Looks up the API key of each request. Without a valid one nothing is told, and nothing that is sent is read."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request pass, or refuse it."""
        if scope["type"] == "http" and scope["path"].startswith(GUARDED):
            given = next((value for name, value in scope["headers"] if name == b"x-api-key"), b"")
            scope[_GRANT] = self._keys.grant(given.decode("latin-1"))
            if scope[_GRANT] is None:
                problem = RefusedError("no valid key in the header X-API-Key", code="unauthorized", status=401)
                await refusal(problem)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def grant_of(request: Request) -> Grant:
    """What this caller may do."""
    grant: Grant = request.scope[_GRANT]
    return grant


def need(request: Request, right: str, model: str) -> Grant:
    """The caller's grant, if it has this right on this model. Without it nothing is told."""
    return allowed(grant_of(request), right, model)


def need_to_know(request: Request, model: str) -> Grant:
    """The caller's grant, if it may rank with this model or administer it."""
    grant = grant_of(request)
    return grant if grant.may("admin", model) else allowed(grant, "rank", model)


def need_anything(request: Request) -> Grant:
    """The caller's grant, if it has any right at all."""
    grant = grant_of(request)
    if not any(right in grant.rights for right in RIGHTS):
        raise RefusedError("this key has no rights")
    return grant


def need_everywhere(request: Request, right: str = "admin") -> Grant:
    """The caller's grant, if it has this right on all models."""
    grant = grant_of(request)
    if not grant.everywhere(right):
        raise RefusedError(f"this key does not have the right {right!r} on all models")
    return grant


def allowed(grant: Grant, right: str, model: str) -> Grant:
    """The grant, if it has this right on this model; raises if not."""
    if not grant.may(right, model):
        raise RefusedError(f"this key does not have the right {right!r} on model {model!r}")
    return grant
