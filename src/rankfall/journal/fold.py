"""The one fold: what the journal says, entry by entry. The service, exports and replays all use it.

What the states of owners have learned is not here: it is large, and only a service needs it, for the owners that are
asked for (see :mod:`rankfall.service.model`). Everything else that entries change is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec
import numpy as np

from rankfall.array_container import pack, unpack
from rankfall.errors import InvalidError, JournalError, MissingPolicyError, RankfallError
from rankfall.journal.catalogs import CatalogState, decode_catalog, encode_catalog
from rankfall.journal.click_counts import ClickCounts
from rankfall.journal.entries import (
    KINDS,
    CatalogChanged,
    FeedbackExpired,
    FeedbackForgotten,
    FeedbackGiven,
    ModelCreated,
    ModelReset,
    ModelRestored,
    OutcomeGiven,
    PriorLearned,
    Record,
    SettingsChanged,
    StoredSettings,
    UserForgotten,
    decode,
)
from rankfall.journal.outcomes import RewardAdded, clicks_of, reward_added
from rankfall.journal.priors import PriorNote
from rankfall.journal.records import START, Entry, Position
from rankfall.policies import SERVED
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.rewards import Rewards
from rankfall.wire import ModelSettings, convert

_log = logging.getLogger("rankfall.journal")

_VERSION = 3
"""Of the form in which :meth:`Knowledge.pack` writes. Versions 1 and 2 have positions of two numbers: the migration to
one number (:mod:`rankfall.stores.renumbering`) brings them up to date."""


@dataclass(frozen=True)
class Epoch:
    """The position from which the states of a model count: from nothing, or from what they were at ``source``."""

    position: Position
    source: Position | None = None


@dataclass
class ModelHistory:
    """What the journal says of one model."""

    name: str
    settings: ModelSettings
    created: float
    epochs: list[Epoch]
    counts: ClickCounts = field(default_factory=ClickCounts)
    forgotten: int = 0
    """Lists that were removed with their users."""
    forgot_at: Position = START
    """When lists were last removed so."""
    priors: list[PriorNote] = field(default_factory=list)
    """All priors there were, in order."""

    def epoch_at(self, position: Position) -> Epoch:
        """The epoch that an entry at this position belongs to."""
        return [epoch for epoch in self.epochs if epoch.position <= position][-1]

    def counts_at(self, place: Position, position: Position) -> bool:
        """Whether states at a position have learned from an entry at an earlier place: not if it was unlearned."""
        epoch = self.epoch_at(position)
        if place > epoch.position:
            return True
        return epoch.source is not None and place <= epoch.source and self.counts_at(place, epoch.source)

    def prior_at(self, position: Position) -> PriorNote | None:
        """The prior that states at this position start from; None while there is none, as after a reset."""
        epoch = self.epoch_at(position)
        for note in reversed(self.priors):
            if epoch.position < note.position <= position:
                return note
        return None if epoch.source is None else self.prior_at(epoch.source)

    @property
    def rewards(self) -> Rewards | None:
        """What a click and outcomes are worth; None where only clicks count."""
        return rewards_of(self.settings)


@dataclass
class Knowledge:
    """What the journal says up to a position."""

    position: Position = START
    catalog: CatalogState = field(default_factory=CatalogState)
    models: dict[str, ModelHistory] = field(default_factory=dict)

    def apply(self, entry: Entry) -> Record:
        """Take in the next entry; what it says. If a newer version wrote it: JournalError, and nothing changes."""
        record = decode(entry.kind, entry.version, entry.body, entry.blob)
        if isinstance(record, FeedbackGiven | FeedbackExpired | OutcomeGiven | FeedbackForgotten):
            self._count(entry, record)
        elif isinstance(record, CatalogChanged):
            self.catalog.apply(record, entry.position)
        elif isinstance(record, ModelCreated):
            settings = settings_of(record)
            self.models[entry.model] = ModelHistory(entry.model, settings, entry.at, [Epoch(entry.position)])
        elif isinstance(record, SettingsChanged):
            self.models[entry.model].settings = settings_of(record, self.models[entry.model].settings)
        elif isinstance(record, ModelReset):
            self.models[entry.model].epochs.append(Epoch(entry.position))
        elif isinstance(record, ModelRestored):
            self.models[entry.model].epochs.append(Epoch(entry.position, record.source))
        elif isinstance(record, PriorLearned):
            model = self.models[entry.model]
            note = PriorNote(entry.position, entry.at, record.users, record.lists, model.counts.with_feedback)
            model.priors.append(note)
        else:
            self._forget(record, entry.position)
        self.position = entry.position
        return record

    def _count(self, entry: Entry, record: Record) -> None:
        """Count an entry on an event, in full or what is left of it."""
        if entry.model not in self.models:
            return
        model = self.models[entry.model]
        rewards = model.rewards
        left = record if isinstance(record, FeedbackForgotten) else forgotten(entry, record, rewards)
        if not left.outcome:
            model.counts.add(entry.at, left.arm, left.covered, clicked=left.clicked, expired=left.expired)
        if rewards is not None:
            model.counts.earn(left.arm, left.reward, left.squares)

    def _forget(self, record: UserForgotten, position: Position) -> None:
        for name, lists in record.removed.items():
            if name in self.models:
                self.models[name].forgotten += lists
                self.models[name].forgot_at = position

    def pack(self) -> bytes:
        """All of it, for a checkpoint."""
        return self.packing()()

    def packing(self) -> Callable[[], bytes]:
        """What packs all of it as it is now. The items take long: that is left to the thread which calls it."""
        models = {
            name: {
                "settings": msgspec.to_builtins(model.settings),
                "created": model.created,
                "epochs": [[epoch.position, epoch.source] for epoch in model.epochs],
                "counts": deepcopy(model.counts.plain()),
                "forgotten": model.forgotten,
                "forgot_at": model.forgot_at,
                "priors": [asdict(note) for note in model.priors],
            }
            for name, model in self.models.items()
        }
        lay_out = self.catalog.laying_out() if self.catalog.there else None
        kinds = {name: kind.version for name, kind in KINDS.items()}
        header = {
            "version": _VERSION,
            "kinds": kinds,
            "catalog": self.catalog.version,
            "growth": list(self.catalog.growth),
            "models": models,
        }

        def packed() -> bytes:
            catalog = None if lay_out is None else np.frombuffer(encode_catalog(lay_out()), dtype=np.uint8)
            return pack(header, {} if catalog is None else {"catalog": catalog})

        return packed

    @classmethod
    def unpack(cls, data: bytes, position: Position) -> Knowledge | None:
        """What :meth:`pack` gave; None if it cannot be read, for the journal can always be folded from its start."""
        try:
            header, arrays = unpack(data)
            if header.get("version") != _VERSION:
                raise JournalError(f"it has version {header.get('version', 1)}; this one reads version {_VERSION}")
            _check_kinds(header.get("kinds", {}))
            catalog = decode_catalog(arrays["catalog"].tobytes()) if arrays else None
            models = {name: _model_of(name, plain) for name, plain in header["models"].items()}
        except (RankfallError, ValueError, KeyError, TypeError, msgspec.ValidationError) as problem:
            _log.warning("a checkpoint cannot be read; the whole journal is folded", extra={"reason": str(problem)})
            return None
        growth = header.get("growth")  # until there could be new topics, there was none
        told = None if growth is None else [(int(since), int(count)) for since, count in growth]
        return cls(position, CatalogState(catalog, header["catalog"], told), models)


def _check_kinds(kinds: Mapping[str, int]) -> None:
    """Raise if whoever made a checkpoint could read more than we can: it may have folded an entry that stops us."""
    for name, version in kinds.items():
        if name not in KINDS or version > KINDS[name].version:
            raise JournalError(f"a newer version made it, which reads {name} entries of version {version}")


def _model_of(name: str, plain: Mapping[str, Any]) -> ModelHistory:
    return ModelHistory(
        name,
        settings_of(msgspec.convert(plain["settings"], StoredSettings)),
        plain["created"],
        [Epoch(at, source) for at, source in plain["epochs"]],
        ClickCounts(**plain["counts"]),
        plain.get("forgotten", 0),
        plain.get("forgot_at", START),
        [PriorNote(**note) for note in plain.get("priors", ())],
    )


def settings_of(record: StoredSettings, before: ModelSettings | None = None) -> ModelSettings:
    """The settings after a record; raises JournalError if this version does not have such settings."""
    plain = {} if before is None else msgspec.to_builtins(before)
    try:
        settings = convert(ModelSettings, {**plain, **msgspec.to_builtins(record)})
    except InvalidError as problem:
        raise JournalError(f"settings that this version does not have: {problem}") from None
    if settings.policy not in SERVED and ":" in settings.policy:
        raise MissingPolicyError(f"give --own-policy {settings.policy}")
    if settings.policy not in SERVED:
        raise JournalError(f"a policy that this version does not have: {settings.policy!r}")
    return settings


def declared(settings: ModelSettings) -> tuple[Context | None, RequestFeatures | None]:
    """The context of a model and the features that candidates have in one request, where there are any."""
    context, features = msgspec.to_builtins((settings.context, settings.request_features))
    return None if context is None else Context(context), None if features is None else RequestFeatures(features)


def rewards_of(settings: ModelSettings) -> Rewards | None:
    """What a click and outcomes are worth; None where only clicks count."""
    return None if settings.rewards is None else Rewards(settings.rewards)


def forgotten(entry: Entry, record: Record, rewards: Rewards | None) -> FeedbackForgotten:
    """What is left of an entry on an event when its user is forgotten: what it counts."""
    added = RewardAdded() if rewards is None else reward_added(entry, record, rewards)
    return FeedbackForgotten(
        entry.arm or "fallback",
        clicked=bool(clicks_of(record)),
        expired=isinstance(record, FeedbackExpired),
        covered=0 if isinstance(record, OutcomeGiven) else entry.covered,
        outcome=isinstance(record, OutcomeGiven),
        reward=added.reward,
        squares=added.squares,
    )
