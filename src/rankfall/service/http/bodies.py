"""Bodies and names in paths, checked; and how the interface's description shows them."""

from __future__ import annotations

from typing import Any

import msgspec

from rankfall.errors import InvalidError
from rankfall.wire import ModelName, Name, convert
from rankfall.wire.fields import FieldError, check_printable

_described: list[Any] = []


def check_name(where: str, name: str | None) -> None:
    """Raise unless this is a name: 1 to 200 printable characters."""
    if name is not None:
        convert(Name, name, where)
        try:
            check_printable(where, name)
        except FieldError as problem:
            raise InvalidError(f"{where}: {problem}", where=where) from None


def check_model_name(name: str) -> None:
    """Raise unless a model may have this name."""
    convert(ModelName, name, "path.model")


def takes(*kinds: Any, path: tuple[str, ...] | list[str] = ()) -> dict[str, Any]:
    """The part of an operation's description that says which bodies it takes, and which words its path has."""
    _described.extend(kinds)
    references = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in kinds]
    schema = references[0] if len(references) == 1 else {"anyOf": references}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    words = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for name in path
    ]
    return {"requestBody": body, **({"parameters": words} if words else {})}


def schemas() -> dict[str, Any]:
    """Descriptions of the bodies named by :func:`takes`, with everything they refer to."""
    return msgspec.json.schema_components(_described, ref_template="#/components/schemas/{name}")[1]
