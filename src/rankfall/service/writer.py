"""The one thread that writes: requests that wait at the same time share one durable transaction.

After each transaction it reads the journal on from where it was and folds what is new, its own entries and those of
other servers alike, in the one order that holds for all. So the state in memory is always that of a prefix of the
journal, and an answer that says "accepted" is durable, and in the state.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rankfall.errors import StoreError

T = TypeVar("T")
_log = logging.getLogger("rankfall.service")

LARGEST_BATCH = 500
POLL = 0.05
"""Seconds between looks at the journal when there is nothing to write."""
PATIENCE = 5.0
"""Seconds a write waits for a store that is away before it is given up, unless the caller says otherwise."""


@dataclass(eq=False)
class Job(Generic[T]):
    """Something to be done by the keeper, and whoever waits for it."""

    what: Any
    future: Future[T] | asyncio.Future[T]
    until: float
    result: Any = None
    error: BaseException | None = None
    told: bool = False

    def deliver(self) -> None:
        """Tell whoever waits."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Keeper:
    """Runs ``work`` on batches of jobs, and ``idle`` when there are none, in a thread of its own.

    ``work`` fills in ``result`` or ``error`` of each job; if it raises StoreError nothing happened, and the batch is
    tried again until the patience of its jobs is at an end.
    """

    def __init__(
        self, work: Callable[[list[Job[Any]]], None], idle: Callable[[], None], failed: Callable[[], None]
    ) -> None:
        self._work, self._idle, self._failed = work, idle, failed
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still works."""
        return self._thread.is_alive()

    def ask(self, what: Any, patience: float = PATIENCE) -> Future[Any]:
        """Have something done; for callers in a thread."""
        future: Future[Any] = Future()
        self._jobs.put(Job(what, future, time.monotonic() + patience))
        return future

    def ask_async(self, what: Any, patience: float = PATIENCE) -> asyncio.Future[Any]:
        """Have something done; for callers in an event loop."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._jobs.put(Job(what, future, time.monotonic() + patience))
        return future

    def close(self) -> None:
        """Finish what is waiting, then stop."""
        self._ending.set()
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            batch = self._next()
            if batch:
                self._attempt(batch)
            elif self._ending.is_set():
                return
            try:
                self._idle()
            except StoreError as problem:
                self._failed()
                _log.warning("store is away", extra={"reason": str(problem)})
                time.sleep(POLL)
            except Exception:
                _log.exception("the keeper stumbled")
                time.sleep(POLL)

    def _next(self) -> list[Job[Any]]:
        batch: list[Job[Any]] = []
        try:
            job = self._jobs.get(timeout=POLL)
            while True:
                if job is not None:
                    batch.append(job)
                if len(batch) >= LARGEST_BATCH:
                    break
                job = self._jobs.get_nowait()
        except queue.Empty:
            pass
        return batch

    def _attempt(self, batch: list[Job[Any]]) -> None:
        while batch:
            try:
                self._work(batch)
                self.deliver(batch)
                return
            except StoreError as problem:
                self._failed()
                _log.warning("store cannot be written", extra={"reason": str(problem)})
                batch = self._give_up(batch, problem, self._hopeless)
                time.sleep(POLL)
            except Exception as problem:  # a mistake of ours: say so to each, and go on
                _log.exception("the keeper stumbled")
                batch = self._give_up(batch, StoreError(f"the write failed: {problem}"), lambda _: True)

    def _hopeless(self, job: Job[Any]) -> bool:
        return self._ending.is_set() or job.until < time.monotonic()

    def _give_up(
        self, batch: list[Job[Any]], reason: StoreError, hopeless: Callable[[Job[Any]], bool]
    ) -> list[Job[Any]]:
        """Tell those for whom there is no hope; the others."""
        given_up = [job for job in batch if hopeless(job)]
        for job in given_up:
            job.error = reason
        self.deliver(given_up)
        return [job for job in batch if job not in given_up]

    def deliver(self, batch: list[Job[Any]]) -> None:
        """Tell those who wait; who was told before is not told again."""
        loops: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
        for job in batch:
            if job.told:
                continue
            job.told = True
            if isinstance(job.future, Future):
                job.deliver()
            else:
                loops.setdefault(job.future.get_loop(), []).append(job)
        for loop, jobs in loops.items():
            try:
                loop.call_soon_threadsafe(_deliver_all, jobs)
            except RuntimeError:  # the loop is closed: nobody waits
                _log.debug("nobody waits for an answer any more")


def _deliver_all(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        job.deliver()
