"""Paths and bodies, as they go over the wire."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from rankfall.errors import InvalidError

Id = str | int


def path(*parts: str | int) -> str:
    """A path below ``/v1``, each part percent-encoded: ids may hold anything.

    >>> path("catalog", "items", "crème/brûlée")
    '/v1/catalog/items/cr%C3%A8me%2Fbr%C3%BBl%C3%A9e'
    >>> path("users", "..")
    '/v1/users/%2E%2E'
    """
    texts = [str(part) for part in parts]
    if "" in texts:
        raise InvalidError("an id or a name in a path cannot be empty", code="invalid")
    try:
        escaped = [quote(text, safe="") for text in texts]
    except UnicodeEncodeError as problem:
        raise InvalidError(f"not text that can be sent: {problem}", code="invalid") from problem
    dots = {".": "%2E", "..": "%2E%2E"}  # bare dots would walk up the path
    return "/v1/" + "/".join(dots.get(text, text) for text in escaped)


def query(**values: object) -> dict[str, str]:
    """The values that are given, as text.

    >>> query(user="ann", segment=None, hours=3)
    {'user': 'ann', 'hours': '3'}
    """
    return {name: str(value) for name, value in given(**values).items()}


def check_names(given: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Refuse arguments that nobody takes."""
    if unknown := sorted(set(given) - set(allowed)):
        raise InvalidError(f"unknown: {', '.join(unknown)}; there is: {', '.join(allowed)}", code="invalid")


def given(**values: object) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def body(value: object) -> bytes:
    """JSON; NumPy's numbers and arrays are taken, NaN is not.

    >>> body({"k": 3})
    b'{"k":3}'
    >>> body({"k": float("nan")})
    Traceback (most recent call last):
    rankfall.errors.InvalidError: this cannot be sent as JSON: Out of range float values are not JSON compliant
    """
    try:
        text = json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidError(f"this cannot be sent as JSON: {problem}", code="invalid") from problem


def lines(values: Iterable[object]) -> bytes:
    r"""One line of JSON for each value.

    >>> lines([{"id": 1}, {"id": 2}])
    b'{"id":1}\n{"id":2}\n'
    """
    return b"".join(body(value) + b"\n" for value in values)


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not text, a number, a list or a mapping")
