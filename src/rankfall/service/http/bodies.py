"""Request bodies read and checked, and response bodies written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rankfall.errors import InvalidError, short
from rankfall.wire import decode

T = TypeVar("T", bound=msgspec.Struct)

JSON = "application/json"
NDJSON = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"

_BODY = "rankfall.body"
_JSON = JSON.encode()


async def read_body(request: Request, most: int, seconds: float) -> None:
    """Read the whole body and keep it in the scope; raises if it is larger than ``most`` bytes, or too slow."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise _too_large(f"the body has {int(length)} bytes; at most {most} are taken")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await request.receive()
                if message["type"] != "http.request":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise _too_large(f"the body has more than {most} bytes")
                if not message.get("more_body"):
                    break
    except TimeoutError:
        raise InvalidError(f"the body did not arrive within {seconds:g} seconds", code="timeout", status=408) from None
    request.scope[_BODY] = b"".join(parts)


def _too_large(message: str) -> InvalidError:
    return InvalidError(message, code="too_large", status=413)


def body_of(request: Request) -> bytes:
    """The whole body, which :func:`read_body` has read."""
    body: bytes = request.scope[_BODY]
    return body


def read_json(request: Request, kind: type[T]) -> T:
    """What the body says, checked."""
    return decode(kind, body_of(request))


def media_type(request: Request) -> str:
    """The content type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_media_type(request: Request, taken: Sequence[str]) -> None:
    """Raise if the content type is not one of these. No form on a foreign page can send one of ours."""
    if (b"content-type", _JSON) in request.scope["headers"] and JSON in taken:  # almost always
        return
    given = media_type(request)
    if given not in taken and not (JSON in taken and given.endswith("+json")):
        said = f"not {short(given)}" if given else "which is missing"
        message = f"send the header Content-Type: {' or '.join(taken)}, {said}"
        raise InvalidError(message, code="unsupported", status=415)


def json_response(value: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response of the wire."""
    return Response(msgspec.json.encode(value), status, headers, JSON)
