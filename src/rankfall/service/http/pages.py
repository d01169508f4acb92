"""The pages: the one people look at, and the description of the interface with a page that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from rankfall.service.http.bodies import JSON
from rankfall.service.http.endpoint import route_of
from rankfall.service.http.openapi import describe
from rankfall.service.http.operations import Operation, Operations

_PAGE = Path(__file__).parents[1] / "page"
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def pages(operations: Sequence[Operation]) -> list[BaseRoute]:
    """The routes of the pages; ``operations`` are those to describe."""
    table = Operations("pages")
    description = msgspec.json.encode(describe(operations))

    @table.add("GET", "/", "The page")
    async def page(_request: Request) -> Response:
        return FileResponse(_PAGE / "index.html", headers=_HEADERS)

    @table.add("GET", "/openapi.json", "The description of the interface")
    async def openapi(_request: Request) -> Response:
        return Response(description, media_type=JSON)

    @table.add("GET", "/docs", "The description of the interface, for people")
    async def docs(_request: Request) -> Response:
        return FileResponse(_PAGE / "docs.html", headers=_HEADERS)

    return [*map(route_of, table), Mount("/page", StaticFiles(directory=_PAGE))]
