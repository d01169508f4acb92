"""One model in memory: the policy that ranks, and the states of the owners seen last."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from rankfall.array_container import pack, unpack
from rankfall.catalog import Catalog
from rankfall.errors import ConflictError, InvalidError
from rankfall.journal.catalogs import CatalogState
from rankfall.journal.entries import FeedbackExpired, FeedbackGiven, decode
from rankfall.journal.fold import ModelHistory, clicks_of
from rankfall.policies import SERVED, Policy, Ranking
from rankfall.policies.forgetting import Discount, Window
from rankfall.stores import Checkpoint, Entry, Position, Store
from rankfall.wire import ModelSettings, convert

_log = logging.getLogger("rankfall.service")

PAGE = 1000
"""Entries of one owner read at a time."""
SAVE_AFTER = 8
"""A state that leaves memory with fewer new entries than this is not saved: reading them again costs less."""


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


def changed(settings: ModelSettings, changes: Mapping[str, Any], catalog: Catalog) -> ModelSettings:
    """Other settings for the same states; raises what does not fit."""
    new = convert(ModelSettings, {**msgspec.to_builtins(settings), **changes})
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


@dataclass(frozen=True, eq=False)
class Template:
    """A policy that has learned nothing, over the items a model may show; every owner's policy is made from it."""

    policy: Policy
    catalog: Catalog
    version: int
    settings: ModelSettings


class RankingCache:
    """The last list of a policy that does not draw: the same until something is learned."""

    def __init__(self) -> None:
        self._last: tuple[int, int, Ranking] | None = None

    def rank(self, policy: Policy, k: int) -> Ranking:
        """The best of all items."""
        updates, last = policy.n_updates, self._last
        if last is None or last[0] != updates or last[1] != k:
            last = self._last = (updates, k, policy.rank(k))
        return last[2]


@dataclass(eq=False)
class OwnerState:
    """The state of one owner: what it has learned, up to which entry, and the policy that ranks with it."""

    policy: Policy
    position: Position
    template: Template
    unsaved: int = 0
    cache: RankingCache = field(default_factory=RankingCache)

    def learn(self, entry: Entry, clicks: list[int]) -> None:
        """Take in one entry on an event."""
        if entry.learn and entry.features is not None:
            self.policy.learn_record(entry.features, clicks)
        self.position = entry.position
        self.unsaved += 1

    def view(self, template: Template) -> OwnerView:
        """What to rank with, over the items of a template."""
        if self.template is not template:
            self.policy = template.policy.sharing(self.policy)
            self.template, self.cache = template, RankingCache()
        return OwnerView(self.policy, self.position.seq, template.version, self.cache)


@dataclass(frozen=True, eq=False)
class OwnerView:
    """An owner's policy as a request found it: one catalog throughout, whatever the writer does meanwhile."""

    policy: Policy
    version: int
    catalog_version: int
    cache: RankingCache

    def rank(self, k: int, rng: np.random.Generator) -> Ranking:
        """The best of all items."""
        return self.policy.rank(k, rng=rng) if self.policy.randomised else self.cache.rank(self.policy, k)


class Model:
    """A model and the states it holds in memory, at most ``room`` of them, the least recently used leaving first.

    A change of the catalog or of the settings costs the writer nothing here: :meth:`refresh` lays the items out anew
    when the next list is asked for, in a thread of whoever asks, once for all the changes until then.
    """

    def __init__(self, history: ModelHistory, catalog: CatalogState, room: int) -> None:
        self.history = history
        self.rng = np.random.default_rng()  # for all that is drawn; lists are kept as shown, so nothing replays it
        self._catalog = catalog
        self._room = room
        self._owners: OrderedDict[str, OwnerState] = OrderedDict()
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._template: Template | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.history.name

    @property
    def settings(self) -> ModelSettings:
        """Its settings, as the journal has them so far."""
        return self.history.settings

    @property
    def catalog(self) -> Catalog:
        """The items it may show."""
        return self.template.policy.catalog

    def __len__(self) -> int:
        return len(self._owners)

    # Ranking

    @property
    def up_to_date(self) -> bool:
        """Whether the newest catalog and settings are what it ranks with."""
        template = self._template
        return (
            template is not None
            and template.version == self._catalog.version
            and template.settings is self.history.settings
        )

    @property
    def template(self) -> Template:
        """What policies are made from, over some catalog: not always the newest one, see :meth:`refresh`."""
        return self._template or self.refresh()

    def refresh(self) -> Template:
        """Rank with the newest catalog and settings from now on; whoever else asks meanwhile waits for it."""
        with self._refreshing:
            if not self.up_to_date:
                settings = self.history.settings
                self._template = self._made(self._template, settings)
            assert self._template is not None
            return self._template

    def _made(self, old: Template | None, settings: ModelSettings) -> Template:
        catalog, version = self._catalog.current_version()
        if old is not None and old.catalog is catalog and _ranks_alike(old.settings, settings):
            same = old.settings.gamma == settings.gamma
            policy = old.policy if same else old.policy.with_settings(gamma=settings.gamma)
            return Template(policy, catalog, version, settings)
        blocked = [item for item in settings.blocked if item in catalog]
        shown = catalog.withdraw(blocked) if blocked else catalog
        policy = policy_of(settings, shown)
        if len(shown):  # lays out what all owners share here, and not when the first of them is served
            with suppress(Exception):  # whoever is served meets the error again, and gets the baseline
                policy.rank(min(settings.k, len(shown)), rng=np.random.default_rng(0))
        return Template(policy, catalog, version, settings)

    def owner(self, user: str | None, segment: str | None) -> str | None:
        """Whose state serves this caller; None if the caller did not say what is needed to know."""
        return {"global": "", "segment": segment, "user": user}[self.settings.scope]

    def view(self, owner: str) -> OwnerView | None:
        """What to rank with for this owner, if its state is in memory."""
        template = self.template
        with self._lock:
            state = self._owners.get(owner)
            if state is None:
                return None
            self._owners.move_to_end(owner)
            return state.view(template)

    def position_of(self, owner: str) -> Position | None:
        """Up to which entry the state of an owner has learned, if it is in memory."""
        state = self._owners.get(owner)
        return None if state is None else state.position

    def warm_up(self) -> None:
        """Rank and learn once, on a copy that nobody sees: the first time takes a second, or compiles for a minute."""
        if len(self.catalog):
            policy = self.template.policy.fresh()
            k = min(self.settings.k, len(self.catalog))
            policy.rank(k, exclude=[])
            policy.rank(k, fixed={0: 0})
            policy.update(policy.rank(k), 0)

    # What the fold changes

    def learn(self, entry: Entry, record: FeedbackGiven | FeedbackExpired) -> None:
        """Take in an entry on an event."""
        state = self._owners.get(entry.owner)
        if state is not None and entry.position > state.position:
            state.learn(entry, clicks_of(record))

    def drop_all(self) -> None:
        """Let go of all states, as after a reset: they are read again from where they now begin."""
        with self._lock:
            self._owners.clear()

    def drop(self, matches: Callable[[str], bool]) -> None:
        """Let go of the states of the owners that match."""
        with self._lock:
            for owner in [owner for owner in self._owners if matches(owner)]:
                del self._owners[owner]

    # From the store to memory, and back

    def load(
        self, store: Store, owners: Sequence[str], upto: Position
    ) -> tuple[dict[str, OwnerView], list[Checkpoint]]:
        """Bring the states of these owners into memory; views of them, and what to save of those that had to leave."""
        missing = [owner for owner in dict.fromkeys(owners) if owner not in self._owners]
        states = self.states(store, missing, upto)
        template = self.template
        with self._lock:
            self._owners.update(zip(missing, states, strict=True))
            views = {owner: self._owners[owner].view(template) for owner in owners}
            leaving = [self._owners.popitem(last=False) for _ in range(len(self._owners) - self._room)]
        return views, [self._checkpoint(owner, state) for owner, state in leaving if state.unsaved >= SAVE_AFTER]

    def unsaved(self) -> list[Checkpoint]:
        """Checkpoints of the states that have learned since they were saved."""
        with self._lock:
            states = [(owner, state) for owner, state in self._owners.items() if state.unsaved]
        return [self._checkpoint(owner, state) for owner, state in states]

    def _checkpoint(self, owner: str, state: OwnerState) -> Checkpoint:
        saved = pack({"version": 1}, state.policy.state())
        state.unsaved = 0
        return Checkpoint(self.name, owner, state.position, saved)

    def states(self, store: Store, owners: Sequence[str], upto: Position) -> list[OwnerState]:
        """The states of these owners as they were after the entry at ``upto``: from checkpoints and the journal."""
        if not owners:
            return []
        template, epoch = self.template, self.history.epoch_at(upto)
        kept = store.checkpoints(self.name, owners, epoch.position, upto)
        restored = {
            owner: policy
            for owner, checkpoint in zip(owners, kept, strict=True)
            if checkpoint is not None and (policy := _restored(template, checkpoint)) is not None
        }
        before: dict[str, Policy] = {}
        if epoch.source is not None:
            without = [owner for owner in owners if owner not in restored]
            earlier = self.states(store, without, epoch.source)
            before = {owner: state.policy for owner, state in zip(without, earlier, strict=True)}
        states = []
        for owner, checkpoint in zip(owners, kept, strict=True):
            if owner in restored:
                assert checkpoint is not None
                states.append(OwnerState(restored[owner], checkpoint.position, template))
            else:
                states.append(OwnerState(before.get(owner) or template.policy.fresh(), epoch.position, template))
        self._catch_up(store, owners, states, upto)
        return states

    def _catch_up(self, store: Store, owners: Sequence[str], states: Sequence[OwnerState], upto: Position) -> None:
        """Have states learn what the journal has after them, up to and with ``upto``."""
        behind = list(zip(owners, states, strict=True))
        while behind:
            after = [state.position for _, state in behind]
            pages = store.feedback(self.name, [owner for owner, _ in behind], after, upto, PAGE)
            for (_, state), page in zip(behind, pages, strict=True):
                for entry in page:
                    record = decode(entry.kind, entry.version, entry.body)
                    assert isinstance(record, FeedbackGiven | FeedbackExpired)
                    state.learn(entry, clicks_of(record))
            behind = [one for one, page in zip(behind, pages, strict=True) if len(page) == PAGE]


def _restored(template: Template, checkpoint: Checkpoint) -> Policy | None:
    """The policy with a state that was saved; None if it cannot be read: then the journal is read instead."""
    try:
        header, arrays = unpack(checkpoint.state)
        if header.get("version", 1) != 1:
            raise ValueError(f"it has version {header['version']}; this one reads version 1")
        return template.policy.with_state(arrays)
    except (ValueError, KeyError, TypeError) as problem:
        extra = {"model": checkpoint.model, "reason": str(problem)}
        _log.warning("a checkpoint cannot be read; the journal is read instead", extra=extra)
        return None


def _ranks_alike(one: ModelSettings, other: ModelSettings) -> bool:
    """Whether these settings make the same policy over the same items, but for gamma."""
    return (one.policy, one.blocked) == (other.policy, other.blocked)
