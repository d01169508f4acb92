"""A server says that it is ready when it can write and learn, and only then."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from in_process import service
from needs import fill, small_disk
from served import FEED, RANK
from waiting import PATIENCE

from rankfall.service import heartbeat, upkeep, writer
from rankfall.service.state import ServerState

pytestmark = pytest.mark.stress


async def wait_until(client: httpx.AsyncClient, holds: Callable[[Any], bool]) -> httpx.Response:
    """Ask until the server says this about itself."""
    async with asyncio.timeout(PATIENCE):
        while not holds((answer := await client.get("/health/ready")).json()):
            await asyncio.sleep(0.01)
    return answer


async def wait_ready(client: httpx.AsyncClient) -> None:
    assert (await wait_until(client, lambda said: said == {"status": "ready"})).status_code == 200


async def wait_not_ready(client: httpx.AsyncClient, reason: str) -> None:
    answer = await wait_until(client, lambda said: reason in said.get("reason", ""))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_a_full_disk_is_seen_without_a_request_and_so_is_its_end(
    tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_EVERY", 0.01)

    async def test(disk: Path) -> None:
        async with service(disk / "data", small_catalog) as (client, _):
            await wait_ready(client)
            for _ in range(2):
                fill(disk / "filler")
                await wait_not_ready(client, "the store cannot be written")
                (disk / "filler").unlink()
                await wait_ready(client)

    with small_disk(tmp_path / "disk", megabytes=16) as disk:
        asyncio.run(test(disk))


def test_a_writer_that_fails_is_seen(tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with service(tmp_path / "data", small_catalog) as (client, _):
            event = (await client.post(RANK, json={})).json()["event_id"]
            click = {"event_id": event, "clicked": 1}
            with monkeypatch.context() as broken:
                broken.setattr(writer, "store_feedback", lambda *_: 1 / 0)
                assert (await client.post(FEED, json=click)).status_code == 503
                await wait_not_ready(client, "writing fails; the log says why")
            assert (await client.post(FEED, json=click)).json()["accepted"] == 1
            await wait_ready(client)
            with monkeypatch.context() as broken:
                broken.setattr(upkeep.Upkeep, "run", lambda _: 1 / 0)
                await wait_not_ready(client, "the upkeep of the store fails; the log says why")
            await wait_ready(client)

    asyncio.run(test())


def test_a_server_that_is_behind_is_not_ready(
    tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_EVERY", 1e9)
    go_on, catch_up = threading.Event(), ServerState.catch_up

    def held(state: ServerState) -> int:
        assert go_on.wait(PATIENCE)
        return catch_up(state)

    async def test() -> None:
        async with service(tmp_path / "data", small_catalog, most_lag=1.0) as (client, app):
            await wait_ready(client)
            app.engine.health.wrote_at += 1e6  # only learning is behind
            monkeypatch.setattr(ServerState, "catch_up", held)
            await wait_not_ready(client, "seconds behind")
            assert (await client.get("/health/live")).status_code == 200
            go_on.set()
            await wait_ready(client)

    asyncio.run(test())


def test_a_server_that_could_write_nothing_for_long_is_not_ready(tmp_path: Path, small_catalog: Path) -> None:
    async def test() -> None:
        async with service(tmp_path / "data", small_catalog) as (client, app):
            stuck = threading.Event()
            app.engine.upkeep.run = lambda: stuck.wait(PATIENCE)  # type: ignore[method-assign]
            app.engine.health.wrote_at -= 31
            await wait_not_ready(client, "nothing could be written for 31 seconds")
            stuck.set()

    asyncio.run(test())
