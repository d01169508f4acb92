"""The service over HTTP, as callers see it: a real server, every endpoint, every error of the contract."""

import json
import re
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from served import FEED, ITEM, JSON, NDJSON, PARQUET, PATCH, RANK, Served, problem, serve
from waiting import PATIENCE, wait_past, wait_until

import rankfall
from rankfall.service.setup import prepare


@pytest.fixture(scope="module")
def api(service_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service_url, timeout=PATIENCE, trust_env=False) as client:
        yield client


@pytest.fixture
def model(api: httpx.Client, request: pytest.FixtureRequest) -> str:
    """A model of this test's own."""
    name = re.sub(r"\W+", "-", request.node.name)[:80]
    assert api.put(f"/v1/models/{name}", json={"k": 4}).status_code == 201
    return name


@pytest.fixture
def item(api: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """The id of an item that is there for this test only."""
    name = f"item of {request.node.name}"
    assert api.put(f"/v1/catalog/items/{name}", json=ITEM).status_code == 200
    yield name
    api.delete(f"/v1/catalog/items/{name}")


def rank(api: httpx.Client, model: str, **ask: Any) -> dict[str, Any]:
    answer = api.post(f"/v1/models/{model}/rank", json=ask)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def feed(api: httpx.Client, event: str, clicked: Any) -> dict[str, Any]:
    answer = api.post("/v1/feedback", json={"event_id": event, "clicked": clicked})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def ids(answer: dict[str, Any]) -> list[Any]:
    return [item["id"] for item in answer["items"]]


# Rank and feedback


def test_a_list_and_its_feedback(api: httpx.Client, model: str) -> None:
    answer = rank(api, model, user="anna", k=3)
    assert set(answer) == {
        *("event_id", "model", "items", "model_version", "policy", "mode", "arm", "expires_at", "unknown")
    }
    assert [item["position"] for item in answer["items"]] == [1, 2, 3]
    assert all(item["title"] == f"Title {item['id'][5:]}" for item in answer["items"])
    assert (answer["model"], answer["policy"], answer["mode"]) == (model, "CascadeHybrid", "online")
    assert (answer["arm"], answer["unknown"]) == ("policy", [])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", answer["expires_at"])
    receipt = feed(api, answer["event_id"], ids(answer)[1])
    assert receipt == {"accepted": 1, "duplicate": 0, "late": 0, "unknown": 0, "rejected": 0, "problems": []}
    again = feed(api, answer["event_id"], 1)
    assert again["duplicate"] == 1
    assert again["problems"][0] == {
        "index": 0,
        "event_id": answer["event_id"],
        "result": "duplicate",
        "reason": "this list has feedback already; the first counts",
    }
    known = api.get(f"/v1/models/{model}").json()
    assert (known["name"], known["learned"], known["settings"]["k"]) == (model, 1, 4)
    assert known["counts"] == {"ranked": 1, "with_feedback": 1, "clicked": 1, "no_click": 0, "expired": 0}
    assert known["arms"]["policy"] == {"with_feedback": 1, "clicked": 1, "rate": 1.0}
    assert [weight["block"] for weight in known["weights"]] == ["topic"] * 4 + ["feature"] * 3
    assert any(weight["weight"] for weight in known["weights"])
    assert rank(api, model)["model_version"] == known["version"]
    shown = api.get(f"/v1/events/{answer['event_id']}").json()
    assert shown["response"] == answer
    assert (shown["user"], shown["segment"], shown["active"], shown["learn"]) == ("anna", None, True, True)
    assert shown["feedback"]["kind"] == "feedback"
    assert shown["feedback"]["clicked"] == [2]
    history = api.get(f"/v1/models/{model}/history").json()
    assert history["bucket_seconds"] == 60
    assert [bucket["arms"]["policy"] for bucket in history["buckets"]] == [{"with_feedback": 1, "clicked": 1}]
    assert api.get(f"/v1/models/{model}/history?hours=24").json()["bucket_seconds"] == 3600


def test_what_came_of_a_list_later(api: httpx.Client) -> None:
    rewards = {"click": 1.0, "purchase": 5.0}
    made = api.put("/v1/models/valued", json={"k": 3, "rewards": rewards})
    assert (made.status_code, made.json()["rewards"]) == (201, rewards)
    shown, other = rank(api, "valued"), rank(api, "valued")
    item = ids(shown)[1]
    feed(api, shown["event_id"], 2)
    feed(api, other["event_id"], None)
    bought = {"event_id": shown["event_id"], "outcomes": [{"id": item, "type": "purchase", "value": 2}]}
    before = api.get("/v1/models/valued").json()
    told = api.post(FEED, json=bought)
    assert told.json() == {"accepted": 1, "duplicate": 0, "late": 0, "unknown": 0, "rejected": 0, "problems": []}
    known = api.get("/v1/models/valued").json()
    assert (known["learned"], known["counts"]) == (before["learned"], before["counts"])
    assert known["weights"] != before["weights"]
    assert known["arms"]["policy"]["reward"] == {"total": 11.0, "mean": 5.5, "sd": pytest.approx(11 / 2**0.5)}
    again = {**bought, "clicked": 1, "outcomes": [*bought["outcomes"], {"position": 1, "type": "gift"}]}
    problems = api.post(FEED, json={"feedback": [{"event_id": "none", "clicked": 1}, again]}).json()["problems"]
    assert [(one["index"], one.get("outcome"), one["result"]) for one in problems] == [
        *((0, None, "unknown"), (1, None, "duplicate"), (1, 0, "duplicate"), (1, 1, "rejected"))
    ]
    outcomes = api.get(f"/v1/events/{shown['event_id']}").json()["outcomes"]
    assert [(one["id"], one["type"], one["value"]) for one in outcomes] == [(item, "purchase", 2.0)]
    counted = api.get("/metrics").text
    assert 'rankfall_outcomes_total{model="valued",result="accepted",type="purchase"} 1.0' in counted
    assert "gift" not in counted  # a label that callers could make up
    refused = api.patch("/v1/models/valued", json={"rewards": {"click": 2}})
    assert "rewards" in problem(refused, 422, "invalid")
    refused = api.put("/v1/models/odd", json={"policy": "CascadeTS", "rewards": rewards})
    assert "CascadeTS cannot learn rewards" in problem(refused, 422, "invalid")
    refused = api.post(
        FEED, content=b'{"event_id": "e", "outcomes": [{"id": 1, "type": "x", "value": NaN}]}', headers=JSON
    )
    assert refused.status_code == 422


def test_explained_scores_add_up(api: httpx.Client, model: str) -> None:
    for item in rank(api, model, explain=True)["items"]:
        parts = item["relevance"] + sum(item["coverage"].values()) + item["bonus"]
        assert parts == pytest.approx(item["score"])


def test_candidates_exclude_and_baseline(api: httpx.Client, model: str) -> None:
    answer = rank(api, model, candidates=["item-1", "x", "item-2"], exclude=["item-2", "y"], baseline=["z"])
    assert ids(answer) == ["item-1"]
    assert answer["unknown"] == ["x", "y", "z"]
    assert "nothing may be shown" in problem(
        api.post(f"/v1/models/{model}/rank", json={"candidates": ["x"]}), 422, "invalid"
    )
    api.patch(f"/v1/models/{model}", json={"mode": "apprentice"})
    answer = rank(api, model, baseline=["item-9", "item-8"])
    assert (ids(answer), answer["arm"], answer["policy"]) == (["item-9", "item-8"], "baseline", "baseline")
    api.patch(f"/v1/models/{model}", json={"mode": "online", "control": 1})
    assert rank(api, model, user="anna", baseline=["item-9"])["arm"] == "control"


@pytest.mark.stress
def test_a_retry_is_answered_byte_for_byte(api: httpx.Client, model: str) -> None:
    ask = {"request_id": "r", "user": "anna"}
    first = api.post(f"/v1/models/{model}/rank", json=ask)
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda _: api.post(f"/v1/models/{model}/rank", json=ask).content, range(8)))
    assert set(again) == {first.content}
    problem(api.post(f"/v1/models/{model}/rank", json={**ask, "k": 2}), 409, "conflict")
    batch = api.post("/v1/rank", json={"requests": [{"model": model, **ask}]})
    assert batch.json()["results"] == [first.json()]


@pytest.mark.stress
def test_requests_that_race_with_one_name_get_one_list(api: httpx.Client, model: str) -> None:
    def ask(_: int) -> str:
        return str(rank(api, model, request_id="race")["event_id"])

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1
    assert api.get(f"/v1/models/{model}").json()["counts"]["ranked"] == 1


def test_a_batch_answers_in_order(api: httpx.Client, model: str) -> None:
    requests = [{"model": model, "k": 1}, {"model": "none"}, {"model": model, "candidates": ["x"]}, {"model": model}]
    results = api.post("/v1/rank", json={"requests": requests}).json()["results"]
    assert [len(one.get("items", [])) for one in results] == [1, 0, 0, 4]
    assert [one["error"]["code"] for one in results[1:3]] == ["not_found", "invalid"]
    events = [results[0]["event_id"], "none", results[3]["event_id"], results[0]["event_id"]]
    feedback = [{"event_id": event, "clicked": 1} for event in events]
    feedback.append({"event_id": results[3]["event_id"], "clicked": {"position": 9}})
    receipt = api.post("/v1/feedback", json={"feedback": feedback}).json()
    assert {name: receipt[name] for name in ("accepted", "duplicate", "unknown", "rejected")} == {
        "accepted": 2,
        "duplicate": 1,
        "unknown": 1,
        "rejected": 1,
    }
    assert [one["index"] for one in receipt["problems"]] == [1, 3, 4]


def test_scopes(api: httpx.Client) -> None:
    api.put("/v1/models/by-user", json={"scope": "user", "k": 2})
    api.put("/v1/models/by-segment", json={"scope": "segment", "k": 2})
    assert "each user" in problem(api.post("/v1/models/by-user/rank", json={}), 422, "invalid")
    assert "each segment" in problem(api.post("/v1/models/by-segment/rank", json={"user": "anna"}), 422, "invalid")
    feed(api, rank(api, "by-user", user="anna")["event_id"], 1)
    feed(api, rank(api, "by-segment", user="anna", segment="home")["event_id"], 1)
    assert api.get("/v1/models/by-user?user=anna").json()["learned"] == 1
    assert api.get("/v1/models/by-user?user=ben").json()["learned"] == 0
    assert api.get("/v1/models/by-segment?segment=home").json()["learned"] == 1
    unnamed = api.get("/v1/models/by-user").json()
    assert (unnamed["learned"], unnamed["weights"]) == (None, [])


def test_an_item_may_be_called_feedback(api: httpx.Client, model: str) -> None:
    assert api.put("/v1/catalog/items/feedback", json=ITEM).status_code == 200
    try:
        assert feed(api, rank(api, model, candidates=["feedback"])["event_id"], "feedback")["accepted"] == 1
        assert feed(api, "feedback", 1)["unknown"] == 1
    finally:
        api.delete("/v1/catalog/items/feedback")


def test_deferred_lists(api: httpx.Client, model: str) -> None:
    event = rank(api, model, defer_activation=True)["event_id"]
    assert api.get(f"/v1/events/{event}").json()["active"] is False
    shown = api.post(f"/v1/events/{event}/activate", headers=JSON)
    assert shown.json()["active"] is True
    assert api.post(f"/v1/events/{event}/activate", headers=JSON).json() == shown.json()
    problem(api.post("/v1/events/none/activate", headers=JSON), 404, "not_found")
    problem(api.get("/v1/events/none"), 404, "not_found")


@pytest.mark.stress
def test_silence_and_late_feedback(api: httpx.Client, model: str) -> None:
    api.patch(f"/v1/models/{model}", json={"feedback_wait": 0.2})
    lists = rank(api, model), rank(api, model, defer_activation=True)
    shown, deferred = (one["event_id"] for one in lists)
    wait_until(lambda: api.get(f"/v1/events/{shown}").json()["feedback"])
    wait_past(api.get(f"/v1/events/{deferred}").json()["expires_at"])
    assert api.get(f"/v1/events/{shown}").json()["feedback"]["kind"] == "expired"
    assert feed(api, shown, 1)["late"] == feed(api, deferred, 1)["late"] == 1
    problem(api.post(f"/v1/events/{deferred}/activate", headers=JSON), 409, "conflict")
    counts = api.get(f"/v1/models/{model}").json()["counts"]
    assert counts == {"ranked": 2, "with_feedback": 1, "clicked": 0, "no_click": 1, "expired": 1}


# What nobody should send


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
    assert api.put("/v1/rank").status_code == 405


def test_limits(api: httpx.Client) -> None:
    many = [f"x{n}" for n in range(10_001)]
    for name in ("candidates", "exclude", "baseline"):
        assert "10000" in problem(api.post(RANK, json={name: many}), 422, "invalid")
    requests = [{"model": "none"}] * 1001
    assert "1000" in problem(api.post("/v1/rank", json={"requests": requests}), 422, "invalid")
    feedback = [{"event_id": "x", "clicked": None}] * 1001
    assert "1000" in problem(api.post(FEED, json={"feedback": feedback}), 422, "invalid")


def test_bodies_that_are_too_large(api: httpx.Client) -> None:
    large = b'{"user": "' + b"u" * (1 << 20) + b'"}'
    problem(api.post(RANK, content=large, headers=JSON), 413, "too_large")

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(large), 1 << 16):
            yield large[start : start + (1 << 16)]

    with suppress(httpx.TransportError):  # without a length; the server need not wait for the rest
        problem(api.post(RANK, content=pieces(), headers=JSON), 413, "too_large")
    assert rank(api, "default")["items"]


@pytest.mark.stress
def test_limits_are_settings(tmp_path: Path, small_catalog: Path) -> None:
    """Lists longer than allowed, and a body without a length that does not end."""
    with limited(tmp_path, small_catalog, body=500, k=2) as served:
        assert "at most 2" in problem(served.client.post(RANK, json={"k": 3}), 422, "invalid")
        problem(served.client.post(RANK, content=b"{" + b" " * 500 + b"}", headers=JSON), 413, "too_large")
        endless = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + 3 * (b"100\r\n" + b" " * 256 + b"\r\n")
        assert b" 413 " in talk(served.port, endless)
        assert rank(served.client, "default", k=2)["items"]


@pytest.mark.stress
def test_a_body_that_does_not_arrive(tmp_path: Path, small_catalog: Path) -> None:
    with limited(tmp_path, small_catalog, body_seconds=0.1) as served:
        assert b" 408 " in talk(served.port, HEAD + b'Content-Length: 20\r\n\r\n{"k":')


def limited(folder: Path, catalog: Path, **limits: float) -> Served:
    """A server whose limits are not the usual ones."""
    served = Served(log=folder / "log", data=folder / "data", catalog=catalog)
    prepare(str(folder / "data"), lambda: rankfall.Catalog.read_parquet(catalog), {})
    served.command = [sys.executable, "-c", LIMITED, str(folder / "data"), json.dumps(limits), str(served.port)]
    return served


HEAD = b"POST " + RANK.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

LIMITED = """
import json, sys, uvicorn
from rankfall.service.http.app import Config, from_environment
Config(store=sys.argv[1], limits=json.loads(sys.argv[2])).publish()
uvicorn.run(from_environment, factory=True, port=int(sys.argv[3]), log_config=None)
"""


def talk(port: int, said: bytes) -> bytes:
    """The first line of what the server answers, however little it was told."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as caller:
        caller.sendall(said)
        with caller.makefile("rb") as answer:
            return answer.readline()


# The catalog


def test_the_catalog(api: httpx.Client) -> None:
    known = api.get("/v1/catalog").json()
    assert known["topics"] == ["comedy", "drama", "horror", "science fiction"]
    assert (known["features"], known["ids"], known["titles"]) == (3, "string", True)
    found, after = [], None
    while True:
        page = api.get("/v1/catalog/items", params={"limit": 5, **({"after": after} if after else {})}).json()
        found += page["items"]
        after = page["next"]
        if after is None:
            break
    assert len({item["id"] for item in found}) == len(found) == known["items"]
    assert api.get(f"/v1/catalog/items/{found[3]['id']}").json() == found[3]
    problem(api.get("/v1/catalog/items?after=none"), 404, "not_found")


def test_changes_of_the_catalog_are_live_at_once(api: httpx.Client, model: str) -> None:
    version = api.get("/v1/catalog").json()["version"]
    path = "/v1/catalog/items/a%2Fnew%20one%3F"
    best = {"title": "New", "coverage": {"comedy": 1.0, "drama": 1.0}, "relevance": [9.0, 9.0, 9.0]}
    made = api.put(path, json=best).json()
    assert (made["id"], made["created"]) == ("a/new one?", True)
    assert made["version"] > version
    answer = rank(api, model)
    assert answer["items"][0]["id"] == "a/new one?"
    assert answer["items"][0]["title"] == "New"
    assert api.put(path, json=best).json()["created"] is False
    changed = api.patch(path, json={"coverage": {"comedy": 0, "horror": 0.5}, "title": "Newer"}).json()
    assert changed["created"] is False
    assert api.get(path).json() == {
        "id": "a/new one?",
        "title": "Newer",
        "coverage": {"drama": 1.0, "horror": 0.5},
        "relevance": [9.0, 9.0, 9.0],
    }
    assert "opera" in problem(api.patch(path, json={"coverage": {"opera": 1}}), 422, "invalid")
    assert api.delete(path).json()["version"] > changed["version"]
    problem(api.get(path), 404, "not_found")
    later = rank(api, model)
    assert "a/new one?" not in ids(later)
    assert feed(api, answer["event_id"], "a/new one?")["accepted"] == 1  # learned with the features as shown
    assert api.get(f"/v1/models/{model}").json()["learned"] == 1
    assert rank(api, model, candidates=["a/new one?", "item-1"])["unknown"] == ["a/new one?"]


def test_bulk_is_all_or_nothing(api: httpx.Client) -> None:
    def lines(*entries: Any) -> bytes:
        return "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in entries).encode()

    before = api.get("/v1/catalog").json()
    one, two = {"id": "bulk-1", **ITEM}, {"id": "bulk-2", "title": "Two", **ITEM}
    for wrong in (
        {"id": "bulk-3", "coverage": {"opera": 1}, "relevance": [0, 0, 0]},
        {"id": [], "delete": True},
        {"id": True, "delete": True},
        {"delete": True},
        {"id": "bulk-1", **ITEM},
        {"id": 7, **ITEM},
        "nonsense",
        "[" * 5000,
        "NaN",
        "[]",
    ):
        assert problem(api.post("/v1/catalog/bulk", content=lines(one, wrong), headers=NDJSON), 422, "invalid")
    assert api.get("/v1/catalog").json() == before
    done = api.post("/v1/catalog/bulk", content=lines(one, "", two), headers=NDJSON).json()
    assert {**done, "version": 0} == {"put": 2, "created": 2, "deleted": 0, "version": 0}
    done = api.post(
        "/v1/catalog/bulk",
        content=lines({**one, "title": "One"}, {"id": "bulk-2", "delete": True}, {"id": "gone", "delete": True}),
        headers=NDJSON,
    ).json()
    assert (done["put"], done["created"], done["deleted"]) == (1, 0, 1)
    assert api.get("/v1/catalog/items/bulk-1").json()["title"] == "One"
    problem(api.get("/v1/catalog/items/bulk-2"), 404, "not_found")
    assert api.delete("/v1/catalog/items/bulk-1").status_code == 200
    problem(api.post("/v1/catalog/bulk", content=b"{}", headers=JSON), 415, "unsupported")
    everything = [item["id"] for item in api.get("/v1/catalog/items?limit=1000").json()["items"]]
    gone = lines(*({"id": name, "delete": True} for name in everything))
    problem(api.post("/v1/catalog/bulk", content=gone, headers=NDJSON), 409, "conflict")
    assert api.get("/v1/catalog").json()["items"] == before["items"]


def test_bulk_takes_parquet(api: httpx.Client, tmp_path: Path) -> None:
    before = api.get("/v1/catalog").json()
    topics, path = before["topics"], tmp_path / "more.parquet"

    def write(ids: list[Any], features: int = 3, title: str = "T", topics: list[str] = topics) -> bytes:
        rows = len(ids)
        rankfall.Catalog(
            np.full((rows, len(topics)), 0.5),
            np.zeros((rows, features)),
            ids=ids,
            titles=[title] * rows,
            topics=topics,
        ).write_parquet(path)
        return path.read_bytes()

    for wrong in (
        write([1, 2]),
        write(["a", "b"], features=2),
        write(["a", "b"], topics=[*topics[:-1], "opera"]),
        write(["a", "new\nline"]),
        write(["a", "b" * 201]),
        write(["a"], title="t" * 1001),
        write(["a", "b"])[:-20],
        b"PAR1 nonsense",
        b"",
    ):
        message = problem(api.post("/v1/catalog/bulk", content=wrong, headers=PARQUET), 422, "invalid")
        assert "/tmp" not in message
    assert api.get("/v1/catalog").json() == before
    done = api.post("/v1/catalog/bulk", content=write(["p1", "p2"]), headers=PARQUET).json()
    assert (done["put"], done["created"], done["deleted"]) == (2, 2, 0)
    assert api.get("/v1/catalog/items?limit=1000").status_code == 200
    for name in ("p1", "p2"):
        assert api.delete(f"/v1/catalog/items/{name}").status_code == 200


@pytest.mark.stress
def test_concurrent_changes_while_ranking(api: httpx.Client, model: str, item: str) -> None:
    """Items come and go while lists are made: each list names the items whose features it was made with."""

    def change(n: int) -> None:
        path = f"/v1/catalog/items/churn-{n % 3}"
        assert api.put(path, json=ITEM).status_code == 200
        assert api.delete(path).status_code in (200, 404)

    def ask(_: int) -> None:
        answer = rank(api, model, k=4, explain=True)
        for one in answer["items"]:
            assert one["title"] in (one["id"], f"Title {one['id'][5:]}")
        assert feed(api, answer["event_id"], 1)["accepted"] == 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: change(n) if n % 2 else ask(n), range(60)))
    assert api.get(f"/v1/models/{model}").json()["learned"] == 30
    for n in range(3):
        api.delete(f"/v1/catalog/items/churn-{n}")


# Models


def test_models(api: httpx.Client) -> None:
    settings = {"gamma": 0.5, "k": 2, "forgetting": {"window": 10}}
    made = api.put("/v1/models/mine", json=settings)
    assert made.status_code == 201
    assert made.json()["name"] == "mine"
    assert api.put("/v1/models/mine", json=settings).status_code == 200
    problem(api.put("/v1/models/mine", json={"gamma": 1}), 409, "conflict")
    changed = api.patch("/v1/models/mine", json={"gamma": 0.1, "pinned": [{"id": "item-3", "position": 2}]}).json()
    assert (changed["gamma"], changed["k"]) == (0.1, 2)
    assert ids(rank(api, "mine"))[1] == "item-3"
    unknown = {"pinned": [{"id": "item-3", "position": 1}, {"id": "nowhere", "position": 2}]}
    for refused in (api.patch("/v1/models/mine", json=unknown), api.put("/v1/models/other", json=unknown)):
        assert "no item 'nowhere', so it cannot be pinned" in problem(refused, 422, "invalid")
    listed = {one["name"]: one for one in api.get("/v1/models").json()["models"]}
    assert listed["mine"] == changed
    assert "default" in listed


def test_a_model_changes_to_a_policy_that_learns_alike(api: httpx.Client, model: str) -> None:
    for click in (1, 2, None):
        feed(api, rank(api, model)["event_id"], click)
    kept = api.get(f"/v1/models/{model}").json()["weights"]
    assert api.patch(f"/v1/models/{model}", json={"policy": "CascadeHybridGreedy"}).json()["policy"] == (
        "CascadeHybridGreedy"
    )
    answer = rank(api, model, explain=True)
    assert answer["policy"] == "CascadeHybridGreedy"
    assert {item["bonus"] for item in answer["items"]} == {0.0}
    assert api.get(f"/v1/models/{model}").json()["weights"] == kept
    said = problem(api.patch(f"/v1/models/{model}", json={"policy": "CascadeKLUCB"}), 409, "conflict")
    assert "this model can change to: CascadeHybrid, CascadeHybridEpsilon, CascadeHybridTS." in said
    said = problem(api.patch(f"/v1/models/{model}", json={"policy": "BatchRank"}), 422, "invalid")
    assert "choose from CascadeDUCB, " in said
    assert api.get(f"/v1/models/{model}").json()["settings"]["policy"] == "CascadeHybridGreedy"


def test_policies_that_count_items(api: httpx.Client) -> None:
    assert api.put("/v1/models/counted", json={"policy": "CascadeKLUCB", "k": 3}).status_code == 201
    assert api.get("/v1/models/counted").json()["weights"] == []
    answer = rank(api, "counted", explain=True)
    assert [item["score"] for item in answer["items"]] == [None] * 3  # never seen: without bound
    assert feed(api, answer["event_id"], 2)["accepted"] == 1
    first, second, third = ids(answer)
    known = {one["name"]: one for one in api.get("/v1/models/counted").json()["weights"]}
    assert sorted(one["weight"] for one in known.values()) == [0.0, 1.0]
    assert {one["block"] for one in known.values()} == {"item"}
    again = rank(api, "counted", candidates=[first, second, third], explain=True)
    assert ids(again) == [third, second, first]
    for item in again["items"][1:]:
        assert item["relevance"] + item["bonus"] == pytest.approx(item["score"])
    assert api.patch("/v1/models/counted", json={"policy": "CascadeTS"}).status_code == 200
    assert rank(api, "counted")["policy"] == "CascadeTS"
    assert "has no gamma" in problem(api.patch("/v1/models/counted", json={"gamma": 0.5}), 422, "invalid")
    assert "needs forgetting" in problem(api.put("/v1/models/x", json={"policy": "CascadeDUCB"}), 422, "invalid")
    made = {"policy": "CascadeDUCB", "forgetting": {"discount": 0.99}}
    assert api.put("/v1/models/fading", json=made).status_code == 201
    feed(api, rank(api, "fading", k=2)["event_id"], 1)


def test_several_clicks_are_learned_if_asked_for(api: httpx.Client) -> None:
    assert api.put("/v1/models/several", json={"feedback": "last_click", "k": 4}).status_code == 201
    assert api.put("/v1/models/single", json={"k": 4}).status_code == 201
    for name in ("several", "single"):
        feed(api, rank(api, name)["event_id"], [1, 3])
    several, single = (api.get(f"/v1/models/{name}").json()["weights"] for name in ("several", "single"))
    assert sum(one["sd"] for one in several) < sum(one["sd"] for one in single)


def test_snapshots(api: httpx.Client, model: str, tmp_path: Path) -> None:
    def weights() -> list[float]:
        return [one["weight"] for one in api.get(f"/v1/models/{model}").json()["weights"]]

    for click in (1, 2, None):
        feed(api, rank(api, model)["event_id"], click)
    kept = weights()
    made = api.post(f"/v1/models/{model}/snapshots", json={"name": "good"})
    assert made.status_code == 201
    snapshot = made.json()
    assert snapshot["name"] == "good"
    assert api.post(f"/v1/models/{model}/snapshots", headers=JSON).status_code == 201
    assert [one["name"] for one in api.get(f"/v1/models/{model}/snapshots").json()["snapshots"]] == ["good", ""]
    feed(api, rank(api, model)["event_id"], 4)
    assert weights() != kept
    file = tmp_path / "policy"
    down = api.get(f"/v1/models/{model}/snapshots/{snapshot['id']}/download")
    assert down.headers["content-type"] == "application/octet-stream"
    file.write_bytes(down.content)
    assert rankfall.load(file).weights.tolist() == kept  # type: ignore[attr-defined]
    assert "version" in api.post(f"/v1/models/{model}/reset", headers=JSON).json()
    assert not any(weights())
    assert api.post(f"/v1/models/{model}/snapshots/{snapshot['id']}/restore", headers=JSON).status_code == 200
    assert weights() == kept
    assert api.get(f"/v1/models/{model}").json()["learned"] == 3


def test_a_user_is_forgotten(api: httpx.Client, model: str) -> None:
    api.put("/v1/models/forgetful", json={"scope": "user"})
    own = rank(api, "forgetful", user="x/y z")["event_id"]
    shared = rank(api, model, user="x/y z", request_id="r")["event_id"]
    feed(api, own, 1)
    gone = api.delete("/v1/users/x%2Fy%20z").json()
    assert gone == {"user": "x/y z", "models": 1, "events_removed": 1, "events_anonymised": 1}
    problem(api.get(f"/v1/events/{own}"), 404, "not_found")
    assert api.get(f"/v1/events/{shared}").json()["user"] is None
    assert api.get("/v1/models/forgetful", params={"user": "x/y z"}).json()["learned"] == 0
    assert feed(api, shared, 1)["accepted"] == 1


# Running


def test_health_page_and_description(api: httpx.Client) -> None:
    assert api.get("/health/live").json() == {"status": "live"}
    assert api.get("/health/ready").json() == {"status": "ready"}
    page = api.get("/")
    assert "text/html" in page.headers["content-type"]
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert api.get("/docs").status_code == 200
    paths = api.get("/openapi.json").json()["paths"]
    assert {"/v1/models/{model}/rank", "/v1/feedback", "/v1/catalog/bulk", "/v1/users/{user}"} <= set(paths)


def metrics(api: httpx.Client) -> dict[tuple[str, ...], float]:
    answer = api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def check_counts(api: httpx.Client, model: str) -> None:
    """Ranks and answers, and looks whether the counts say so."""
    events = [rank(api, model)["event_id"] for _ in range(5)]
    for event, click in zip(events, [1, 2, None], strict=False):
        feed(api, event, click)
    feed(api, events[0], 1)
    feed(api, events[4], 99)
    counted = metrics(api)
    of = f"model={model}"
    assert counted["rankfall_lists_total", "arm=policy", of] == 5
    assert counted["rankfall_lists_with_feedback_total", "arm=policy", of] == 3
    assert counted["rankfall_clicked_total", "arm=policy", of] == 2
    assert counted["rankfall_feedback_total", of, "result=accepted"] == 3
    assert counted["rankfall_feedback_total", of, "result=duplicate"] == 1
    assert counted["rankfall_feedback_total", of, "result=rejected"] == 1
    assert counted["rankfall_topics_covered_count", of] == 5
    assert counted["rankfall_requests_total", "route=/v1/models/{model}/rank", "status=200"] >= 5
    assert counted["rankfall_request_seconds_count", "route=/v1/feedback"] >= 5
    assert counted["rankfall_pending_events",] >= 2
    assert counted["rankfall_fold_lag_seconds",] >= 0
    assert counted["rankfall_models_in_memory",] >= 1
    assert counted["rankfall_store_errors_total",] == 0


def test_metrics(api: httpx.Client, model: str) -> None:
    check_counts(api, model)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.stress
def test_two_workers_are_one_service(
    kind: str, tmp_path: Path, small_catalog: Path, request: pytest.FixtureRequest
) -> None:
    where: dict[str, Any] = {"data": tmp_path / "data"}
    if kind == "postgresql":
        where = {"store": request.getfixturevalue("postgres_url")}
    with Served(log=tmp_path / "log", catalog=small_catalog, workers=2, **where) as served:

        def ask(path: str, **options: Any) -> httpx.Response:
            """On a connection of its own, which may reach either worker."""
            method = "POST" if options else "GET"
            return httpx.request(method, served.url + path, timeout=PATIENCE, trust_env=False, **options)

        for turn in range(12):
            answer = ask(RANK, json={"k": 3}).json()
            receipt = ask(FEED, json={"event_id": answer["event_id"], "clicked": turn % 3 + 1}).json()
            assert receipt["accepted"] == 1, receipt
        learned = [wait_until(lambda: m if (m := ask(PATCH).json())["learned"] == 12 else {}) for _ in range(10)]
        assert len({json.dumps(model["weights"]) for model in learned}) == 1
        counted = {
            sample.name: sample.value
            for family in text_string_to_metric_families(ask("/metrics").text)
            for sample in family.samples
            if sample.labels.get("model") == "default" and sample.labels.get("result", "accepted") == "accepted"
        }
        assert counted["rankfall_lists_total"] == counted["rankfall_feedback_total"] == 12
        assert served.stop() == 0


def test_postgresql_serves_the_same(tmp_path: Path, small_catalog: Path, postgres_url: str) -> None:
    with Served(log=tmp_path / "log", store=postgres_url, catalog=small_catalog) as served:
        api = served.client
        for test in (test_a_list_and_its_feedback, test_a_batch_answers_in_order, test_metrics):
            assert api.put(f"/v1/models/{test.__name__}", json={"k": 4}).status_code == 201
            test(api, test.__name__)
        for n, test in enumerate((test_changes_of_the_catalog_are_live_at_once, test_a_user_is_forgotten)):
            assert api.put(f"/v1/models/m{n}", json={"k": 4}).status_code == 201
            test(api, f"m{n}")
        assert api.put("/v1/models/snap", json={"k": 4}).status_code == 201
        test_snapshots(api, "snap", tmp_path)
        test_bulk_is_all_or_nothing(api)
        assert api.put("/v1/catalog/items/nul", json={**ITEM, "title": "a\0b"}).status_code == 200
        answer = rank(api, "snap", k=20)
        assert {one["title"] for one in answer["items"]} >= {"a\0b"}


def test_items_without_features(tmp_path: Path) -> None:
    """An engineer with ids and clicks and nothing else."""
    path = tmp_path / "items.csv"
    path.write_text("id,name\n1,one\n2,two\n3,three\n")
    done = serve("--data", str(tmp_path / "data"), "--catalog", str(path))
    assert "CascadeHybrid needs topics or relevance features" in done.stdout + done.stderr
    options = {"policy": "CascadeSWUCB", "forgetting": "window=50", "title": "name"}
    with Served(log=tmp_path / "log", data=tmp_path / "data", catalog=path, **options) as served:
        api = served.client
        answer = rank(api, "default", k=2)
        assert [item["title"] for item in answer["items"]] == ["one", "two"]
        assert feed(api, answer["event_id"], {"id": 2})["accepted"] == 1
        assert ids(rank(api, "default", k=3)) == [3, 2, 1]
        assert api.put("/v1/catalog/items/4", json={"title": "four"}).json()["id"] == 4
        assert ids(rank(api, "default", k=4))[:2] == [3, 4]


def test_whole_numbers_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "catalog.parquet"
    rankfall.Catalog(np.eye(3), np.zeros((3, 1)), ids=[10, 20, 30], topics=["a", "b", "c"]).write_parquet(path)
    with Served(log=tmp_path / "log", data=tmp_path / "data", catalog=path) as served:
        api = served.client
        assert api.get("/v1/catalog").json()["ids"] == "integer"
        answer = rank(api, "default", candidates=[10, 30, 40, "30"])
        assert sorted(ids(answer)) == [10, 30]
        assert answer["unknown"] == [40, "30"]
        assert "title" not in answer["items"][0]
        assert feed(api, answer["event_id"], 30)["rejected"] == 1  # a number is a position
        assert feed(api, answer["event_id"], "30")["rejected"] == 1
        assert feed(api, answer["event_id"], {"id": 30})["accepted"] == 1
        item = {"coverage": {}, "relevance": [0.5]}
        assert api.put("/v1/catalog/items/40", json=item).json()["id"] == 40
        assert api.get("/v1/catalog/items?after=20").json()["items"][0]["id"] == 30
        for wrong in ("x", "1_0", "+5", "05", "%20" + "5", "٣", "9" * 30):
            problem(api.put(f"/v1/catalog/items/{wrong}", json=item), 422, "invalid")
            problem(api.get(f"/v1/catalog/items/{wrong}"), 404, "not_found")
        for name in (10, 20, 30):
            assert api.delete(f"/v1/catalog/items/{name}").status_code == 200
        problem(api.delete("/v1/catalog/items/40"), 409, "conflict")
        lines = b'{"id": 40, "delete": true}\n' + json.dumps({"id": 50, **item}).encode()
        assert api.post("/v1/catalog/bulk", content=lines, headers=NDJSON).status_code == 200
        assert api.get("/v1/catalog").json()["ids"] == "integer"
