"""What the writer does between batches: follow the journal, close lists whose feedback never came, save."""

from __future__ import annotations

import time

from rankfall.journal.entries import FeedbackExpired, encode
from rankfall.service.clock import Clock
from rankfall.service.heartbeat import Heartbeat
from rankfall.service.state import ServerState
from rankfall.service.writer import POLL
from rankfall.stores import OnEvent, Store

PAGE = 1000
"""Lists closed in one transaction."""
CHECKPOINT_AFTER = 20_000
"""Entries folded before the whole state is saved, so that a restart need not fold them again."""
CHECKPOINT_EVERY = 300.0
"""Seconds after which the state is saved if anything happened."""
EXPIRE_EVERY = 1.0
"""Seconds between looks for lists whose wait for feedback ran out."""
OVERLAP = 10.0
"""Seconds by which such a look reaches back behind the last one, for lists that were being written at the time."""
_NOTE = "swept"
"""Where it is noted up to which moment lists were looked at."""


class Upkeep:
    """Keeps a store and a state in order.

    While learning has stopped, nothing is written here: it would follow from a state that is out of date. After an
    upgrade all of it is caught up on.
    """

    def __init__(self, store: Store, state: ServerState, clock: Clock, heartbeat: Heartbeat) -> None:
        self._store, self._state, self._clock, self._heartbeat = store, state, clock, heartbeat
        self.serving = False
        """Whether feedback can arrive here; if not, no wait goes on."""
        self._expired_at = self._saved_at = time.monotonic()
        self._expired_up_to = float(store.note(_NOTE) or 0.0)
        self._rebuilds = state.rebuilds

    def run(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        if self.serving:
            self._heartbeat.keep()
        if now - self._state.caught_up_at >= POLL / 2:
            self._state.catch_up()
        if self._state.stopped is not None:
            return
        if self.serving and now - self._expired_at >= EXPIRE_EVERY:
            self._expired_at = now
            self.expire()
            if self._store.to_scrub:
                self._store.scrub()
        unsaved = self._state.unsaved
        if unsaved >= CHECKPOINT_AFTER or (unsaved and now - self._saved_at >= CHECKPOINT_EVERY):
            self.checkpoint()

    def expire(self) -> int:
        """Where feedback on a list known to be shown did not come in time, store that; how many lists that was."""
        found = 0
        if self._rebuilds != self._state.rebuilds:  # the store went back in time: so does this
            self._expired_up_to, self._rebuilds = float(self._store.note(_NOTE) or 0.0), self._state.rebuilds
        while True:
            now = self._clock.moment()
            since = min(self._expired_up_to, now.counted) - OVERLAP  # after a gap the time that counts goes back a bit
            overdue = self._store.overdue(now.counted, since, PAGE)
            if overdue:
                entry = encode(FeedbackExpired())
                with self._store.transaction() as tx:
                    rows = [OnEvent(entry, event, model, owner, now.time) for event, model, owner in overdue]
                    found += sum(tx.append_on_events(rows))
                    if len(overdue) < PAGE:
                        tx.note(_NOTE, repr(now.counted))
                self._state.catch_up()
            if len(overdue) < PAGE:
                self._expired_up_to = now.counted
                return found

    def checkpoint(self) -> None:
        """Save the whole state as it is at this position in the journal."""
        checkpoints = self._state.checkpoints()
        with self._store.transaction() as tx:
            if tx.save(checkpoints, self._state.mark) and self._state.stopped is None:
                tx.note(_NOTE, repr(self._expired_up_to))
        self._state.unsaved, self._saved_at = 0, time.monotonic()
