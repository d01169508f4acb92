"""The client that waits for each response."""

from __future__ import annotations

import time
from collections.abc import Iterator
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
from rankfall.client.methods import blocking
from rankfall.wire import Item

T = TypeVar("T")


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
        Seconds that connecting, sending, or waiting for the next piece of a response may take.
    deadline
        Seconds for a whole call, all attempts and pauses together.
    http
        An ``httpx`` client of your own, for proxies or certificates; it stays yours to close.

    Raises
    ------
    ServiceError
        From every method: `UnavailableError`, `RefusedError`, `NotFoundError`, `ConflictError`, `InvalidError`, or
        itself for a response that makes no sense.

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
        self._limits = RetryLimits(retries, timeout, deadline)
        self._url, self._key = checked_url(url), checked_key(api_key)
        self._http = httpx.Client() if http is None else http
        self._ours = http is None

    rank = blocking(ranking_calls.rank)
    rank_many = blocking(ranking_calls.rank_many)
    feedback = blocking(feedback_calls.feedback)
    feedback_many = blocking(feedback_calls.feedback_many)
    outcome = blocking(feedback_calls.outcome)
    activate = blocking(ranking_calls.activate)
    event = blocking(ranking_calls.event)
    catalog = blocking(catalog_calls.catalog)
    item = blocking(catalog_calls.item)
    put_item = blocking(catalog_calls.put_item)
    patch_item = blocking(catalog_calls.patch_item)
    delete_item = blocking(catalog_calls.delete_item)
    add_topics = blocking(catalog_calls.add_topics)
    put_items = blocking(catalog_calls.put_items)
    put_catalog = blocking(catalog_calls.put_catalog)
    models = blocking(models_calls.models)
    create_model = blocking(models_calls.create_model)
    model = blocking(models_calls.model)
    change_model = blocking(models_calls.change_model)
    reset_model = blocking(models_calls.reset_model)
    history = blocking(models_calls.history)
    snapshots = blocking(snapshots_calls.snapshots)
    make_snapshot = blocking(snapshots_calls.make_snapshot)
    restore_snapshot = blocking(snapshots_calls.restore_snapshot)
    download_snapshot = blocking(snapshots_calls.download_snapshot)
    forget_user = blocking(running_calls.forget_user)
    ready = blocking(running_calls.ready)
    metrics = blocking(running_calls.metrics)

    def items(self, *, page_size: int = 100) -> Iterator[Item]:
        """All items of the catalog, page after page, each asked for when it is needed."""
        after: str | None = None
        while True:
            page = self._run(catalog_calls.page(after, page_size))
            yield from page.items
            after = page.next
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
        attempts = Attempts(call, self._url, self._limits, self._key)
        while not attempts.over:
            time.sleep(attempts.pause)
            try:
                attempts.take(self._http.request(**attempts.request()))
            except httpx.RequestError as problem:
                attempts.lost(problem)
        return attempts.result()
