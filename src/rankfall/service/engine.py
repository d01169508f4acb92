"""The engine: the state that a journal says there is, kept in memory, and everything that may be done with it."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from rankfall.array_container import pack, unpack
from rankfall.catalog import Catalog
from rankfall.errors import ConflictError, NotFoundError, RankError, RankfallError, StoreError
from rankfall.journal.catalogs import CatalogState, decode_catalog, encode_catalog
from rankfall.journal.entries import (
    CatalogChanged,
    FeedbackExpired,
    ItemPatched,
    ModelCreated,
    ModelReset,
    ModelRestored,
    SettingsChanged,
    UserForgotten,
    decode,
    encode,
)
from rankfall.service.feedback import Fed, Feed, feed
from rankfall.service.model import Held, Model, Turn, with_changes
from rankfall.service.ranking import digest_of, event_of, show
from rankfall.service.writer import POLL, Job, Keeper
from rankfall.stores import START, Checkpoint, Entry, Event, OnEvent, Position, Snapshot, Store, Transaction
from rankfall.wire import FeedbackRequest, ModelSettings, RankRequest
from rankfall.wire import decode as decode_wire

_log = logging.getLogger("rankfall.service")
_END = Position(2**62, 2**62)

PAGE = 1000
"""Entries of the journal read at a time."""
CHECKPOINT_AFTER = 20_000
"""Entries folded before the whole state is saved, so that a restart need not fold them again."""
CHECKPOINT_EVERY = 300.0
"""Seconds after which the state is saved if anything happened."""
SWEEP_EVERY = 1.0
OVERLAP = 10.0
"""Seconds by which a sweep looks back behind the last one, for lists that were being written at the time."""
RANK_PATIENCE = 1.0


@dataclass
class Load:
    """Bring the state of a key into memory."""

    model: Model
    key: str


@dataclass
class Record:
    """Store a list before it is answered."""

    event: Event


@dataclass
class Do:
    """Anything else that is written."""

    what: Callable[[Transaction], Any]


class Clock:
    """Seconds since 1970 that never jump while the process runs, whatever is done to the machine's clock."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        """Now."""
        return time.monotonic() + self._offset


class Engine:
    """All the models of a store, in memory.

    Parameters
    ----------
    store : where everything is kept.
    room : how many states of segments or users each model holds in memory.
    clock : gives seconds since 1970.
    on_fallback : called with (model, reason) when a baseline is shown because a policy failed.
    on_store_error : called when the store could not be read or written.
    """

    def __init__(
        self,
        store: Store,
        *,
        room: int = 10_000,
        clock: Callable[[], float] | None = None,
        on_fallback: Callable[[str, str], None] = lambda _model, _reason: None,
        on_store_error: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.clock = clock or Clock()
        self.models: dict[str, Model] = {}
        self.catalog: Catalog | None = None
        self.catalog_version = 0
        self.position = START
        self._room = room
        self._on_fallback = on_fallback
        self._unsaved = 0
        self._saved_at = self._swept_at = time.monotonic()
        self._catalog_changed = False
        self._load()
        self.fold()
        self._swept = float(store.note("swept") or 0.0)
        self._keeper = Keeper(self._work, self._idle, on_store_error)

    # What the journal says

    def _load(self) -> None:
        """Begin with the newest checkpoint, if there is one."""
        checkpoint = self.store.checkpoints("", ["engine"], START, _END)[0]
        if checkpoint is None:
            return
        header, arrays = unpack(checkpoint.state)
        if arrays:
            self.catalog = decode_catalog(arrays["catalog"].tobytes())
            self.catalog_version = header["catalog"]
            self.models = {
                name: Model.from_plain(name, plain, self.catalog, self.catalog_version, self._room)
                for name, plain in header["models"].items()
            }
        self.position = checkpoint.position

    def fold(self) -> int:
        """Take in what is new in the journal; how many entries that was."""
        folded = 0
        self._folded_at = time.monotonic()
        while True:
            entries = self.store.tail(self.position, PAGE)
            for entry in entries:
                self._apply(entry)
                self.position = entry.position
            self._use_catalog()
            folded += len(entries)
            if len(entries) < PAGE:
                self._unsaved += folded
                return folded

    def _apply(self, entry: Entry) -> None:
        if entry.kind in ("feedback", "expired"):
            model = self.models.get(entry.model)
            if model is not None:
                model.learn(entry)
        elif entry.kind == "catalog":
            changed = decode(entry.kind, entry.version, entry.body, entry.blob)
            assert isinstance(changed, CatalogChanged)
            state = CatalogState(self.catalog)
            state.apply(changed, entry.position.seq)
            self.catalog = state.current()
            self.catalog_version = entry.position.seq
            self._catalog_changed = True
        elif entry.kind == "create":
            self._use_catalog()
            assert self.catalog is not None
            settings = decode_wire(ModelSettings, entry.body.encode())
            turns = [Turn(entry.position)]
            self.models[entry.model] = Model(
                entry.model, settings, self.catalog, self.catalog_version, turns, entry.at, self._room
            )
        elif entry.kind == "settings":
            model = self.models[entry.model]
            model.change(with_changes(model.settings, json.loads(entry.body)))
        elif entry.kind == "reset":
            self.models[entry.model].turn(Turn(entry.position))
        elif entry.kind == "restore":
            source = Position(*json.loads(entry.body)["source"])
            self.models[entry.model].turn(Turn(entry.position, source))
        elif entry.kind == "forget":
            mark = json.loads(entry.body)
            for model in self.models.values():
                if model.settings.scope == "user":
                    model.drop(lambda key: _mark(key, mark["salt"]) == mark["digest"])

    def _use_catalog(self) -> None:
        if self._catalog_changed and self.catalog is not None:
            self._catalog_changed = False
            for model in self.models.values():
                model.use(self.catalog, self.catalog_version)

    # What the keeper does

    def _work(self, jobs: list[Job[Any]]) -> None:
        for job in jobs:
            job.error = None  # of an attempt that came to nothing
        wanted: dict[str, list[Job[Any]]] = defaultdict(list)
        for job in jobs:
            if isinstance(job.what, Load):
                wanted[job.what.model.name].append(job)
        for of_model in wanted.values():  # first: if this fails, nothing was written that a second attempt would repeat
            self._load_keys(of_model)
        recording = [job for job in jobs if isinstance(job.what, Record)]
        feeding = [job for job in jobs if isinstance(job.what, Feed)]
        doing = [job for job in jobs if isinstance(job.what, Do)]
        if recording or feeding:
            with self.store.transaction() as tx:
                self._record(tx, recording)
                feed(tx, feeding, self.clock())
            self._keeper.deliver(recording)  # need not wait for the fold
        if doing:  # apart: who answers lists must not wait for who forgets them, nor the other way round
            with self.store.transaction() as tx:
                for job in doing:
                    self._do(tx, job)
        if feeding or doing or recording:
            try:
                self.fold()
            except StoreError as problem:  # what was written is durable; it is folded as soon as the store is back
                _log.warning("store cannot be read", extra={"reason": str(problem)})

    def _load_keys(self, jobs: list[Job[Any]]) -> None:
        model: Model = jobs[0].what.model
        held, leaving = model.load(self.store, [job.what.key for job in jobs], self.position)
        for job in jobs:
            job.result = held[job.what.key]
        if leaving:
            with self.store.transaction() as tx:
                tx.save(leaving, self.position)

    def _record(self, tx: Transaction, jobs: list[Job[Any]]) -> None:
        jobs = sorted(jobs, key=lambda job: (job.what.event.model, job.what.event.request_id or ""))
        for job, stored in zip(jobs, tx.add_events([job.what.event for job in jobs]), strict=True):
            event: Event = job.what.event
            job.result = event
            if not stored:
                earlier = tx.event_of_request(event.model, event.request_id) if event.request_id else event
                if earlier is None or earlier.digest != event.digest:
                    job.error = ConflictError(f"request_id {event.request_id!r} was used for another request")
                job.result = earlier

    def _do(self, tx: Transaction, job: Job[Any]) -> None:
        try:
            with tx.attempt():
                job.result = job.what.what(tx)
        except StoreError:
            raise
        except RankfallError as problem:
            job.error = problem

    def _idle(self) -> None:
        """What is done between batches: read on, see whose wait ran out, save."""
        now = time.monotonic()
        if now - self._folded_at >= POLL / 2:
            self.fold()
        if now - self._swept_at >= SWEEP_EVERY:
            self._swept_at = now
            self.sweep()
        if self._unsaved >= CHECKPOINT_AFTER or (self._unsaved and now - self._saved_at >= CHECKPOINT_EVERY):
            self.checkpoint()

    def sweep(self) -> int:
        """Silence on a list known to be shown, after its wait ran out, is no click; how many lists that was."""
        found = 0
        while True:
            now = self.clock()
            since = min(self._swept, now) - OVERLAP  # the clock may have been set back since the last sweep
            silent = self.store.overdue(now, since, PAGE)
            if silent:
                with self.store.transaction() as tx:
                    rows = [OnEvent(encode(FeedbackExpired()), event, model, key, now) for event, model, key in silent]
                    found += sum(tx.append_on_events(rows))
                    if len(silent) < PAGE:
                        tx.note("swept", repr(now))
                self.fold()
            if len(silent) < PAGE:
                self._swept = now
                return found

    def checkpoint(self) -> None:
        """Save the whole state as it is at this place in the journal."""
        states = [state for model in self.models.values() for state in model.unsaved(1)]
        header = {
            "models": {name: model.plain() for name, model in self.models.items()},
            "catalog": self.catalog_version,
        }
        arrays = {} if self.catalog is None else {"catalog": _bytes(encode_catalog(self.catalog))}
        with self.store.transaction() as tx:
            tx.save([*states, Checkpoint("", "engine", self.position, pack(header, arrays))], self.position)
            tx.note("swept", repr(self._swept))
        self._unsaved, self._saved_at = 0, time.monotonic()

    def close(self) -> None:
        """Finish what is waiting, save, and let go of the store."""
        self._keeper.close()
        try:
            if self._unsaved:
                self.checkpoint()
        except StoreError as problem:
            _log.warning("state not saved; it will be folded again", extra={"reason": str(problem)})
        self.store.close()

    @property
    def alive(self) -> bool:
        """Whether the thread that writes still does."""
        return self._keeper.alive

    # What may be done

    def model(self, name: str) -> Model:
        """The model of this name."""
        if name not in self.models:
            raise NotFoundError(f"no model {name!r}; there is: {', '.join(sorted(self.models)) or 'none'}")
        return self.models[name]

    def key(self, model: Model, user: str | None, segment: str | None) -> str:
        """The state that serves a caller."""
        key = model.key(user, segment)
        if key is None:
            raise RankError(f"model {model.name!r} has one state for each {model.settings.scope}; say which")
        return key

    def make(self, model: Model, held: Held, request: RankRequest) -> Event:
        """The list for a request, not stored yet."""

        def on_error(problem: Exception) -> None:
            self._on_fallback(model.name, type(problem).__name__)
            _log.error("ranking failed; the baseline is shown", exc_info=problem, extra={"model": model.name})

        same = replace(held)  # with one policy throughout, whatever other threads give it meanwhile
        resolved, shown = show(model, same, request, on_error)
        held.last = same.last
        return event_of(model, same, resolved, shown, self.clock())

    async def rank(self, model: Model, request: RankRequest) -> Event:
        """A list for a request, stored; for a retry the list of the first time."""
        held = await self.state(model, self.key(model, request.user, request.segment))
        try:
            made = self.make(model, held, request)
        except RankError:
            earlier = None if request.request_id is None else await self.do(self._earlier(model, request))
            if earlier is None:
                raise
            return earlier  # type: ignore[no-any-return]
        event: Event = await self._keeper.ask_async(Record(made), RANK_PATIENCE)
        return event

    @staticmethod
    def _earlier(model: Model, request: RankRequest) -> Callable[[Transaction], Event | None]:
        """The list this request was answered with when it still could be."""

        def read(tx: Transaction) -> Event | None:
            assert request.request_id is not None
            earlier = tx.event_of_request(model.name, request.request_id)
            return earlier if earlier is not None and earlier.digest == digest_of(request) else None

        return read

    async def state(self, model: Model, key: str) -> Held:
        """The state of a key, brought into memory if need be."""
        held = model.held(key)
        return held if held is not None else await self._keeper.ask_async(Load(model, key), RANK_PATIENCE)

    async def feed(self, feedback: Sequence[FeedbackRequest], may: Callable[[str], bool] = lambda _: True) -> list[Fed]:
        """Feedback, stored for good where the answer is "accepted"."""
        results: list[Fed] = await self._keeper.ask_async(Feed(feedback, may))
        return results

    async def do(self, what: Callable[[Transaction], Any]) -> Any:
        """Anything else that is written."""
        return await self._keeper.ask_async(Do(what))

    def do_now(self, what: Callable[[Transaction], Any]) -> Any:
        """Anything else that is written; for callers in a thread."""
        return self._keeper.ask(Do(what)).result()

    def activate(self, event_id: str, may: Callable[[str], bool]) -> Callable[[Transaction], float]:
        """A list is shown now, and the wait for feedback begins; when it ends."""

        def write(tx: Transaction) -> float:
            event = tx.events([event_id])[0]
            if event is None or not may(event.model) or event.model not in self.models:
                raise NotFoundError("no list with this event_id")
            now = self.clock()
            if event.active:
                return event.expires
            if now > event.expires:
                raise ConflictError("the list has expired; it can no longer be activated")
            expires = now + self.models[event.model].settings.feedback_wait
            tx.activate(event_id, expires)
            return expires

        return write

    def put_catalog(
        self, items: Catalog | None, delete: Sequence[Any] = (), *, replace: bool = False
    ) -> Callable[[Transaction], int]:
        """Put items into the catalog and take others out; the version this makes."""
        put = None if items is None else encode_catalog(items)
        entry = encode(CatalogChanged(replace=replace, items=put, delete=tuple(delete)))
        return lambda tx: tx.append(entry, "", self.clock())

    def patch_item(self, item: Any, patch: dict[str, Any]) -> Callable[[Transaction], int]:
        """Change parts of an item; the version this makes."""
        entry = encode(CatalogChanged(patch=ItemPatched(item, **patch)))
        return lambda tx: tx.append(entry, "", self.clock())

    def create(self, name: str, settings: ModelSettings) -> Callable[[Transaction], bool]:
        """Make a model; False if it is there with the same settings."""

        def write(tx: Transaction) -> bool:
            tx.exclusive()
            made = tx.first("create", name)
            if made is not None:
                model = self.models.get(name)  # not there yet if it was made a moment ago, maybe by another server
                if settings != (decode_wire(ModelSettings, made.body.encode()) if model is None else model.settings):
                    raise ConflictError(f"model {name!r} is there already, with other settings; PATCH changes them")
                return False
            tx.append(encode(msgspec.convert(msgspec.to_builtins(settings), ModelCreated)), name, self.clock())
            return True

        return write

    def change(self, model: Model, changes: dict[str, Any]) -> Callable[[Transaction], int]:
        """Change settings; what was learned stays."""
        return lambda tx: tx.append(encode(msgspec.convert(changes, SettingsChanged)), model.name, self.clock())

    def reset(self, model: Model) -> Callable[[Transaction], int]:
        """Unlearn everything, for all keys. The journal stays, so a snapshot can be restored."""
        return lambda tx: tx.append(encode(ModelReset()), model.name, self.clock())

    def snapshot(self, model: Model, name: str) -> Callable[[Transaction], Snapshot]:
        """Name the state as it is."""

        def write(tx: Transaction) -> Snapshot:
            held = model.held("") if model.settings.scope == "global" else None
            position = self.position if held is None else held.position
            snapshot = Snapshot(f"s-{secrets.token_hex(6)}", model.name, name, position, self.clock())
            tx.add_snapshot(snapshot)
            tx.save(model.unsaved(1), self.position)
            return snapshot

        return write

    def find_snapshot(self, model: Model, snapshot_id: str) -> Snapshot:
        """A snapshot by its id."""
        for snapshot in self.store.snapshots(model.name):
            if snapshot.id == snapshot_id:
                return snapshot
        raise NotFoundError(f"model {model.name!r} has no snapshot {snapshot_id!r}")

    def restore(self, model: Model, snapshot: Snapshot) -> Callable[[Transaction], int]:
        """Go back to a snapshot, for all keys."""
        entry = encode(ModelRestored(snapshot.position, snapshot.id))
        return lambda tx: tx.append(entry, model.name, self.clock())

    def save_state(self, model: Model, key: str, upto: Position | None, path: Path) -> None:
        """Write the state of a key to a file that :func:`rankfall.load` reads: the present one, or an earlier one."""
        model.states(self.store, [key], upto or self.position)[0].policy.save(path)

    def forget(self, user: str) -> Callable[[Transaction], tuple[int, int, int]]:
        """Remove what is held on a user."""
        own = [name for name, model in self.models.items() if model.settings.scope == "user"]

        def write(tx: Transaction) -> tuple[int, int, int]:
            tx.exclusive()  # so that no state is saved by others meanwhile
            salt = secrets.token_hex(8)
            tx.append(encode(UserForgotten(salt, _mark(user, salt))), "", self.clock())
            return tx.forget(user, own)

        return write

    def lag(self) -> float:
        """Age in seconds of the oldest entry of the journal that is not in the state yet."""
        since = self.store.waiting_since(self.position)
        return 0.0 if since is None else max(0.0, self.clock() - since)


def _mark(user: str, salt: str) -> str:
    return hashlib.blake2b(user.encode(), key=salt.encode(), digest_size=16).hexdigest()


def _bytes(data: bytes) -> Any:
    import numpy as np

    return np.frombuffer(data, dtype=np.uint8)
