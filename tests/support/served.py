"""A handle on a real server process, from outside: start, kill, restart, and ask over HTTP."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import pytest
from ports import ReservedPort
from waiting import PATIENCE, START_PATIENCE, wait_until

import rankfall

COMMAND = [sys.executable, "-m", "rankfall", "serve"]
JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
ITEM = {"coverage": {"comedy": 0.5}, "relevance": [0.1, 0.2, 0.3]}
RANK, FEED, PATCH = "/v1/models/default/rank", "/v1/feedback", "/v1/models/default"


class Served:
    """`rankfall serve` on a port of its own, which it keeps when started again.

    Its store is the folder `data` or the database `store`; its output goes to the file `log`. `environment` is what its
    process finds in its environment besides our own. Lists wait for the store as long as a busy machine makes them;
    with `rank_wait=None` no longer than they do for users.
    """

    def __init__(
        self,
        *,
        log: Path,
        data: Path | None = None,
        store: str | None = None,
        catalog: Path,
        environment: Mapping[str, str] | None = None,
        rank_wait: float | None = PATIENCE,
        **options: Any,
    ):
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self._catalog = catalog
        where = {"data": data} if store is None else {"store": store}
        settings = {"catalog": catalog, "port": self.port, "rank_wait": rank_wait, **where, **options}
        self.command = [*COMMAND]
        for name, value in settings.items():
            self.command += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
        self.environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False)

    @cached_property
    def catalog(self) -> rankfall.Catalog:
        """The items it was started with."""
        return rankfall.Catalog.read_parquet(self._catalog)

    def start(self) -> Self:
        self.spawn()
        self.wait_ready()
        return self

    def spawn(self) -> None:
        """Start, and do not wait for it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_ready(self) -> None:
        """Wait until it answers that it is ready."""
        self._wait_for(lambda: self.client.get("/health/ready").status_code == 200, "did not get ready")

    def wait_listening(self) -> None:
        """Wait until it accepts connections; it may not be ready by then."""

        def accepts() -> bool:
            with socket.socket() as caller:
                return caller.connect_ex(("127.0.0.1", self.port)) == 0

        self._wait_for(accepts, "did not listen")

    def _wait_for(self, holds: Callable[[], bool], otherwise: str) -> None:
        def over() -> bool:
            assert self.alive, f"the server is gone; its output:\n{self.said()}"
            with suppress(httpx.TransportError):
                return holds()
            return False

        try:
            wait_until(over, START_PATIENCE)
        except AssertionError as problem:
            self.kill()
            raise AssertionError(f"the server {otherwise}: {problem}; its output:\n{self.said()}") from None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL to the server and all its workers."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> int:
        """SIGTERM to the server, which ends in its own time; its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def restart(self) -> Self:
        self.kill()
        return self.start()

    def said(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    # What is asked over HTTP

    def model(self, name: str = "default", **query: str) -> dict[str, Any]:
        return self.get(f"/v1/models/{name}", **query)

    def event(self, event_id: str) -> dict[str, Any]:
        return self.get(f"/v1/events/{event_id}")

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return the response to GET; a server that is just recovering is asked again."""
        answer = wait_until(lambda: got if (got := self.client.get(path, params=query)).status_code != 503 else None)
        assert answer.status_code == 200, f"GET {path}: {answer.status_code} {answer.text}\n{self.said()}"
        return dict(answer.json())

    def patch(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.client.patch(path, json=body)
        assert answer.status_code == 200, f"PATCH {path}: {answer.status_code} {answer.text}"
        return dict(answer.json())

    def settled(self, learned: int, name: str = "default") -> dict[str, Any]:
        """Wait until a model has learned from this many lists, and return the model."""
        try:
            return wait_until(lambda: model if (model := self.model(name))["learned"] == learned else {})
        except AssertionError:
            found = self.model(name)["learned"]
            raise AssertionError(f"{name} learned from {found} lists, not {learned}\n{self.said()}") from None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.kill()
        self._reserved.close()


def make_catalog(
    path: Path,
    items: int = 200,
    topics: int = 6,
    features: int = 4,
    seed: int = 1,
    attributes: Callable[[int], dict[str, Any]] = lambda _: {},
) -> Path:
    """A file of generated items, whose ids are 0, 1, ...; ``attributes`` says what is known of each beside features."""
    catalog = rankfall.generate(items=items, topics=topics, features=features, seed=seed).catalog
    known = [attributes(item) for item in range(items)]
    catalog.with_attributes({name: [one[name] for one in known] for name in known[0]}).write_parquet(path)
    return path


both_stores = pytest.mark.parametrize("api", ["sqlite", "postgresql"], indirect=True)
"""For a test whose service, ``api``, runs on either store."""


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


def problem(answer: httpx.Response, status: int, code: str) -> str:
    """The message of an error, which has the form that was agreed on."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
    error = answer.json()["error"]
    assert set(answer.json()) == {"error"}
    assert set(error) <= {"code", "message", "where"}
    assert error["code"] == code
    return str(error["message"])


def serve(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankfall", "serve", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=START_PATIENCE, stdin=subprocess.DEVNULL)
