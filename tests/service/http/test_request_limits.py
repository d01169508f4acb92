"""Bodies and requests that are larger, or slower, than allowed."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from served import FEED, JSON, RANK, Served, problem, rank
from waiting import PATIENCE

import rankfall
from rankfall.service.setup import prepare


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
