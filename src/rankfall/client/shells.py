"""The two clients: one waits, the other awaits. What they say and decide is written once, elsewhere."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from rankfall.client import administration, ranking
from rankfall.client.answers import Json
from rankfall.client.exchange import Call, Exchange, Patience
from rankfall.errors import InvalidError

P = ParamSpec("P")
T = TypeVar("T")

ADDRESS = "http://127.0.0.1:8321"


def _now(make: Callable[P, Call[T]]) -> Callable[Concatenate["Client", P], T]:
    """A method of `Client` that makes the call and waits for its result."""

    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(make(*args, **kwargs))

    return _described(method, make)


def _later(make: Callable[P, Call[T]]) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    """A method of `AsyncClient` that makes the call and awaits its result."""

    async def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(make(*args, **kwargs))

    return _described(method, make)


M = TypeVar("M", bound=Callable[..., Any])


def _described(method: M, make: Callable[..., Any]) -> M:
    """Let ``help`` show what ``make`` says, and its arguments after ``self``."""
    update_wrapper(method, make)
    signature = inspect.signature(make)
    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = [self, *signature.parameters.values()]
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=inspect.Signature.empty
    )
    return method


class Client:
    """The Rankfall service, from Python.

    One client serves many threads. Close it, or use it in a ``with`` block, to give its connections back.

    Parameters
    ----------
    url
        Where the service is.
    api_key
        Sent with every call; never shown, logged or quoted in an error.
    retries
        Attempts after the first, on connection errors, timeouts and the statuses 429, 502, 503 and 504. What must not
        happen twice is repeated only if the first attempt never left.
    timeout
        Seconds that connecting, sending, or waiting for the next piece of an answer may take.
    deadline
        Seconds for a whole call, all attempts and pauses together.
    http
        An ``httpx`` client of your own, for proxies or certificates; it stays yours to close.

    Raises
    ------
    ServiceError
        From every method: `UnavailableError`, `RefusedError`, `NotFoundError`, `ConflictError`, `InvalidError`, or
        itself for an answer that makes no sense.

    Examples
    --------
    >>> with Client("http://localhost:8321", api_key="secret", retries=0) as client:
    ...     client
    Client('http://localhost:8321')
    >>> with Client("http://localhost:1", retries=0) as client:
    ...     client.ready()
    False
    """

    def __init__(
        self,
        url: str = ADDRESS,
        *,
        api_key: str | None = None,
        retries: int = 3,
        timeout: float = 10.0,
        deadline: float = 30.0,
        http: httpx.Client | None = None,
    ) -> None:
        self._patience = Patience(retries, timeout, deadline)
        self._url, self._key = _checked_url(url), _checked_key(api_key)
        self._http = httpx.Client() if http is None else http
        self._ours = http is None

    rank = _now(ranking.rank)
    rank_many = _now(ranking.rank_many)
    feedback = _now(ranking.feedback)
    feedback_many = _now(ranking.feedback_many)
    activate = _now(ranking.activate)
    event = _now(administration.event)
    catalog = _now(administration.catalog)
    item = _now(administration.item)
    put_item = _now(administration.put_item)
    patch_item = _now(administration.patch_item)
    delete_item = _now(administration.delete_item)
    put_items = _now(administration.put_items)
    put_catalog = _now(administration.put_catalog)
    models = _now(administration.models)
    create_model = _now(administration.create_model)
    model = _now(administration.model)
    change_model = _now(administration.change_model)
    reset_model = _now(administration.reset_model)
    history = _now(administration.history)
    snapshots = _now(administration.snapshots)
    make_snapshot = _now(administration.make_snapshot)
    restore_snapshot = _now(administration.restore_snapshot)
    download_snapshot = _now(administration.download_snapshot)
    forget_user = _now(administration.forget_user)
    ready = _now(administration.ready)
    metrics = _now(administration.metrics)

    def items(self, *, page_size: int = 100) -> Iterator[Json]:
        """All items of the catalog, page after page, each asked for when it is needed."""
        after: str | None = None
        while True:
            items, after = self._run(administration.page(after, page_size))
            yield from items
            if after is None:
                return

    def close(self) -> None:
        """Give the connections back."""
        if self._ours:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def _run(self, call: Call[T]) -> T:
        exchange = Exchange(call, self._url, self._patience, self._key)
        while not exchange.over:
            time.sleep(exchange.pause)
            try:
                exchange.take(self._http.request(**exchange.request()))
            except httpx.RequestError as problem:
                exchange.lost(problem)
        return exchange.result()


class AsyncClient:
    """The Rankfall service, from ``asyncio``: `Client`, with every method awaited and ``items`` an async iterator.

    Parameters
    ----------
    url, api_key, retries, timeout, deadline
        As in `Client`.
    http
        An ``httpx`` client of your own, for proxies or certificates; it stays yours to close.

    Examples
    --------
    >>> async def main():
    ...     async with AsyncClient("http://localhost:1", retries=0) as client:
    ...         return await client.ready()
    >>> asyncio.run(main())
    False
    """

    def __init__(
        self,
        url: str = ADDRESS,
        *,
        api_key: str | None = None,
        retries: int = 3,
        timeout: float = 10.0,
        deadline: float = 30.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._patience = Patience(retries, timeout, deadline)
        self._url, self._key = _checked_url(url), _checked_key(api_key)
        self._http = httpx.AsyncClient() if http is None else http
        self._ours = http is None

    rank = _later(ranking.rank)
    rank_many = _later(ranking.rank_many)
    feedback = _later(ranking.feedback)
    feedback_many = _later(ranking.feedback_many)
    activate = _later(ranking.activate)
    event = _later(administration.event)
    catalog = _later(administration.catalog)
    item = _later(administration.item)
    put_item = _later(administration.put_item)
    patch_item = _later(administration.patch_item)
    delete_item = _later(administration.delete_item)
    put_items = _later(administration.put_items)
    put_catalog = _later(administration.put_catalog)
    models = _later(administration.models)
    create_model = _later(administration.create_model)
    model = _later(administration.model)
    change_model = _later(administration.change_model)
    reset_model = _later(administration.reset_model)
    history = _later(administration.history)
    snapshots = _later(administration.snapshots)
    make_snapshot = _later(administration.make_snapshot)
    restore_snapshot = _later(administration.restore_snapshot)
    download_snapshot = _later(administration.download_snapshot)
    forget_user = _later(administration.forget_user)
    ready = _later(administration.ready)
    metrics = _later(administration.metrics)

    async def items(self, *, page_size: int = 100) -> AsyncIterator[Json]:
        """All items of the catalog, page after page, each asked for when it is needed."""
        after: str | None = None
        while True:
            items, after = await self._run(administration.page(after, page_size))
            for item in items:
                yield item
            if after is None:
                return

    async def close(self) -> None:
        """Give the connections back."""
        if self._ours:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    async def _run(self, call: Call[T]) -> T:
        exchange = Exchange(call, self._url, self._patience, self._key)
        while not exchange.over:
            await asyncio.sleep(exchange.pause)
            try:
                exchange.take(await self._http.request(**exchange.request()))
            except httpx.RequestError as problem:
                exchange.lost(problem)
        return exchange.result()


def _checked_url(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as problem:
        raise InvalidError(f"not an address: {problem}", code="invalid") from problem
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo or parsed.query or parsed.fragment:
        message = f"an address looks like {ADDRESS}, with nothing after the path and no password in it, not {parsed!r}"
        raise InvalidError(message, code="invalid")
    return str(parsed).rstrip("/")


def _checked_key(key: str | None) -> str | None:
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise InvalidError("an API key is made of visible ASCII characters, at least one", code="invalid")
    return key
