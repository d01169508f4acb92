"""From a request to its operation, past the layers of the framework: every request for a list takes this way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from rankfall.service.http.endpoint import Endpoint
from rankfall.service.http.operations import Operation


class Dispatch:
    """Calls the endpoint of an operation. Pages, errors and paths of no fixed length are left to the framework."""

    def __init__(self, app: ASGIApp, operations: Iterable[Operation]) -> None:
        self._app = app
        self._endpoints: dict[tuple[str, int], list[tuple[list[str], Endpoint]]] = {}
        for operation in operations:
            if ":" in operation.path:  # a parameter that may have slashes in it
                continue
            template = operation.path.split("/")
            alike = self._endpoints.setdefault((operation.method, len(template)), [])
            alike.append((template, Endpoint(operation)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and not scope.get("root_path"):
            path = scope["path"].split("/")
            for template, endpoint in self._endpoints.get((scope["method"], len(path)), ()):
                parameters = parameters_in(path, template)
                if parameters is not None:
                    scope["path_params"] = parameters
                    await endpoint(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def parameters_in(path: Sequence[str], template: Sequence[str]) -> dict[str, str] | None:
    """What a path has in the places of names in braces; None if it differs from the template elsewhere.

    >>> parameters_in(["", "v1", "models", "shop"], ["", "v1", "models", "{model}"])
    {'model': 'shop'}
    >>> parameters_in(["", "v1", "models", "{model}"], ["", "v1", "models", "{model}"])
    {'model': '{model}'}
    """
    found = {}
    for part, expected in zip(path, template, strict=True):
        if expected.startswith("{") and part:
            found[expected[1:-1]] = part
        elif part != expected:
            return None
    return found
