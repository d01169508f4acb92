"""Request bodies read and checked, and response bodies written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rankfall.errors import InvalidError
from rankfall.wire import decode

T = TypeVar("T", bound=msgspec.Struct)

JSON = "application/json"
NDJSON = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"

BODY = "rankfall.body"
"""Where the scope of a request holds its whole body."""


def body_of(request: Request) -> bytes:
    """The whole body, which was read before the request came here."""
    body: bytes = request.scope.get(BODY, b"")
    return body


def read_json(request: Request, kind: type[T]) -> T:
    """What the body says, checked."""
    body = body_of(request)
    media = media_type(request)
    if body and media != JSON and not media.endswith("+json"):  # what a form on a foreign page could send
        raise unsupported(f"send {JSON}, not {media or 'a body without a content type'}")
    return decode(kind, body)


def media_type(request: Request) -> str:
    """The content type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def unsupported(message: str) -> InvalidError:
    """The error for a content type that is not taken."""
    return InvalidError(message, code="unsupported", status=415)


def json_response(value: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response of the wire."""
    return Response(msgspec.json.encode(value), status, headers, JSON)
