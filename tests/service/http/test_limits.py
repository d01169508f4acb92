"""No request costs more than it may, and none keeps others waiting."""

import asyncio
import socket
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from in_process import service
from served import FEED, JSON, NDJSON, RANK, problem
from waiting import PATIENCE

from rankfall.policies import LinearPolicy
from rankfall.service import list_maker
from rankfall.service.engine import Engine
from rankfall.service.http.routes import catalog as routes

# On the event loop


@pytest.mark.stress
def test_a_long_list_keeps_nobody_waiting(tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, choose = threading.Event(), threading.Event(), LinearPolicy.choose

    def held(*args: Any) -> Any:
        begun.set()
        assert go_on.wait(PATIENCE)
        return choose(*args)

    async def test() -> None:
        async with service(tmp_path / "data", small_catalog) as (client, _):
            monkeypatch.setattr(LinearPolicy, "choose", held)
            monkeypatch.setattr(list_maker, "LONG", 100)
            long = asyncio.create_task(client.post(RANK, json={"k": 12}))
            await asyncio.to_thread(begun.wait)
            short = asyncio.create_task(client.post(RANK, json={"k": 1}))  # of the same state
            for _ in range(100):
                assert (await client.get("/health/live")).status_code == 200
            go_on.set()
            assert [(await one).json()["arm"] for one in (long, short)] == ["policy"] * 2

    asyncio.run(test())


@pytest.mark.stress
def test_a_batch_gives_others_their_turn(tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = [], Engine.make
    clock = SimpleNamespace(perf_counter=lambda: list_maker.TURN / 10 * len(made))  # ten lists take a turn

    def counted(*args: Any) -> Any:
        made.append(1)
        return make(*args)

    async def test() -> None:
        async with service(tmp_path / "data", small_catalog) as (client, _):
            monkeypatch.setattr(Engine, "make", counted)
            monkeypatch.setattr(list_maker, "time", clock)
            requests = [{"model": "default", "k": 3}] * 100
            batch = asyncio.create_task(client.post("/v1/rank", json={"requests": requests}))
            seen = [0]
            while not batch.done():
                await asyncio.sleep(0)
                seen.append(len(made))
            assert len((await batch).json()["results"]) == seen[-1] == 100
            assert max(after - before for before, after in pairwise(seen)) <= 11

    asyncio.run(test())


@pytest.mark.stress
@pytest.mark.parametrize("held", ["read_lines", "_check_some_stay", "encode_catalog"])
def test_many_items_keep_nobody_waiting(
    tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    """Neither the event loop nor the thread that writes, nor anybody who waits for a transaction."""
    begun, go_on, original = threading.Event(), threading.Event(), getattr(routes, held)

    def hold(*args: Any) -> Any:
        begun.set()
        assert go_on.wait(PATIENCE)
        return original(*args)

    async def test() -> None:
        line = b'{"id": "new", "coverage": {"drama": 0.5}, "relevance": [0.1, 0.2, 0.3], "title": "New"}'
        async with service(tmp_path / "data", small_catalog) as (client, _):
            monkeypatch.setattr(routes, held, hold)
            bulk = asyncio.create_task(client.post("/v1/catalog/bulk", content=line, headers=NDJSON))
            await asyncio.to_thread(begun.wait)
            event = (await client.post(RANK, json={"k": 3})).json()["event_id"]
            assert (await client.post(FEED, json={"event_id": event, "clicked": 1})).json()["accepted"] == 1
            assert (await client.patch("/v1/models/default", json={"gamma": 0.5})).status_code == 200
            go_on.set()
            answer = (await bulk).json()
            assert [answer[what] for what in ("put", "created", "deleted")] == [1, 1, 0]

    asyncio.run(test())


# By what a request will cost


def test_lists_cost_what_they_may(tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.service.http.limits.LONG_LIST", 5)
    limits = {"k": 10, "scores": 60, "batch_items": 12}

    async def test() -> None:
        async with service(tmp_path / "data", small_catalog, limits=limits) as (client, _):

            async def told(path: str, **request: Any) -> str:
                return problem(await client.post(path, json=request), 422, "invalid")

            assert "at most 10" in await told(RANK, k=11)
            assert "k is 6 of 12 items; of so many, at most 5 are ranked" in await told(RANK, k=6)
            candidates = [f"item-{n}" for n in range(10)]
            assert len((await client.post(RANK, json={"k": 6, "candidates": candidates})).json()["items"]) == 6
            assert len((await client.post(RANK, json={"k": 5})).json()["items"]) == 5
            batch = [{"model": "default"}, {"model": "default", "k": 3}, {"model": "none"}]  # k is 10 if not given
            assert "lists of 13 items in all; at most 12" in await told("/v1/rank", requests=batch)
            assert (await client.post("/v1/rank", json={"requests": batch[1:]})).status_code == 200

    asyncio.run(test())


def test_a_catalog_is_judged_before_it_is_unpacked(
    tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        headers = {"Content-Type": "application/vnd.apache.parquet"}
        async with service(tmp_path / "data", small_catalog, limits={"unpacked": 500}) as (client, _):
            monkeypatch.setattr("rankfall.Catalog.read_parquet", lambda _path: pytest.fail("it was unpacked"))
            answer = await client.post("/v1/catalog/bulk", content=small_catalog.read_bytes(), headers=headers)
            assert "at most 500 are taken" in problem(answer, 413, "too_large")

    asyncio.run(test())


def test_clicks_are_limited(api: httpx.Client) -> None:
    event = api.post(RANK, json={"k": 3}).json()["event_id"]
    told = problem(api.post(FEED, json={"event_id": event, "clicked": [1] * 1001}), 422, "invalid")
    assert "length <= 1000" in told
    assert api.post(FEED, json={"event_id": event, "clicked": [1] * 1000}).json()["accepted"] == 1


LONG = "x" * 200_000
NAME = "ö" * 200  # as long as a name may be


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", RANK, {LONG: 1}),
        ("POST", RANK, {"user": LONG}),
        ("POST", RANK, {"user": "\n" * 200}),
        ("POST", FEED, {"event_id": LONG, "clicked": None}),
        ("POST", FEED, {"event_id": "x", "clicked": LONG}),
        ("POST", FEED, {"event_id": "x", "clicked": [LONG]}),
        ("POST", FEED, {"event_id": "x", "clicked": {"id": LONG}}),
        ("POST", FEED, {"event_id": "x", "clicked": {LONG: 1}}),
        ("PATCH", "/v1/models/default", {"policy": LONG}),
        ("PATCH", "/v1/models/default", {"mode": LONG}),
        ("PUT", "/v1/catalog/items/new", {"coverage": {LONG: 1}, "relevance": [0, 0, 0]}),
        ("POST", f"/v1/models/{LONG[:30_000]}/rank", {}),
        ("GET", f"/v1/models/{LONG[:30_000]}", None),
        ("GET", f"/v1/catalog/items/{NAME}", None),
        ("GET", f"/v1/catalog/items?after={LONG[:30_000]}", None),
    ],
)
def test_messages_do_not_repeat_what_is_long(api: httpx.Client, method: str, path: str, body: Any) -> None:
    answer = api.request(method, path, json=body) if body is not None else api.request(method, path)
    assert answer.status_code in (404, 422)
    assert len(answer.json()["error"]["message"]) < 1200
    assert "x" * 101 not in answer.text
    assert "ö" * 101 not in answer.text


def test_what_is_not_in_a_list_is_named_briefly(api: httpx.Client) -> None:
    event = api.post(RANK, json={"k": 3}).json()["event_id"]
    answer = api.post(FEED, json={"event_id": event, "clicked": NAME}).json()
    assert answer["rejected"] == 1
    assert len(answer["problems"][0]["reason"]) < 160


# Before there is a request


@pytest.mark.stress
@pytest.mark.parametrize(
    "begin",
    [
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"GET /",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health/live HTTP/1.1\r\nX: ",
        b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX: ",
    ],
    ids=["header", "address", "second request", "after the body"],
)
def test_headers_without_end_end_the_connection(service_url: str, begin: bytes) -> None:
    port = urlsplit(service_url).port
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as caller:
        answer = b""
        with suppress(ConnectionError):  # the server need not wait for what we still send
            caller.sendall(begin)
            for _ in range(64):
                caller.sendall(b"x" * (1 << 14))
            while part := caller.recv(1 << 16):
                answer += part
    assert not answer or answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 200 "))


def test_headers_of_a_usual_size_are_taken(api: httpx.Client) -> None:
    assert api.get("/health/live", headers={f"X-{n}": "x" * 1000 for n in range(40)}).status_code == 200
    lines = b'{"id": "gone", "delete": true}\n' * 10_000
    assert api.post("/v1/catalog/bulk", content=lines, headers=NDJSON).status_code == 200
    assert api.post(RANK, content=b"{}" + b" " * 200_000, headers=JSON).status_code == 200
