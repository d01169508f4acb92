"""The description of the interface (OpenAPI 3.1), made from the table of operations and the shapes of the wire."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import msgspec

from rankfall.service.http.operations import Operation
from rankfall.service.http.parameters import PATH_TYPES
from rankfall.wire import ErrorResponse

_REFERENCE = "#/components/schemas/{name}"
_ERRORS = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503)
_TAGS = {
    "rank": "Lists to show",
    "feedback": "What was clicked",
    "catalog": "The items",
    "models": "Policies under a name, with their settings",
    "users": "Who wants to be forgotten",
    "running": "Health and metrics",
}


def describe(operations: Iterable[Operation]) -> dict[str, Any]:
    """The whole description."""
    operations = list(operations)
    paths: dict[str, Any] = {}
    for operation in operations:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation)
    shapes = [shape for one in operations for shape in (*one.takes, *([one.gives] if one.gives else []))]
    _, schemas = msgspec.json.schema_components([*shapes, ErrorResponse], ref_template=_REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rankfall",
            "summary": "Ranked lists that are relevant and diverse, learned from clicks.",
            "version": version("rankfall"),
        },
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
        },
        "security": [{"key": []}, {}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "summary": operation.summary,
        "description": inspect.getdoc(operation.handler) or operation.summary,
        "tags": [operation.tag],
        "responses": _responses(operation),
    }
    if parameters := [*_path_parameters(operation), *_query_parameters(operation)]:
        described["parameters"] = parameters
    if content := {
        **_json(operation.takes),
        **{media: {"schema": dict(one)} for media, one in operation.media.items()},
    }:
        described["requestBody"] = {"required": operation.body_required, "content": content}
    elif operation.media_types:  # the content type must be there, with nothing in the body
        described["requestBody"] = {"required": False, "content": {media: {} for media in operation.media_types}}
    return described


def _responses(operation: Operation) -> dict[str, Any]:
    content = _json((operation.gives,)) if operation.gives else {operation.gives_media: {}}
    responses: dict[str, Any] = {
        str(status): {"description": text, "content": content} for status, text in operation.statuses.items()
    }
    if operation.path.startswith("/v1"):
        for status in _ERRORS:
            responses[str(status)] = {"description": "error", "content": _json((ErrorResponse,))}
    return responses


def _json(shapes: tuple[type[msgspec.Struct], ...]) -> dict[str, Any]:
    references = [{"$ref": _REFERENCE.format(name=shape.__name__)} for shape in shapes]
    if not references:
        return {}
    return {"application/json": {"schema": references[0] if len(references) == 1 else {"anyOf": references}}}


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)", operation.path)
    return [{"name": name, "in": "path", "required": True, "schema": _schema(PATH_TYPES[name])} for name in names]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    properties: dict[str, Any] = msgspec.json.schema(operation.query)["$defs"][operation.query.__name__]["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": one} for name, one in properties.items()]


def _schema(kind: Any) -> dict[str, Any]:
    return msgspec.json.schema(kind)
