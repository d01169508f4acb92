"""Request bodies read and checked, and response bodies written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    return decode(kind, body_of(request))


def media_type(request: Request) -> str:
    """The content type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_media_type(request: Request, taken: Sequence[str]) -> None:
    """Raise if the content type is not one of these. No form on a foreign page can send one of ours."""
    given = media_type(request)
    if given not in taken and not (JSON in taken and given.endswith("+json")):
        said = f"not {given[:100]!r}" if given else "which is missing"
        message = f"send the header Content-Type: {' or '.join(taken)}, {said}"
        raise InvalidError(message, code="unsupported", status=415)


def json_response(value: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response of the wire."""
    return Response(msgspec.json.encode(value), status, headers, JSON)
