"""The engine: store, state and writer of one server, put together; everything but HTTP."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from rankfall.errors import NotFoundError, RankError, StoreError
from rankfall.service.clock import Clock
from rankfall.service.commands import Command, FindEvent, LoadOwner, StoreEvent
from rankfall.service.events import as_logged, digest_of, event_of
from rankfall.service.health import Health
from rankfall.service.heartbeat import Heartbeat
from rankfall.service.list_maker import ListMaker, scores_of
from rankfall.service.model import Model
from rankfall.service.owners import OwnerView
from rankfall.service.pending import PendingCount
from rankfall.service.ranking import choose
from rankfall.service.state import ServerState
from rankfall.service.upkeep import Upkeep
from rankfall.service.writer import Writer
from rankfall.stores import Event, Position, Snapshot, Store
from rankfall.wire import RankRequest

R = TypeVar("R")
_log = logging.getLogger("rankfall.service")

RANK_PATIENCE = 1.0
"""Seconds a request for a list waits for the store in all; then the caller gets its baseline."""


class Engine:
    """One server without its HTTP interface.

    Parameters
    ----------
    store : where everything is kept.
    room : how many states of segments or users each model holds in memory.
    clock : what time it is.
    rank_patience : seconds a request for a list waits for the store in all.
    on_fallback : called with (model, reason) when a baseline is shown because a policy failed.
    on_store_error : called when the store could not be read or written.
    on_rebuild : called when the store went back in time, before the state is built again.
    """

    def __init__(
        self,
        store: Store,
        *,
        room: int = 10_000,
        clock: Clock | None = None,
        rank_patience: float = RANK_PATIENCE,
        on_fallback: Callable[[str, str], None] = lambda _model, _reason: None,
        on_store_error: Callable[[], None] = lambda: None,
        on_rebuild: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.reader = store.beside()
        """The store for whoever looks at it: the page, metrics, lists and snapshots by their ids."""
        self.clock = clock or Clock()
        self.pending = PendingCount(lambda: self.reader.pending(self.clock.moment().counted))
        self.state = ServerState(store, room, on_rebuild)
        with store.transaction() as tx:
            tx.drop_lost_checkpoints(self.state.position)
        self.state.catch_up()
        self.health = Health()
        self.heartbeat = Heartbeat(store, self.clock, self.health)
        self.upkeep = Upkeep(
            store, self.state, self.clock, self.heartbeat, lambda command: self.writer.submit_from_thread(command)
        )
        self._rank_patience = rank_patience
        self._on_fallback = on_fallback
        self._layouts = ThreadPoolExecutor(1, "layout")  # of its own: the common one may be full of reads that hang
        self._lists = ListMaker()
        self.writer = Writer(
            store, self.state, self.clock, self.health, self.heartbeat.keep, self._between_batches, on_store_error
        )

    def _between_batches(self) -> bool:
        return self.upkeep.run()

    def serve(self) -> None:
        """From now on feedback can arrive, and the waits for it go on."""
        self.upkeep.serving = True

    def close(self) -> None:
        """Finish what is waiting, save, and close the store."""
        self.upkeep.stop_learning_priors()
        self.writer.close()
        self._layouts.shutdown(wait=False)
        self._lists.close()
        try:
            self.upkeep.close()
        except StoreError as problem:
            _log.warning("the state was not saved; it will be folded again", extra={"reason": str(problem)})
        self.store.close()
        self.reader.close()

    def write(self, command: Command[R]) -> R:
        """Have a command carried out, and wait for its result; for callers in a thread."""
        return self.writer.submit_from_thread(command).result()

    async def rank(self, model: Model, request: RankRequest) -> Event:
        """A list for a request, stored; for a retry the list of the first time."""
        await self._refresh(model)
        deadline = time.monotonic() + self._rank_patience
        owner = owner_of(model, request.user, request.segment)
        view = await self._view(model, owner, deadline)
        began = time.monotonic()
        try:
            scores = scores_of(request, model.settings.k, len(view.policy.catalog))
            made = await self._lists.made(model.name, owner, scores, lambda: self.make(model, view, request))
            deadline += time.monotonic() - began  # while a list is made, nothing waits for the store
        except RankError:
            if request.request_id is None:
                raise
            earlier = await self._submit(FindEvent(model.name, request.request_id, digest_of(request)), deadline)
            if earlier is None:
                raise
            return earlier
        return await self._submit(StoreEvent(made), deadline)

    async def view(self, model: Model, owner: str) -> OwnerView:
        """What to rank with for an owner; its state is brought into memory if it is not there."""
        await self._refresh(model)
        return await self._view(model, owner, time.monotonic() + self._rank_patience)

    async def _view(self, model: Model, owner: str, deadline: float) -> OwnerView:
        found = model.view(owner)
        return found if found is not None else await self._submit(LoadOwner(model.name, owner), deadline)

    async def _refresh(self, model: Model) -> None:
        """Have the newest catalog laid out; it takes as long as it takes, and does not wait for the store."""
        if not model.up_to_date:
            await asyncio.get_running_loop().run_in_executor(self._layouts, model.refresh)

    def _submit(self, command: Command[R], deadline: float) -> asyncio.Future[R]:
        return self.writer.submit(command, max(0.0, deadline - time.monotonic()))

    def make(self, model: Model, view: OwnerView, request: RankRequest) -> Event:
        """The list for a request, not stored yet."""

        def on_error(problem: Exception) -> None:
            self._on_fallback(model.name, type(problem).__name__)
            _log.error("ranking failed; the baseline is shown", exc_info=problem, extra={"model": model.name})

        now = self.clock.moment()
        resolved, chosen = choose(model, view, request, as_logged(now.time), on_error)
        return event_of(model, view, resolved, chosen, now)

    def find_snapshot(self, model: str, snapshot_id: str) -> Snapshot:
        """A snapshot by its id."""
        for snapshot in self.reader.snapshots(model):
            if snapshot.id == snapshot_id:
                return snapshot
        raise NotFoundError(f"model {model!r} has no snapshot {snapshot_id!r}")

    def save_policy(self, model: Model, owner: str, path: Path, upto: Position | None = None) -> None:
        """Write an owner's policy to a file that :func:`rankfall.load` reads: as it is, or as it was at a position."""
        model.policy_at(self.reader, owner, upto or self.state.position).save(path)

    def lag(self) -> float:
        """Age in seconds of the oldest entry of the journal that is not in the state yet."""
        since = self.reader.waiting_since(self.state.position)
        return 0.0 if since is None else max(0.0, self.clock() - since)


def owner_of(model: Model, user: str | None, segment: str | None) -> str:
    """Whose state serves a caller; raises if the caller did not say enough."""
    owner = model.owner(user, segment)
    if owner is None:
        raise RankError(f"model {model.name!r} has one state for each {model.settings.scope}; say which")
    return owner
