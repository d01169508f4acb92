"""What a server knows: the journal folded up to a position, with the states of owners in memory."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rankfall.catalog import Catalog
from rankfall.errors import JournalError, LostEntryError, MissingPolicyError, NotFoundError
from rankfall.journal.catalogs import CatalogState
from rankfall.journal.entries import (
    CatalogChanged,
    FeedbackExpired,
    FeedbackGiven,
    ModelCreated,
    ModelReset,
    ModelRestored,
    OutcomeGiven,
    PriorLearned,
    UserForgotten,
)
from rankfall.journal.fold import Knowledge
from rankfall.service.model import Model
from rankfall.service.owners import OwnerView, in_slices
from rankfall.stores import BEGINNING, END, START, Checkpoint, Entry, Position, Store

_log = logging.getLogger("rankfall.service")

PAGE = 1000
"""Entries of the journal read at a time."""
_OWNER = "engine"
"""Under this owner, and no model, the checkpoint of everything but the states of owners is kept."""


@dataclass(frozen=True)
class Stopped:
    """Why learning has stopped, and before which entry."""

    position: Position
    reason: str


@dataclass(frozen=True)
class KnowledgeCopy:
    """Everything but the states of owners as it was at a position, to be saved."""

    position: Position
    pack: Callable[[], bytes]

    def checkpoint(self) -> Checkpoint:
        """It as a checkpoint; for any thread."""
        return Checkpoint("", _OWNER, self.position, self.pack())

    def was_saved(self) -> None:
        """It is in the store now."""


class ServerState:
    """All the models of a store, in memory.

    One thread folds, the writer's; any thread may read. The state is always that of a prefix of the journal. An entry
    that cannot be folded, above all one that a newer version wrote, ends the prefix: from then on :attr:`stopped` says
    why, and the server goes on ranking with what it knows.

    Parameters
    ----------
    store : where the journal is.
    room : how many states of segments or users each model holds in memory.
    on_rebuild : called when the store went back in time, before the state is built again.
    """

    def __init__(self, store: Store, room: int = 10_000, on_rebuild: Callable[[], None] = lambda: None) -> None:
        self._store, self._room, self._on_rebuild = store, room, on_rebuild
        self._timeline = store.timeline
        self.stopped: Stopped | None = None
        self.unsaved = 0
        """Entries folded since the last checkpoint."""
        self.caught_up_at = 0.0
        """As of when the journal is folded, by the monotonic clock."""
        self.rebuilding = False
        """Whether the store went back in time, and what it has now is not folded yet."""
        self.rebuilds = 0
        """How often that happened."""
        saved = store.checkpoints("", [_OWNER], START, END)[0]
        known = None if saved is None else Knowledge.unpack(saved.state, saved.position)
        self._knowledge = known or Knowledge()
        self.mark = BEGINNING if saved is None or known is None else saved.mark
        """The last entry that was folded."""
        self.models: dict[str, Model] = {}
        for name in self._knowledge.models:
            self._add_model(name)

    @property
    def position(self) -> Position:
        """The place of the last entry that was folded."""
        return self._knowledge.position

    @property
    def items(self) -> CatalogState:
        """The catalog, item by item."""
        return self._knowledge.catalog

    @property
    def catalog(self) -> Catalog | None:
        """All items, laid out, if there are any yet."""
        return self.items.current() if self.items.there else None

    def model(self, name: str) -> Model:
        """The model of this name."""
        if name not in self.models:
            raise NotFoundError(f"no model {name!r}; there is: {', '.join(sorted(self.models)) or 'none'}")
        return self.models[name]

    def catch_up(self) -> int:
        """Fold what is new in the journal; how many entries that was."""
        folded, began = 0, time.monotonic()
        while self.stopped is None:
            try:
                entries = self._store.tail(self.mark, PAGE)
                if self._store.timeline != self._timeline:
                    raise LostEntryError("the database is another cluster, or on another timeline")
            except LostEntryError as problem:
                return folded + self._rebuild(problem)
            for entry in entries:
                if not self._folded(entry):
                    break
                folded += 1
            if len(entries) < PAGE:
                break
        self.unsaved += folded
        self.caught_up_at = began
        return folded

    def _rebuild(self, problem: LostEntryError) -> int:
        """Fold again what the store has: it went back in time, and what is in memory is of another history."""
        self.rebuilding = True
        _log.warning("the store may have gone back in time; the state is built again", extra={"reason": str(problem)})
        self._on_rebuild()
        fresh = ServerState(self._store, self._room, self._on_rebuild)
        fresh.catch_up()
        self._timeline, self._knowledge = fresh._timeline, fresh._knowledge
        self.mark, self.models = fresh.mark, fresh.models
        self.stopped, self.unsaved, self.caught_up_at = fresh.stopped, fresh.unsaved, fresh.caught_up_at
        self.rebuilds += 1 + fresh.rebuilds
        self.rebuilding = False
        _log.warning("the state is that of the store again", extra={"entry": self.position})
        return fresh.unsaved

    def _folded(self, entry: Entry) -> bool:
        """Fold one entry, or stop before it; whether it was folded."""
        try:
            self._fold(entry)
            return True
        except MissingPolicyError as problem:
            self._stop(entry, f"names a policy that this server was not given: {problem}")
        except JournalError as problem:
            self._stop(entry, f"was written by a newer version: {problem}; upgrade this server")
        except Exception as problem:  # a mistake of ours; folding on would learn in another order than other servers
            self.stopped = Stopped(entry.position, f"entry {entry.position} cannot be folded: {problem!r}")
            _log.exception("learning has stopped", extra={"entry": entry.position})
        return False

    def _stop(self, entry: Entry, why: str) -> None:
        """Go on without the entry and all after it."""
        self.stopped = Stopped(entry.position, f"entry {entry.position} {why}")
        extra = {"entry": entry.position, "reason": self.stopped.reason}
        _log.error("learning has stopped; this server ranks with what it knows", extra=extra)

    def _fold(self, entry: Entry) -> None:
        """Take in the next entry: what the journal says, then what that means to states in memory."""
        record = self._knowledge.apply(entry)
        self.mark = entry.mark
        if isinstance(record, FeedbackGiven | FeedbackExpired | OutcomeGiven):
            if entry.model in self.models:
                self.models[entry.model].learn(entry, record)
        elif isinstance(record, ModelCreated):
            self._add_model(entry.model)
        elif isinstance(record, CatalogChanged):
            if record.topics:  # states have columns for topics, and are read again with those
                for model in self.models.values():
                    model.drop_all()
        elif isinstance(record, ModelReset | ModelRestored):
            self.models[entry.model].drop_all()
        elif isinstance(record, PriorLearned):
            self.models[entry.model].start_from(entry.position, record)
        elif isinstance(record, UserForgotten):
            for model in self.models.values():
                if model.settings.scope == "user":
                    model.drop(lambda owner: fingerprint(owner, record.salt) == record.digest)

    def _add_model(self, name: str) -> None:
        self.models[name] = Model(self._knowledge.models[name], self._knowledge.catalog, self._room)

    def load(self, model: str, owners: Sequence[str]) -> dict[str, OwnerView]:
        """Bring the states of owners into memory; those that had to leave for them are saved."""
        views, leaving = self.models[model].load(self._store, owners, self.position)
        for part in in_slices(leaving):
            checkpoints = [copy.checkpoint() for copy in part]
            with self._store.transaction() as tx:
                tx.save(checkpoints, self.mark)
        return views

    def copy_of_knowledge(self) -> KnowledgeCopy:
        """Everything but the states of owners as it is at this position, to be saved; for the thread that folds."""
        return KnowledgeCopy(self.position, self._knowledge.packing())


def fingerprint(user: str, salt: str) -> str:
    """What is left of the name of a user who was forgotten."""
    return hashlib.blake2b(user.encode(), key=salt.encode(), digest_size=16).hexdigest()
