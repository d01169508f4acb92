"""Bodies read straight from bytes, for the routes that must be fast, and how the interface's description names them."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

B = TypeVar("B", bound=BaseModel)

_named: dict[str, type[BaseModel]] = {}


def read(kind: type[B], body: bytes) -> B:
    """What the body says, checked; raises as FastAPI does."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**error, "loc": ("body", *error["loc"])} for error in errors]) from None


def takes(*kinds: type[BaseModel], path: tuple[str, ...] | list[str] = ()) -> dict[str, Any]:
    """The part of an operation's description that says which bodies it takes, and which words its path has."""
    _named.update({kind.__name__: kind for kind in kinds})
    references = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in kinds]
    schema = references[0] if len(references) == 1 else {"anyOf": references}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    words = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for name in path
    ]
    return {"requestBody": body, **({"parameters": words} if words else {})}


def schemas() -> dict[str, Any]:
    """Descriptions of the bodies named by :func:`takes`, with everything they refer to."""
    found: dict[str, Any] = {}
    for name, kind in _named.items():
        schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
        found |= schema.pop("$defs", {})
        found[name] = schema
    return found
