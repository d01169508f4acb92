"""One model in memory: its settings, its history of decisions, and the states of the keys seen last."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from rankfall.array_container import pack, unpack
from rankfall.catalog import Catalog
from rankfall.errors import ConflictError, InvalidError
from rankfall.policies import SERVED, Policy, Ranking
from rankfall.policies.forgetting import Discount, Window
from rankfall.service.click_counts import Tally
from rankfall.stores import Checkpoint, Entry, Position, Store
from rankfall.wire import ModelSettings, convert


@dataclass
class Held:
    """The state of one key: what it has learned, up to which entry."""

    policy: Policy
    position: Position
    revision: int
    catalog: int  # version of the catalog that the policy ranks
    unsaved: int = 0
    last: tuple[int, int, int, Ranking] | None = None  # updates, revision, k, and what they gave

    def rank(self, k: int, rng: np.random.Generator) -> Ranking:
        """The best of all items. The same until something is learned, so it is kept; unless the policy draws."""
        if self.policy.randomised:
            return self.policy.rank(k, rng=rng)
        asked = (self.policy.n_updates, self.revision, k)
        if self.last is None or self.last[:3] != asked:
            self.last = (*asked, self.policy.rank(k))
        return self.last[3]

    def learn(self, entry: Entry) -> None:
        """Take in one answer."""
        if entry.learn and entry.features is not None:
            self.policy.learn_record(entry.features, clicks_of(entry))
        self.position = entry.position
        self.unsaved += 1


@dataclass(frozen=True)
class Turn:
    """A point from which states start afresh: from nothing, or from what they were at ``source``."""

    position: Position
    source: Position | None = None


def policy_of(settings: ModelSettings, catalog: Catalog) -> Policy:
    """A policy with these settings that has learned nothing; raises what is wrong with them, or with the catalog."""
    check_served(settings.policy)
    return SERVED[settings.policy].serve(
        catalog,
        gamma=settings.gamma,
        forgetting=_forgetting(settings),
        feedback=settings.feedback,
        shared=settings.scope != "user",
    )


def check_served(policy: str) -> None:
    """Raise if no policy of this name can be served."""
    if policy not in SERVED:
        raise InvalidError(
            f"no policy {policy!r} that can be served; choose from {', '.join(SERVED)}", where="body.policy"
        )


def _forgetting(settings: ModelSettings) -> Discount | Window | None:
    given = settings.forgetting
    if given is None:
        return None
    if given.discount is not None:
        return Discount(given.discount)
    assert given.window is not None
    return Window(given.window)


def with_changes(settings: ModelSettings, changes: Mapping[str, Any]) -> ModelSettings:
    """The settings with these fields changed."""
    return convert(ModelSettings, {**msgspec.to_builtins(settings), **changes})


def changed(settings: ModelSettings, changes: Mapping[str, Any], catalog: Catalog) -> ModelSettings:
    """Other settings for the same states; raises what does not fit."""
    new = with_changes(settings, changes)
    check_served(new.policy)
    means = {name: one.learns(settings.feedback) for name, one in SERVED.items()}
    known = means.pop(settings.policy)
    if new.policy != settings.policy and means[new.policy] != known:
        alike = ", ".join(name for name, other in means.items() if other == known)
        raise ConflictError(
            f"{settings.policy} has learned {known}, which {new.policy} cannot take over (it learns "
            f"{means[new.policy]}); this model can change to: {alike or 'no other'}. Make a second model for "
            f"{new.policy}"
        )
    policy_of(new, catalog)
    return new


def clicks_of(entry: Entry) -> list[int]:
    """The 0-based positions clicked; empty for no click."""
    clicked: list[int] = json.loads(entry.body)["clicked"] if entry.kind == "feedback" else []
    return clicked


class Model:
    """A model and the states it holds in memory, at most ``room`` of them, the least recently used leaving first."""

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        catalog: Catalog,
        version: int,
        turns: Sequence[Turn],
        created: float,
        room: int,
    ) -> None:
        self.name = name
        self.settings = settings
        self.created = created
        self.turns = list(turns)
        self.tally = Tally()
        self.rng = np.random.default_rng()  # for policies that draw; features are kept as shown, so nothing replays it
        self._room = room
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._lock = threading.Lock()
        self._revision = 0
        self._build(catalog, version)

    def _build(self, catalog: Catalog, version: int) -> None:
        blocked = set(self.settings.blocked)
        shown = catalog.withdraw([item for item in catalog.ids if item in blocked]) if blocked else catalog
        self._full, self._version = catalog, version
        self._template = policy_of(self.settings, shown)
        self._revision += 1

    @property
    def catalog(self) -> Catalog:
        """The items it may show."""
        return self._template.catalog

    def use(self, catalog: Catalog, version: int) -> None:
        """Show these items from now on."""
        with self._lock:
            self._build(catalog, version)

    def change(self, settings: ModelSettings) -> None:
        """Take new settings; what was learned stays."""
        with self._lock:
            before, self.settings = self.settings, settings
            if any(getattr(before, name) != getattr(settings, name) for name in ("blocked", "policy")):
                self._build(self._full, self._version)
            elif settings.gamma != before.gamma:
                self._template = self._template.with_settings(gamma=settings.gamma)
                self._revision += 1

    def key(self, user: str | None, segment: str | None) -> str | None:
        """Which state serves this caller; None if the caller did not say what is needed to know."""
        return {"global": "", "segment": segment, "user": user}[self.settings.scope]

    def held(self, key: str) -> Held | None:
        """The state of a key, if it is in memory, over the present catalog and with the present gamma."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            self._held.move_to_end(key)
            if held.revision != self._revision:
                held.policy = self._template.sharing(held.policy)
                held.revision, held.catalog = self._revision, self._version
            return held

    def learn(self, entry: Entry) -> None:
        """Take in an answer from the journal."""
        self.tally.add(entry, clicked=bool(clicks_of(entry)))
        held = self._held.get(entry.owner)
        if held is not None and entry.position > held.position:
            held.learn(entry)

    def turn(self, turn: Turn) -> None:
        """Start afresh from here."""
        with self._lock:
            self.turns.append(turn)
            self._held.clear()

    def drop(self, matches: Callable[[str], bool]) -> None:
        """Let go of the keys that match."""
        with self._lock:
            for key in [key for key in self._held if matches(key)]:
                del self._held[key]

    def load(self, store: Store, keys: Sequence[str], upto: Position) -> tuple[dict[str, Held], list[Checkpoint]]:
        """Bring the states of these keys into memory; they, and what to save of those that had to leave."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._held]
        states = self.states(store, missing, upto)
        with self._lock:
            self._held.update(zip(missing, states, strict=True))
            wanted = {key: self._held[key] for key in keys}
            leaving = [self._held.popitem(last=False) for _ in range(len(self._held) - self._room)]
        return wanted, [self._checkpoint(key, held) for key, held in leaving if held.unsaved >= SAVE_AFTER]

    def unsaved(self, least: int) -> list[Checkpoint]:
        """States that learned from at least so many answers since they were saved."""
        with self._lock:
            held = [(key, held) for key, held in self._held.items() if held.unsaved >= least]
        return [self._checkpoint(key, one) for key, one in held]

    def _checkpoint(self, key: str, held: Held) -> Checkpoint:
        state = pack({}, held.policy.state())
        held.unsaved = 0
        return Checkpoint(self.name, key, held.position, state)

    def warm_up(self) -> None:
        """Rank and learn once, on a copy that nobody sees: the first time takes a second, or compiles for a minute."""
        if len(self.catalog):
            policy = self._template.fresh()
            k = min(self.settings.k, len(self.catalog))
            policy.rank(k, exclude=[])
            policy.rank(k, fixed={0: 0})
            policy.update(policy.rank(k), 0)

    def __len__(self) -> int:
        return len(self._held)

    def states(self, store: Store, keys: Sequence[str], upto: Position) -> list[Held]:
        """The states of these keys as they were after the entry at ``upto``: from the journal, by short cuts."""
        if not keys:
            return []
        turn = [turn for turn in self.turns if turn.position <= upto][-1]
        kept = store.checkpoints(self.name, keys, turn.position, upto)
        without = [key for key, checkpoint in zip(keys, kept, strict=True) if checkpoint is None]
        before: dict[str, Policy] = {}
        if turn.source is not None:
            earlier = self.states(store, without, turn.source)
            before = {key: held.policy for key, held in zip(without, earlier, strict=True)}
        states = []
        for key, checkpoint in zip(keys, kept, strict=True):
            if checkpoint is not None:
                policy, position = self._template.with_state(unpack(checkpoint.state)[1]), checkpoint.position
            else:
                policy, position = before.get(key) or self._template.fresh(), turn.position
            states.append(Held(policy, position, self._revision, self._version))
        behind = list(zip(keys, states, strict=True))
        while behind:
            after = [held.position for _, held in behind]
            pages = store.feedback(self.name, [key for key, _ in behind], after, upto, PAGE)
            for (_, held), page in zip(behind, pages, strict=True):
                for entry in page:
                    held.learn(entry)
            behind = [one for one, page in zip(behind, pages, strict=True) if len(page) == PAGE]
        return states

    def plain(self) -> dict[str, Any]:
        """All but the states, as JSON."""
        return {
            "settings": msgspec.to_builtins(self.settings),
            "created": self.created,
            "turns": [[turn.position, turn.source] for turn in self.turns],
            "tally": self.tally.plain(),
        }

    @classmethod
    def from_plain(cls, name: str, plain: dict[str, Any], catalog: Catalog, version: int, room: int) -> Model:
        """The model that gave :meth:`plain`."""
        turns = [Turn(Position(*at), None if source is None else Position(*source)) for at, source in plain["turns"]]
        model = cls(name, convert(ModelSettings, plain["settings"]), catalog, version, turns, plain["created"], room)
        model.tally = Tally(**plain["tally"])
        return model


PAGE = 1000
"""Answers of one key read at a time."""
SAVE_AFTER = 8
"""A state that leaves memory with fewer new answers than this is not saved: reading them again costs less."""
