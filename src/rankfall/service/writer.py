"""The one thread of a server that writes: commands that wait at the same time share one durable transaction.

After each transaction it folds what is new in the journal, its own entries and those of other servers alike, in the one
order that holds for all. So the state in memory is always that of a prefix of the journal. A result is given when its
transaction is durable, and, unless the store is away or learning has stopped, when it is in the state too. Once a
transaction is durable its commands have succeeded, whatever happens then.

The deadline of a command belongs to its caller: when it is over the caller is told so, whatever the writer waits for.
What the caller has given up is not begun any more. A list that was stored all the same is withdrawn: its caller got
another one, so that silence says nothing about it.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from rankfall.errors import ConflictError, RankfallError, StoreError, UnavailableError
from rankfall.service.clock import Clock, Moment
from rankfall.service.commands import Command, Decision, GiveFeedback, LoadOwner, StoreEvent
from rankfall.service.feedback import store_feedback
from rankfall.service.health import Health
from rankfall.service.state import ServerState
from rankfall.stores import Event, Store, Transaction

C = TypeVar("C", bound=Command[Any])
R = TypeVar("R")
_log = logging.getLogger("rankfall.service")

LARGEST_BATCH = 500
POLL = 0.05
"""Seconds between looks at the journal when there is nothing to write."""
PATIENCE = 5.0
"""Seconds a caller waits for its command, unless it says otherwise, and longest that a store which fails is tried."""
DECISION_PATIENCE = 60.0
"""Seconds a caller waits for a decision, such as a large catalog, while the store does not fail."""
MOST_WAITING = 10_000
"""Commands that wait for the writer at most; further ones are refused at once."""


@dataclass(frozen=True)
class Failed:
    """A command that could not be carried out."""

    error: Exception


class _GivenUpError(Exception):
    """A list was about to be stored whose caller does not wait any more."""


Outcome: TypeAlias = Any | Failed
"""The result of a command, or why there is none."""


@dataclass(frozen=True, eq=False)
class Job(Generic[C]):
    """A command, who waits for it, and until when it is tried (by the monotonic clock)."""

    command: C
    future: Future[Any] | asyncio.Future[Any]
    until: float

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.future.done()


class Writer:
    """Carries out commands, in a thread of its own.

    Parameters
    ----------
    before : called before feedback is judged and decisions are made.
    between : called between batches, with nothing else under way; gives whether it wants to be called again soon.
    on_store_error : called when the store could not be read or written.
    """

    def __init__(
        self,
        store: Store,
        state: ServerState,
        clock: Clock,
        health: Health,
        before: Callable[[], None],
        between: Callable[[], bool],
        on_store_error: Callable[[], None],
    ) -> None:
        self._store, self._state, self._clock, self._health = store, state, clock, health
        self._before, self._between, self._on_store_error = before, between, on_store_error
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._withdrawn: deque[str] = deque()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still works."""
        return self._thread.is_alive()

    def submit(self, command: Command[R], patience: float | None = None) -> asyncio.Future[R]:
        """Have a command carried out; for callers in an event loop.

        After ``patience`` seconds the future has a StoreError. The command may be carried out all the same if it was
        begun by then.
        """
        if patience is None:
            patience = DECISION_PATIENCE if isinstance(command, Decision) else PATIENCE
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        if self._jobs.qsize() >= MOST_WAITING:
            _give_up(future)
            return future
        deadline = loop.call_later(patience, _give_up, future)
        future.add_done_callback(lambda _: deadline.cancel())
        self._jobs.put(Job(command, future, time.monotonic() + min(patience, PATIENCE)))
        return future

    def submit_from_thread(self, command: Command[R]) -> Future[R]:
        """Have a command carried out; for callers in a thread, who wait as long as the store does not fail."""
        future: Future[R] = Future()
        self._jobs.put(Job(command, future, time.monotonic() + PATIENCE))
        return future

    def wake(self) -> None:
        """Look at the journal now."""
        self._jobs.put(None)

    def close(self) -> None:
        """Finish what is waiting, then stop."""
        self._ending.set()
        self.wake()
        self._thread.join()

    def _run(self) -> None:
        more = False
        while True:
            batch = self._next(0.0 if more else POLL)
            more = False
            if batch:
                self._carry_out(batch)
            elif self._ending.is_set():
                return
            try:
                self._withdraw()
                more = self._between()
                self._health.went_well("upkeep")
            except StoreError as problem:
                self._on_store_error()
                self._health.went_wrong("upkeep", "the store cannot be reached")
                _log.warning("the store cannot be reached", extra={"reason": str(problem)})
                time.sleep(POLL)
            except Exception:
                self._health.went_wrong("upkeep", "the upkeep of the store fails; the log says why")
                _log.exception("an error between two batches; the writer goes on")
                time.sleep(POLL)

    def _next(self, wait: float) -> list[Job[Any]]:
        batch: list[Job[Any]] = []
        try:
            job = self._jobs.get(timeout=wait)
            while True:
                if job is not None:
                    batch.append(job)
                if len(batch) >= LARGEST_BATCH:
                    break
                job = self._jobs.get_nowait()
        except queue.Empty:
            pass
        return batch

    def _carry_out(self, batch: list[Job[Any]]) -> None:
        """Carry out a batch, one kind after the other: what one kind has written is not repeated for the next."""
        self._attempt(_of(batch, LoadOwner), self._load)
        events, feedback = _of(batch, StoreEvent), _of(batch, GiveFeedback)
        self._attempt([*events, *feedback], self._store_facts)
        self._attempt(_of(batch, Decision), self._decide)  # apart: those who append must not wait for those who forget

    def _attempt(self, jobs: Sequence[Job[C]], carry_out: Callable[[Sequence[Job[C]]], None]) -> None:
        """Try until it is done, or nobody waits any more. ``carry_out`` raises only if nothing was written."""
        while jobs := [job for job in jobs if not job.given_up]:
            try:
                carry_out(jobs)
                return
            except _GivenUpError:
                continue
            except StoreError as problem:
                self._on_store_error()
                self._health.went_wrong("write", "the store cannot be written")
                _log.warning("the store cannot be written", extra={"reason": str(problem)})
                lost = [job for job in jobs if self._ending.is_set() or job.until < time.monotonic()]
                resolve(lost, [Failed(problem)] * len(lost))
                jobs = [job for job in jobs if job not in lost]
                time.sleep(POLL)
            except Exception as problem:  # a mistake of ours: say so to each, and go on
                self._health.went_wrong("write", "writing fails; the log says why")
                _log.exception("a batch of commands failed; nothing of it was written")
                resolve(jobs, [Failed(StoreError(f"the write failed: {problem}"))] * len(jobs))
                return

    def _load(self, jobs: Sequence[Job[LoadOwner]]) -> None:
        owners: dict[str, list[str]] = {}
        for job in jobs:
            owners.setdefault(job.command.model, []).append(job.command.owner)
        views = {model: self._state.load(model, wanted) for model, wanted in owners.items()}
        resolve(jobs, [views[job.command.model][job.command.owner] for job in jobs])

    def _store_facts(self, jobs: Sequence[Job[Any]]) -> None:
        """Store lists and feedback. Lists are given at once; feedback when it is in the state too."""
        events, feedback = _of(jobs, StoreEvent), _of(jobs, GiveFeedback)
        if feedback:
            self._before()
        with self._store.transaction() as tx:
            stored = store_events(tx, [job.command.event for job in events])
            accepted = store_feedback(tx, [job.command for job in feedback], self._clock.moment(), self._state.models)
            if any(job.given_up for job in events):
                raise _GivenUpError
        self._health.went_well("write")
        resolve(events, stored, self._nobody_took)
        self._catch_up()
        resolve(feedback, accepted)

    def _nobody_took(self, job: Job[StoreEvent], _outcome: Outcome) -> None:
        """Remember a list that was stored after its caller had been given another one."""
        self._withdrawn.append(job.command.event.id)

    def _withdraw(self) -> None:
        """Mark the lists that nobody took as not shown."""
        ids = list(self._withdrawn)
        if ids:
            with self._store.transaction() as tx:
                tx.withdraw(ids)
            for _ in ids:
                self._withdrawn.popleft()

    def _decide(self, jobs: Sequence[Job[Decision[Any]]]) -> None:
        """Decide, one server at a time, knowing what the others have decided."""
        self._before()
        now = self._clock.moment()
        forgets = any(job.command.forgets for job in jobs)
        with self._store.transaction() as tx:
            tx.exclusive()
            if forgets:
                tx.forgetting()
            self._state.catch_up()
            outcomes = [self._decided(tx, job.command, now) for job in jobs]
        self._health.went_well("write")
        if forgets:
            self._scrub()
        self._catch_up()
        resolve(jobs, outcomes)

    def _scrub(self) -> None:
        """Have the store leave nothing of a user who was forgotten; if it cannot now, upkeep tries again."""
        try:
            self._store.scrub()
        except StoreError as problem:
            self._on_store_error()
            _log.warning("the store cannot be scrubbed now", extra={"reason": str(problem)})

    def _decided(self, tx: Transaction, command: Decision[Any], now: Moment) -> Outcome:
        stopped = self._state.stopped
        if stopped is not None and not command.while_stopped:
            return Failed(UnavailableError(f"this server cannot decide: {stopped.reason}", status=503))
        try:
            with tx.attempt():
                return command.write(tx, self._state, now)
        except StoreError:
            raise
        except RankfallError as problem:
            return Failed(problem)

    def _catch_up(self) -> None:
        """Fold what was written. If the store cannot be read now, it is folded as soon as the store is back."""
        try:
            self._state.catch_up()
        except StoreError as problem:
            self._on_store_error()
            _log.warning("the store cannot be read", extra={"reason": str(problem)})


def store_events(tx: Transaction, events: Sequence[Event]) -> list[Outcome]:
    """Store lists; for each the one stored, which for a retry is that of the first time."""
    order = sorted(range(len(events)), key=lambda n: (events[n].model, events[n].request_id or ""))
    outcomes: list[Outcome] = list(events)
    for n, stored in zip(order, tx.add_events([events[n] for n in order]), strict=True):
        event = events[n]
        if not stored:
            earlier = tx.event_of_request(event.model, event.request_id) if event.request_id else event
            outcomes[n] = earlier
            if earlier is None or earlier.digest != event.digest:
                outcomes[n] = Failed(ConflictError(f"request_id {event.request_id!r} was used for another request"))
    return outcomes


def _of(jobs: Sequence[Job[Any]], kind: type[C]) -> list[Job[C]]:
    """The jobs whose command is of a kind."""
    return [job for job in jobs if isinstance(job.command, kind)]


def resolve(
    jobs: Sequence[Job[C]],
    outcomes: Sequence[Outcome],
    nobody_took: Callable[[Job[C], Outcome], None] = lambda _job, _outcome: None,
) -> None:
    """Give each caller the outcome; each job once. ``nobody_took`` is called for those that were given up."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Job[C], Outcome]]] = {}

    def settle(settled: Sequence[tuple[Job[C], Outcome]]) -> None:
        for job, outcome in settled:
            if job.given_up:
                nobody_took(job, outcome)
            elif isinstance(outcome, Failed):
                job.future.set_exception(outcome.error)
            else:
                job.future.set_result(outcome)

    for job, outcome in zip(jobs, outcomes, strict=True):
        if isinstance(job.future, Future):
            settle([(job, outcome)])
        else:
            loops.setdefault(job.future.get_loop(), []).append((job, outcome))
    for loop, settled in loops.items():
        try:
            loop.call_soon_threadsafe(settle, settled)
        except RuntimeError:  # the loop is closed: nobody waits
            for job, outcome in settled:
                nobody_took(job, outcome)


def _give_up(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_exception(StoreError("the store did not answer in time"))
