"""What the writer does between batches: follow the journal, close lists whose feedback never came, save.

And it sees to it that priors are learned again, which another thread does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from rankfall.journal.entries import FeedbackExpired, encode
from rankfall.service.checkpoints import Saver
from rankfall.service.clock import Clock
from rankfall.service.commands import Command
from rankfall.service.heartbeat import Heartbeat
from rankfall.service.prior_refresh import PriorRefresh
from rankfall.service.state import ServerState
from rankfall.service.writer import POLL
from rankfall.stores import OnEvent, Store, Transaction

PAGE = 100
"""Lists closed in one transaction; callers wait for no more than that."""
CHECKPOINT_AFTER = 20_000
"""Entries folded before the whole state is saved, so that a restart need not fold them again."""
CHECKPOINT_EVERY = 300.0
"""Seconds after which the state is saved if anything happened."""
SAVING_SHARE = 0.1
"""Share of the writer's time in which states are saved: callers wait for the writer too."""
EXPIRE_EVERY = 1.0
"""Seconds between looks for lists whose wait for feedback ran out."""
OVERLAP = 10.0
"""Seconds by which such a look reaches back behind the last one, for lists that were being written at the time."""
_NOTE = "swept"
"""Where it is noted up to which moment lists were looked at."""


class _Sweep(NamedTuple):
    """A look for lists whose wait is over, in the time that counts for waits: when it began, and how far it is."""

    began: float
    since: float


class Upkeep:
    """Keeps a store and a state in order.

    While learning has stopped, nothing is written here: it would follow from a state that is out of date. After an
    upgrade all of it is caught up on.
    """

    def __init__(
        self,
        store: Store,
        state: ServerState,
        clock: Clock,
        heartbeat: Heartbeat,
        submit: Callable[[Command[Any]], Future[Any]],
    ) -> None:
        self._store, self._state, self._clock, self._heartbeat = store, state, clock, heartbeat
        self.serving = False
        """Whether feedback can arrive here; if not, waits stand still."""
        self._expired_at = self._saved_at = self._save_next_at = time.monotonic()
        self._expired_up_to = float(store.note(_NOTE) or 0.0)
        self._rebuilds = state.rebuilds
        self._sweep: _Sweep | None = None
        self._saver = Saver(store, state)
        self._priors = PriorRefresh(store, state, submit)

    def run(self) -> bool:
        """Do some of what is due, a little of each; whether there is more to do at once."""
        now = time.monotonic()
        if self.serving:
            self._heartbeat.keep()
        if now - self._state.caught_up_at >= POLL / 2:
            self._state.catch_up()
        if self._state.stopped is not None:
            return False
        more = False
        if self.serving and (self._sweep is not None or now - self._expired_at >= EXPIRE_EVERY):
            self._expired_at = now
            self.expire_some()
            more = self._sweep is not None
            if self._store.to_scrub:
                self._store.scrub()
        if self.serving:
            self._priors.begin_if_due(now)
        unsaved = self._state.unsaved
        if not self._saver.saving and (
            unsaved >= CHECKPOINT_AFTER or (unsaved and now - self._saved_at >= CHECKPOINT_EVERY)
        ):
            self._saver.begin()
        if self._saver.saving and now >= self._save_next_at:
            self._save_some()
        return more

    def _save_some(self) -> None:
        """Save a slice of the state, and let callers have the writer for a while."""
        began = time.monotonic()
        self._saver.step()
        ended = time.monotonic()
        self._save_next_at = ended + (ended - began) * (1.0 / SAVING_SHARE - 1.0)
        if not self._saver.saving:
            self._was_saved()

    def expire(self) -> int:
        """Close all lists whose wait is over; how many there were."""
        found = self.expire_some()
        while self._sweep is not None:
            found += self.expire_some()
        return found

    def expire_some(self) -> int:
        """Close some of the lists known to be shown whose feedback did not come in time; how many there were."""
        now = self._clock.moment()
        sweep = None if self._rebuilds != self._state.rebuilds else self._sweep
        sweep = sweep or self._new_sweep(now.counted)
        overdue = self._store.overdue(now.counted, sweep.since, PAGE)
        found = 0
        if overdue:
            entry = encode(FeedbackExpired())
            rows = [OnEvent(entry, one.id, one.model, one.owner, now.time) for one in overdue]
            with self._store.transaction() as tx:
                found = sum(tx.append_on_events(sorted(rows, key=lambda row: row.event_id)))
                if len(overdue) < PAGE:
                    self._note(tx, sweep.began)
            self._state.catch_up()
        if len(overdue) < PAGE:
            self._sweep, self._expired_up_to = None, sweep.began
        else:
            self._sweep = _Sweep(sweep.began, overdue[-1].counted_expires)
        return found

    def _new_sweep(self, counted: float) -> _Sweep:
        if self._rebuilds != self._state.rebuilds:  # the store went back in time: so does this
            self._expired_up_to, self._rebuilds = float(self._store.note(_NOTE) or 0.0), self._state.rebuilds
        # After a gap the time that counts goes back a bit.
        return _Sweep(counted, min(self._expired_up_to, counted) - OVERLAP)

    def checkpoint(self) -> None:
        """Save the whole state, slice by slice."""
        self._saver.finish()
        self._was_saved()

    def stop_learning_priors(self) -> None:
        """Begin to learn no more priors; while the writer still works, as one may be on its way."""
        self._priors.close()

    def close(self) -> None:
        """Save what is not saved, and take no more."""
        try:
            if self._state.unsaved or self._saver.saving:
                self.checkpoint()
        finally:
            self._saver.close()

    def _was_saved(self) -> None:
        self._saved_at = time.monotonic()
        if self._state.stopped is None:
            with self._store.transaction() as tx:
                self._note(tx, self._expired_up_to)

    def _note(self, tx: Transaction, expired_up_to: float) -> None:
        """Note how far lists were looked at; not if the store went back in time, as some must be looked at again."""
        if self._rebuilds == self._state.rebuilds and tx.holds(self._state.mark):
            tx.note(_NOTE, repr(expired_up_to))
