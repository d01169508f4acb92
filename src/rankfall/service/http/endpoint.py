"""From an operation to a route."""

from __future__ import annotations

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rankfall.service.http.bodies import check_media_type
from rankfall.service.http.errors import error_response
from rankfall.service.http.operations import Operation

ROUTE = "rankfall.route"
"""Where the scope of a request says which route it took."""


class Endpoint:
    """Calls the handler of an operation and sends its response, or the error that it raised.

    The framework has this for functions, in two layers that each request would pass; this is one.
    """

    def __init__(self, operation: Operation) -> None:
        self._handler, self._path = operation.handler, operation.path
        self._media_types = operation.media_types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope[ROUTE] = self._path
        try:
            request = Request(scope, receive, send)
            if self._media_types:
                check_media_type(request, self._media_types)
            response = await self._handler(request)
        except Exception as problem:
            response = error_response(problem)
        await response(scope, receive, send)


def route_of(operation: Operation) -> Route:
    """The route that serves an operation."""
    return Route(operation.path, Endpoint(operation), methods=[operation.method], name=operation.handler.__name__)
