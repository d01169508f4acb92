"""The client for ``asyncio``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self, TypeVar

import httpx

from rankfall.client.attempts import Attempts, RetryLimits
from rankfall.client.call import Call
from rankfall.client.calls import catalog as catalog_calls
from rankfall.client.calls import feedback as feedback_calls
from rankfall.client.calls import models as models_calls
from rankfall.client.calls import ranking as ranking_calls
from rankfall.client.calls import running as running_calls
from rankfall.client.calls import snapshots as snapshots_calls
from rankfall.client.connection import ADDRESS, checked_key, checked_url
from rankfall.client.methods import awaiting
from rankfall.wire import Item

T = TypeVar("T")


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
        self._limits = RetryLimits(retries, timeout, deadline)
        self._url, self._key = checked_url(url), checked_key(api_key)
        self._http = httpx.AsyncClient() if http is None else http
        self._ours = http is None

    rank = awaiting(ranking_calls.rank)
    rank_many = awaiting(ranking_calls.rank_many)
    feedback = awaiting(feedback_calls.feedback)
    feedback_many = awaiting(feedback_calls.feedback_many)
    outcome = awaiting(feedback_calls.outcome)
    activate = awaiting(ranking_calls.activate)
    event = awaiting(ranking_calls.event)
    catalog = awaiting(catalog_calls.catalog)
    item = awaiting(catalog_calls.item)
    put_item = awaiting(catalog_calls.put_item)
    patch_item = awaiting(catalog_calls.patch_item)
    delete_item = awaiting(catalog_calls.delete_item)
    add_topics = awaiting(catalog_calls.add_topics)
    put_items = awaiting(catalog_calls.put_items)
    put_catalog = awaiting(catalog_calls.put_catalog)
    models = awaiting(models_calls.models)
    create_model = awaiting(models_calls.create_model)
    model = awaiting(models_calls.model)
    change_model = awaiting(models_calls.change_model)
    reset_model = awaiting(models_calls.reset_model)
    history = awaiting(models_calls.history)
    snapshots = awaiting(snapshots_calls.snapshots)
    make_snapshot = awaiting(snapshots_calls.make_snapshot)
    restore_snapshot = awaiting(snapshots_calls.restore_snapshot)
    download_snapshot = awaiting(snapshots_calls.download_snapshot)
    forget_user = awaiting(running_calls.forget_user)
    ready = awaiting(running_calls.ready)
    metrics = awaiting(running_calls.metrics)

    async def items(self, *, page_size: int = 100) -> AsyncIterator[Item]:
        """All items of the catalog, page after page, each asked for when it is needed."""
        after: str | None = None
        while True:
            page = await self._run(catalog_calls.page(after, page_size))
            for item in page.items:
                yield item
            after = page.next
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
        attempts = Attempts(call, self._url, self._limits, self._key)
        while not attempts.over:
            await asyncio.sleep(attempts.pause)
            try:
                attempts.take(await self._http.request(**attempts.request()))
            except httpx.RequestError as problem:
                attempts.lost(problem)
        return attempts.result()
