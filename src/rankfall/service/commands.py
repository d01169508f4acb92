"""What callers want written, as small frozen values. The writer carries them out and gives each its result."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from rankfall.errors import ConflictError, NotFoundError
from rankfall.item_names import Id
from rankfall.journal.entries import (
    CatalogChanged,
    ItemPatched,
    ModelCreated,
    ModelReset,
    ModelRestored,
    PriorLearned,
    SettingsChanged,
    UserForgotten,
    decode,
    encode,
)
from rankfall.journal.fold import settings_of
from rankfall.service.clock import Moment
from rankfall.service.owners import OwnerView
from rankfall.service.state import ServerState, fingerprint
from rankfall.service.tokens import token
from rankfall.stores import Event, Mark, Snapshot, Transaction
from rankfall.wire import FeedbackRequest, ItemPatch, ModelChanges, ModelSettings, Result

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Command(Generic[R_co]):
    """Something to be written, or to be read by the thread that writes; ``R_co`` is what it gives."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class LoadOwner(Command[OwnerView]):
    """Bring the state of an owner into memory."""

    model: str
    owner: str


@dataclass(frozen=True, slots=True)
class StoreEvent(Command[Event]):
    """Store a list before the caller gets it; for a retry, the list of the first time."""

    event: Event


class FeedbackResult(NamedTuple):
    """What became of one report: of the clicks of a list, or of an ``outcome``, which is its type."""

    result: Result
    reason: str = ""
    model: str = ""
    arm: str = ""
    clicked: bool = False
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class GiveFeedback(Command[tuple[FeedbackResult, ...]]):
    """Store feedback. ``models`` are those that the caller may know of; None for all."""

    feedback: tuple[FeedbackRequest, ...]
    models: frozenset[str] | None = None
    token: str = field(default_factory=lambda: token(8))


class Decision(Command[R]):
    """Something whose meaning depends on what the server knows: it is written with a look at the state.

    While learning has stopped, what the server knows is out of date: then decisions are refused, unless they say that
    they can be made all the same.
    """

    __slots__ = ()
    while_stopped: ClassVar[bool] = False
    forgets: ClassVar[bool] = False
    """Whether lists must not be stored meanwhile."""

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> R:
        """Write it; raises what speaks against it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class FindEvent(Decision[Event | None]):
    """The list that a request was given earlier, if it was the same request."""

    while_stopped: ClassVar[bool] = True
    model: str
    request_id: str
    digest: str

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> Event | None:  # noqa: ARG002
        """Read it."""
        earlier = tx.event_of_request(self.model, self.request_id)
        return earlier if earlier is not None and earlier.digest == self.digest else None


@dataclass(frozen=True, slots=True)
class Activate(Decision[float]):
    """A list is shown now, and the wait for feedback begins; gives when it ends."""

    while_stopped: ClassVar[bool] = True
    event_id: str
    models: frozenset[str] | None = None

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> float:
        """Mark the list as shown."""
        event = tx.events([self.event_id])[0]
        if event is None or event.model not in state.models or not (self.models is None or event.model in self.models):
            raise NotFoundError("no list with this event_id")
        if event.active:
            return now.end_of_wait(event)
        if now.counted > event.counted_expires:
            raise ConflictError("the list has expired; it can no longer be activated")
        expires = now.time + state.models[event.model].settings.feedback_wait
        tx.activate(self.event_id, expires, now.gaps)
        return expires


@dataclass(frozen=True, slots=True)
class PutItems(Decision[int]):
    """Put items into the catalog and take others out; gives the version this makes.

    ``items`` are encoded by :func:`~rankfall.journal.catalogs.encode_catalog`. For many that takes long, so whoever
    gives the command does it: neither other commands nor a transaction wait for it.
    """

    items: bytes | None
    delete: tuple[Id, ...] = ()
    replace: bool = False

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> int:  # noqa: ARG002
        """Append the change."""
        change = CatalogChanged(replace=self.replace, items=self.items, delete=self.delete)
        return tx.append(encode(change), "", now.time)


@dataclass(frozen=True, slots=True)
class AddTopics(Decision[int]):
    """Have further topics, which no item covers yet; gives the version of the catalog this makes."""

    topics: tuple[str, ...]

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> int:
        """Append them, unless all are there."""
        if set(self.topics) <= set(state.items.shape.topics):
            return state.items.version
        return tx.append(encode(CatalogChanged(topics=self.topics)), "", now.time)


@dataclass(frozen=True, slots=True)
class SeedCatalog(Decision[None]):
    """Make these items the catalog if there is none; they are encoded as those of :class:`PutItems`."""

    items: bytes

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> None:  # noqa: ARG002
        """Append it, unless another server was faster."""
        if tx.first("catalog", "") is None:
            tx.append(encode(CatalogChanged(replace=True, items=self.items)), "", now.time)


@dataclass(frozen=True, slots=True)
class PatchItem(Decision[int]):
    """Change parts of an item; gives the version this makes."""

    id: Id
    patch: ItemPatch

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> int:  # noqa: ARG002
        """Append the change, as a change: two servers that patch one item do not undo each other."""
        patch = msgspec.convert({"id": self.id, **msgspec.to_builtins(self.patch)}, ItemPatched)
        return tx.append(encode(CatalogChanged(patch=patch)), "", now.time)


FIXED = tuple(name for name in ModelSettings.__struct_fields__ if name not in ModelChanges.__struct_fields__)
"""The settings that no request changes."""


@dataclass(frozen=True, slots=True)
class CreateModel(Decision[bool]):
    """Make a model; False if it is there with the same settings."""

    name: str
    settings: ModelSettings

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> bool:
        """Append it, unless it is there."""
        made = tx.first("create", self.name)
        if made is None:
            plain = msgspec.to_builtins(self.settings)
            created = msgspec.convert({**plain, "rules": plain["rules"] or None}, ModelCreated)
            tx.append(encode(created), self.name, now.time)
            return True
        if self.name in state.models:
            settings = state.models[self.name].settings
        else:  # it was made a moment ago, in this transaction
            record = decode(made.kind, made.version, made.body)
            assert isinstance(record, ModelCreated)
            settings = settings_of(record)
        if settings != self.settings:
            fixed = [name for name in FIXED if getattr(settings, name) != getattr(self.settings, name)]
            how = f"{', '.join(fixed)} never changes: make another model" if fixed else "PATCH changes them"
            raise ConflictError(f"model {self.name!r} is there already, with other settings; {how}")
        return False


@dataclass(frozen=True, slots=True)
class ChangeSettings(Decision[int]):
    """Change settings of a model; what was learned stays."""

    model: str
    changes: Mapping[str, Any]

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> int:  # noqa: ARG002
        """Append the changes."""
        return tx.append(encode(msgspec.convert(dict(self.changes), SettingsChanged)), self.model, now.time)


@dataclass(frozen=True, slots=True)
class Reset(Decision[int]):
    """Unlearn everything, for all owners. The journal stays, so a snapshot can be restored."""

    model: str

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> int:  # noqa: ARG002
        """Append it."""
        return tx.append(encode(ModelReset()), self.model, now.time)


@dataclass(frozen=True, slots=True)
class TakeSnapshot(Decision[Snapshot]):
    """Give a name to the state as it is."""

    model: str
    name: str = ""

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> Snapshot:
        """Store the name, and a global state, so that going back to it is fast: its checkpoint is kept."""
        model = state.model(self.model)
        position = model.position_of("") if model.settings.scope == "global" else None
        snapshot_id = f"s-{secrets.token_hex(6)}"
        snapshot = Snapshot(snapshot_id, self.model, self.name, position or state.position, now.time)
        tx.add_snapshot(snapshot)
        if position is not None and (copy := model.copy_of("")) is not None:
            tx.save([copy.checkpoint()], state.mark)
        return snapshot


@dataclass(frozen=True, slots=True)
class Restore(Decision[int]):
    """Go back to a snapshot, for all owners."""

    snapshot: Snapshot

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> int:  # noqa: ARG002
        """Append it."""
        record = ModelRestored(self.snapshot.position, self.snapshot.id)
        return tx.append(encode(record), self.snapshot.model, now.time)


@dataclass(frozen=True, slots=True)
class KeepPrior(Decision[bool]):
    """Have users start from a prior that was learned from the journal up to ``known``; False if that is out of date."""

    model: str
    prior: PriorLearned
    known: Mark

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> bool:  # noqa: ARG002
        """Append it, unless another server was faster, the model began anew, or a user was forgotten since.

        Nor if the store went back in time: it was learned from another history.
        """
        position = self.known.position
        if tx.since(position, self.model, ("prior", "reset", "restore")) or tx.since(position, "", ("forget",)):
            return False
        if not tx.holds(self.known):
            return False
        tx.append(encode(self.prior), self.model, now.time)
        return True


class Forgotten(NamedTuple):
    """What was removed of a user: states, lists, and the name from other lists."""

    states: int
    removed: int
    anonymised: int


@dataclass(frozen=True, slots=True)
class ForgetUser(Decision[Forgotten]):
    """Remove what is held on a user."""

    forgets: ClassVar[bool] = True
    user: str

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> Forgotten:
        """Remove it, and say so to the other servers without the name."""
        salt = secrets.token_hex(8)
        own = {name: model.history.rewards for name, model in state.models.items() if model.settings.scope == "user"}
        gone = tx.forget(self.user, own)
        tx.append(encode(UserForgotten(salt, fingerprint(self.user, salt), gone.lists)), "", now.time)
        return Forgotten(gone.states, sum(gone.lists.values()), gone.anonymised)
