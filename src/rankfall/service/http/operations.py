"""The table of operations: method, path and handler of each, and what it takes and gives.

The routes of the application and the description of the interface are both made from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from rankfall.service.http.auth import Need
from rankfall.service.http.bodies import JSON

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method on one path.

    Parameters
    ----------
    needs
        Raises if the caller may not do this.
    takes
        Shapes of JSON that the body may have.
    media
        Content types of a body that is not JSON, each with the schema of the body.
    bulk
        Whether the body may be as large as a catalog.
    body_required
        Whether a request without a body is refused.
    query
        The shape of the query.
    gives
        The shape of the response; None for one that is not JSON.
    gives_media
        The content type of a response that is not JSON.
    statuses
        What each status of success means.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    tag: str
    needs: Need | None = None
    takes: tuple[type[Struct], ...] = ()
    media: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bulk: bool = False
    body_required: bool = True
    query: type[Struct] | None = None
    gives: type[Struct] | None = None
    gives_media: str = "application/json"
    statuses: Mapping[int, str] = field(default_factory=lambda: {200: "done"})

    @property
    def media_types(self) -> tuple[str, ...]:
        """The content types it takes; none where nothing is sent."""
        if self.method not in ("POST", "PUT", "PATCH"):
            return ()
        return (*([JSON] if self.takes or not self.media else []), *self.media)


class Operations(list[Operation]):
    """The operations on one subject, which their handlers join by the decorator :meth:`add`."""

    def __init__(self, tag: str) -> None:
        super().__init__()
        self._tag = tag

    def add(self, method: str, path: str, summary: str, **details: Any) -> Callable[[Handler], Handler]:
        """Have the function below handle this method on this path."""

        def register(handler: Handler) -> Handler:
            self.append(Operation(method=method, path=path, handler=handler, summary=summary, tag=self._tag, **details))
            return handler

        return register
