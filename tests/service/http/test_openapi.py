"""The description of the interface says what the table of operations and the shapes of the wire say."""

import json
import re
from typing import Any

import pytest

from rankfall import wire
from rankfall.service.http.openapi import describe
from rankfall.service.http.operations import Operation
from rankfall.service.http.routes import OPERATIONS


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return describe(OPERATIONS)


def test_every_operation_is_described_once(description: dict[str, Any]) -> None:
    described = [
        (method, path, one) for path, methods in description["paths"].items() for method, one in methods.items()
    ]
    assert len(described) == len(OPERATIONS)
    assert len({one["operationId"] for _, _, one in described}) == len(OPERATIONS)
    tags = {tag["name"] for tag in description["tags"]}
    for _, path, one in described:
        assert set(one["tags"]) <= tags
        assert one["summary"]
        assert one["description"].endswith(".")
        named = {parameter["name"] for parameter in one.get("parameters", []) if parameter["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.handler.__name__)
def test_an_operation_says_what_it_takes_and_gives(operation: Operation, description: dict[str, Any]) -> None:
    path = operation.path.replace(":path", "")
    one = description["paths"][path][operation.method.lower()]
    assert (operation.method in ("PUT", "PATCH")) <= ("requestBody" in one)
    assert {str(status) for status in operation.statuses} <= set(one["responses"])
    if operation.gives is not None:
        assert operation.gives.__name__ in description["components"]["schemas"]
    if operation.path.startswith("/v1"):
        assert one["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorResponse")


def test_references_lead_somewhere(description: dict[str, Any]) -> None:
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(description)))
    assert references <= set(description["components"]["schemas"])
    assert {"RankResponse", "ErrorResponse", "NewModel"} <= references


def test_every_shape_of_the_wire_is_described(description: dict[str, Any]) -> None:
    """All but lines of a bulk body, which OpenAPI cannot describe, queries, which are parameters, and whole settings.

    Of these a caller sends some (``NewModel``), or gets all with the name of the model (``NamedSettings``).
    """
    left_out = {"BulkItem", "ModelSettings"}
    shapes = {name for name in wire.__all__ if isinstance(getattr(wire, name), type) and not name.endswith("Query")}
    assert shapes - left_out == set(description["components"]["schemas"])


def test_constraints_are_in_the_description(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    assert schemas["RankRequest"]["additionalProperties"] is False
    assert schemas["NamedSettings"]["properties"]["gamma"]["maximum"] == 1e6
    assert "additionalProperties" not in schemas["RankResponse"]
    limit = next(p for p in description["paths"]["/v1/catalog/items"]["get"]["parameters"] if p["name"] == "limit")
    assert limit["schema"]["maximum"] == 1000
