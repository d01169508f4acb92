"""What nobody should send, and what does not exist: every error says what is wrong."""

import json

import httpx
import pytest
from served import FEED, ITEM, JSON, PATCH, RANK, problem


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", RANK, '{"k": NaN}'),
        ("POST", RANK, '{"k": Infinity}'),
        ("POST", RANK, '{"k": 1e400}'),
        ("POST", RANK, '{"k": 1.5}'),
        ("POST", RANK, '{"k": true}'),
        ("POST", RANK, '{"k": 0}'),
        ("POST", RANK, '{"k": 1001}'),
        ("POST", RANK, f'{{"k": {"9" * 100}}}'),
        ("POST", RANK, '{"user": ""}'),
        ("POST", RANK, f'{{"user": "{"u" * 201}"}}'),
        ("POST", RANK, '{"user": "a\\u0000b"}'),
        ("POST", RANK, '{"user": "a\\nb"}'),
        ("POST", RANK, '{"user": 7}'),
        ("POST", RANK, '{"candidates": [1.5]}'),
        ("POST", RANK, '{"candidates": [[]]}'),
        ("POST", RANK, '{"candidates": "item-1"}'),
        ("POST", RANK, '{"nonsense": 1}'),
        ("POST", RANK, "[]"),
        ("POST", RANK, "null"),
        ("POST", "/v1/rank", '{"requests": []}'),
        ("POST", "/v1/rank", '{"requests": [{}]}'),
        ("POST", FEED, '{"event_id": "x"}'),
        ("POST", FEED, '{"event_id": "x", "clicked": 0}'),
        ("POST", FEED, '{"event_id": "x", "clicked": true}'),
        ("POST", FEED, '{"event_id": "x", "clicked": {"id": "a", "position": 1}}'),
        ("POST", FEED, '{"event_id": "x", "clicked": {}}'),
        ("POST", FEED, '{"feedback": []}'),
        ("POST", FEED, "{}"),
        ("PATCH", PATCH, '{"gamma": NaN}'),
        ("PATCH", PATCH, '{"gamma": -1}'),
        ("PATCH", PATCH, '{"gamma": null}'),
        ("PATCH", PATCH, '{"control": Infinity}'),
        ("PATCH", PATCH, '{"feedback_wait": 0}'),
        ("PATCH", PATCH, '{"scope": "user"}'),
        ("PATCH", PATCH, '{"pinned": [{"id": "a", "position": 1}, {"id": "b", "position": 1}]}'),
        ("PUT", "/v1/models/new", '{"policy": "Best"}'),
        ("PUT", "/v1/models/new", '{"forgetting": {"discount": 1}}'),
        ("PUT", "/v1/models/a%20b", "{}"),
        ("PUT", "/v1/catalog/items/new", '{"coverage": {"comedy": NaN}, "relevance": [0, 0, 0]}'),
        ("PUT", "/v1/catalog/items/new", '{"coverage": {"comedy": 2}, "relevance": [0, 0, 0]}'),
        ("PUT", "/v1/catalog/items/new", '{"coverage": {"opera": 1}, "relevance": [0, 0, 0]}'),
        ("PUT", "/v1/catalog/items/new", '{"coverage": {"\\ud800": 1}, "relevance": [0, 0, 0]}'),
        ("PUT", "/v1/catalog/items/new", '{"coverage": {}, "relevance": [0, 0]}'),
        ("PUT", "/v1/catalog/items/new", '{"coverage": {}, "relevance": [0, 0, 1e9]}'),
        ("PUT", "/v1/catalog/items/new", '{"title": "\\ud800", "coverage": {}, "relevance": [0, 0, 0]}'),
        ("PUT", "/v1/catalog/items/a%00b", json.dumps(ITEM)),
        ("DELETE", "/v1/users/a%00b", ""),
        ("GET", "/v1/models/default/history?hours=nan", ""),
        ("GET", "/v1/models/default/history?hours=0", ""),
        ("GET", "/v1/models/default?user=%00", ""),
        ("GET", "/v1/catalog/items?limit=0", ""),
    ],
)
def test_nonsense_is_refused_with_a_reason(api: httpx.Client, method: str, path: str, body: str) -> None:
    answer = api.request(method, path, content=body.encode(), headers=JSON)
    assert len(problem(answer, 422, "invalid")) > 10


@pytest.mark.parametrize(
    "body",
    [b"nonsense", b"", b"\xff\xfe{}", b"[" * 100_000, b'{"user": ' * 50_000, b'{"k": 1', b'{"user": "\\ud800"}'],
)
def test_what_is_no_json_is_refused(api: httpx.Client, body: bytes) -> None:
    answer = api.post(RANK, content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    problem(answer, answer.status_code, {400: "bad_request", 422: "invalid"}[answer.status_code])
    answer = api.put("/v1/models/other", content=body, headers=JSON)
    assert answer.status_code in (400, 422)


def test_what_does_not_exist(api: httpx.Client) -> None:
    assert "no model 'none'" in problem(api.post("/v1/models/none/rank", json={}), 404, "not_found")
    for path in ("/nothing", "/v1/models/none", "/v1/models/none/history", "/v1/catalog/items/none", "/page/none"):
        problem(api.get(path), 404, "not_found")
    for path in ("/v1/models/none/reset", "/v1/models/default/snapshots/none/restore"):
        problem(api.post(path, headers=JSON), 404, "not_found")
    problem(api.get("/v1/models/default/snapshots/none/download"), 404, "not_found")
    problem(api.delete("/v1/catalog/items/none"), 404, "not_found")
    problem(api.patch("/v1/catalog/items/none", json={}), 404, "not_found")
    assert "there is nothing at '/v1/model'; /docs" in problem(api.get("/v1/model"), 404, "not_found")
    answer = api.delete("/v1/models/default")
    assert answer.headers["allow"] == "GET, HEAD, PATCH, PUT"
    said = problem(answer, 405, "bad_request")
    assert said == "'DELETE' is not possible at '/v1/models/default'; GET, HEAD, PATCH, PUT can be sent"
    problem(api.put("/v1/rank"), 405, "bad_request")
    problem(api.post("/page/app.js"), 405, "bad_request")


@pytest.mark.parametrize("candidates", [["nowhere", "item-1"], [1], [f"none-{n}" for n in range(100)]])
def test_an_empty_list_names_the_unknown_candidates(api: httpx.Client, candidates: list[str | int]) -> None:
    """A number for a text is the usual mistake: without its name nobody sees it."""
    said = problem(api.post(RANK, json={"candidates": candidates, "exclude": ["item-1"]}), 422, "invalid")
    assert f"unknown or blocked: {candidates[0]!r}" in said
    assert len(said) < 300


def test_a_setting_that_is_fixed_is_not_called_unknown(api: httpx.Client) -> None:
    answer = api.patch(PATCH, json={"rewards": {"click": 1, "purchase": 5}})
    assert "body.rewards never changes: make another model" in problem(answer, 422, "invalid")
    assert "body.reward: unknown field" in problem(api.patch(PATCH, json={"reward": {}}), 422, "invalid")
