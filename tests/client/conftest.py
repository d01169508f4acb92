"""Both clients, each connected to a real server that behaves badly on request."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from unreliable_service import KEY, Connect, Service, address, bound, serving
from waiting import PATIENCE

from rankfall.client import (
    AsyncClient,
    Client,
)


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Service, str]]:
    service = Service()
    with bound() as sock, serving(service, sock):
        yield service, address(sock)


@pytest.fixture
def service(running: tuple[Service, str]) -> Service:
    running[0].reset()
    return running[0]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No waiting between attempts; the longest pauses they would have had."""
    longest: list[float] = []
    monkeypatch.setattr("rankfall.client.attempts.uniform", lambda _, high: longest.append(high) or 0.0)
    return longest


class Awaited:
    """An `AsyncClient` that can be used like a `Client`."""

    def __init__(self, runner: asyncio.Runner, client: AsyncClient) -> None:
        self._runner, self._client = runner, client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = getattr(self._client, name)(*args, **kwargs)
            return self._each(result) if inspect.isasyncgen(result) else self._runner.run(result)

        return call

    def _each(self, results: Any) -> Iterator[Any]:
        async def following() -> Any:
            return await anext(results, None)

        while (result := self._runner.run(following())) is not None:
            yield result

    def __repr__(self) -> str:
        return repr(self._client)


class Impatient(httpx.HTTPTransport):
    """Gives up on a request that the service answers slowly as soon as the service has done its work."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with giving_up(self._service, request):
            return super().handle_request(request)


class ImpatientAsync(httpx.AsyncHTTPTransport):
    """The same for `AsyncClient`."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with giving_up(self._service, request):
            return await super().handle_async_request(request)


@contextmanager
def giving_up(service: Service, request: httpx.Request) -> Iterator[None]:
    slow = "slow" in list(service.trouble)[:1]
    if slow:
        request.extensions["timeout"]["read"] = 0.05  # never long enough: there is no response
    try:
        yield
    except httpx.ReadTimeout:
        assert slow
        assert service.late.wait(PATIENCE)
        raise


@pytest.fixture(scope="module", params=["sync", "async"])
def connect(request: pytest.FixtureRequest, running: tuple[Service, str]) -> Iterator[Connect]:
    """Makes clients of one kind. They share connections, since it takes long to read the certificates for each."""
    if request.param == "sync":
        with httpx.Client(transport=Impatient(running[0])) as http:
            yield lambda url=running[1], **options: Client(url, http=http, **options)
    else:
        with asyncio.Runner() as runner:
            http_async = httpx.AsyncClient(transport=ImpatientAsync(running[0]))
            yield lambda url=running[1], **options: Awaited(runner, AsyncClient(url, http=http_async, **options))
            runner.run(http_async.aclose())


@pytest.fixture
def client(connect: Connect, service: Service) -> Any:
    return connect(api_key=KEY)
