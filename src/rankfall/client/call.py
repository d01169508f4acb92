"""One call to the service: what to ask, how to read what comes back, and what a failure means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from rankfall.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from rankfall.wire import ErrorDetails, ErrorResponse

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

NO_RESPONSE = 0  # stands where a status would be
AGAIN = frozenset({408, 429, 502, 503, 504})  # 408: a server that was frozen while the body came says so too
GATEWAY = frozenset({502, 504})  # someone on the way gave up: the service may have done its work

STATUS = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "timeout": 408,
    "conflict": 409,
    "too_large": 413,
    "unsupported": 415,
    "invalid": 422,
    "too_many": 429,
    "unavailable": 503,
}
ERRORS: dict[int, type[ServiceError]] = {
    401: RefusedError,
    403: RefusedError,
    404: NotFoundError,
    408: UnavailableError,
    409: ConflictError,
    **dict.fromkeys((400, 413, 415, 422), InvalidError),
    **dict.fromkeys(AGAIN, UnavailableError),
}


@dataclass(frozen=True)
class Reply:
    """A response of the service.

    ``repeated`` is true if an earlier attempt of the same call may have been carried out, its response lost on the way.
    """

    status: int = NO_RESPONSE
    body: bytes = b""
    repeated: bool = False

    def read(self, kind: type[S]) -> S:
        """The body as one of the shapes of the wire.

        >>> from rankfall.wire import VersionResponse
        >>> Reply(200, b'{"version": 3}').read(VersionResponse)
        VersionResponse(version=3)
        """
        return msgspec.json.decode(self.body, type=kind)

    def error(self) -> ServiceError:
        """The error this response stands for.

        >>> Reply(404, b'{"error": {"code": "not_found", "message": "no item 7"}}').error()
        NotFoundError('no item 7')
        """
        try:
            return as_error(self.read(ErrorResponse).error, self.status)
        except (msgspec.DecodeError, ValueError):  # not the service's words: a proxy's, perhaps
            codes = {status: code for code, status in STATUS.items()} | dict.fromkeys(AGAIN, "unavailable")
            doubt = "; it may have been carried out" if self.status in GATEWAY else ""
            message = f"HTTP status {self.status} without an explanation{doubt}"
            code = codes.get(self.status, "bad_response")
            return ERRORS.get(self.status, ServiceError)(message, code=code, status=self.status)


def as_error(details: ErrorDetails, status: int | None = None) -> ServiceError:
    """The error for what the service says about it.

    >>> as_error(ErrorDetails("invalid", "k must be at least 1, not 0", "body.k"))
    InvalidError('k must be at least 1, not 0 (body.k)')
    """
    status = STATUS.get(details.code) if status is None else status
    told = details.where is None or details.where in details.message
    message = details.message if told else f"{details.message} ({details.where})"
    kind = ERRORS.get(status or NO_RESPONSE, ServiceError)
    return kind(message, code=details.code, status=status, where=details.where)


@dataclass(frozen=True)
class Call(Generic[T]):
    """What to ask, how to read the response, and when asking again is safe.

    Parameters
    ----------
    method, path
        As in HTTP; the path is percent-encoded already. Without a path there is nothing to ask: ``read`` gets a
        `Reply` with no status.
    read
        Makes the result from a reply. What it cannot read becomes a `ServiceError`.
    params, content, media
        Query, body and its content type.
    repeatable
        Whether doing it twice does no more than doing it once. If not, only attempts that never left are repeated.
    understands
        Statuses besides 2xx that are for ``read``, and not errors; `NO_RESPONSE` among them if silence is one.
    """

    method: str
    path: str
    read: Callable[[Reply], T]
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    media: str = "application/json"
    repeatable: bool = True
    understands: frozenset[int] = frozenset()
