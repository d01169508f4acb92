"""From an operation to a route."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rankfall.errors import ServiceError
from rankfall.service.http.app_state import state_of
from rankfall.service.http.bodies import check_media_type, read_body
from rankfall.service.http.errors import error_response, refusal
from rankfall.service.http.operations import Operation

ROUTE = "rankfall.route"
"""Where the scope of a request says which route it took."""


class Endpoint:
    """Calls the handler of an operation and sends its response, or the error that it raised.

    Rights are checked before anything is read, and the body is read before the handler is called. The framework has
    this for functions, in two layers that each request would pass; this is one.
    """

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._media_types = operation.media_types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope[ROUTE] = self._operation.path
        request = Request(scope, receive, send)
        try:
            await self._admit(request)
        except ServiceError as problem:
            response = refusal(problem) if self._media_types else error_response(problem)
        except ClientDisconnect:  # nobody is there to tell
            return
        else:
            try:
                response = await self._operation.handler(request)
            except Exception as problem:
                response = error_response(problem)
        await response(scope, receive, send)

    async def _admit(self, request: Request) -> None:
        if self._operation.needs is not None:
            self._operation.needs(request)
        if self._media_types:
            check_media_type(request, self._media_types)
            limits = state_of(request).limits
            if self._operation.bulk:
                await read_body(request, limits.bulk, limits.bulk_seconds)
            else:
                await read_body(request, limits.body, limits.body_seconds)


def route_of(operation: Operation) -> Route:
    """The route that serves an operation."""
    return Route(operation.path, Endpoint(operation), methods=[operation.method], name=operation.handler.__name__)
