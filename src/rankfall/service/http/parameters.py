"""What an address says: names in its path, and its query."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from rankfall.errors import InvalidError
from rankfall.wire import ModelName, Name, convert
from rankfall.wire.fields import FieldError, check_printable

T = TypeVar("T", bound=msgspec.Struct)

PATH_TYPES: dict[str, Any] = {
    "model": ModelName,
    "item": Name,
    "event_id": Name,
    "snapshot": Name,
    "user": Name,
}
"""What each name in a path may be."""


def path_name(request: Request, name: str) -> str:
    """The part of the path that is called ``name``, checked."""
    text: str = request.path_params[name]
    where = f"path.{name}"
    convert(PATH_TYPES[name], text, where)
    try:
        check_printable(where, text)
    except FieldError as problem:
        raise InvalidError(f"{where}: {problem}", where=where) from None
    return text


def read_query(request: Request, kind: type[T]) -> T:
    """What the query says, checked."""
    return convert(kind, dict(request.query_params), "query", strict=False)
