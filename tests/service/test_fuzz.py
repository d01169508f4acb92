"""Requests made at random from the service's own description: no error of ours, no answer it does not name."""

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from waiting import START_PATIENCE

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.parquet")
def as_bytes(_context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def attack(url: str, examples: int) -> str:
    """Every operation, with requests that fit its description and requests that do not; what went wrong."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    there = what_is_there(url)
    found = []
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                _attack(operation, mode, examples, there)
            except Unsatisfiable:  # it takes nothing that could be wrong
                continue
            except Exception as problem:
                found.append(f"{operation.label}, {mode.value}: {problem}")
    return "\n\n".join(found)


def what_is_there(url: str) -> dict[str, str]:
    """Names for paths that lead somewhere, which random ones never do."""
    with httpx.Client(base_url=url, timeout=START_PATIENCE, trust_env=False) as client:
        event = client.post("/v1/models/default/rank", json={}).json()["event_id"]
        snapshot = client.post("/v1/models/default/snapshots", json={}).json()["id"]
    return {"model": "default", "item": "item-1", "event_id": event, "snapshot": snapshot, "user": "anna"}


def _attack(operation: Any, mode: GenerationMode, examples: int, there: dict[str, str]) -> None:
    @given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
    @settings(max_examples=examples, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def attempt(case: Any, real: bool) -> None:
        if real:
            case.path_parameters |= {name: there[name] for name in case.path_parameters}
        case.call_and_validate(checks=CHECKS, timeout=START_PATIENCE)  # a new policy may be compiled first

    attempt()


def test_random_requests(service_url: str) -> None:
    assert not attack(service_url, 10)


@pytest.mark.soak
def test_random_requests_at_length(service_url: str) -> None:
    assert not attack(service_url, 500)
