"""The state of one owner: what it has learned, how it is ranked with, and how it is read from the store."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rankfall.array_container import pack, unpack
from rankfall.journal.entries import decode
from rankfall.journal.fold import ModelHistory, clicks_of
from rankfall.policies import Policy, Ranking
from rankfall.service.template import Template
from rankfall.stores import Checkpoint, Entry, Position, Store

_log = logging.getLogger("rankfall.service")

PAGE = 1000
"""Entries of one owner read at a time."""


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
        return OwnerView(self.policy, self.position, template.version, self.cache)


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


def checkpoint_of(model: str, owner: str, state: OwnerState) -> Checkpoint:
    """A state, to be saved."""
    saved = pack({"version": 1}, state.policy.state())
    state.unsaved = 0
    return Checkpoint(model, owner, state.position, saved)


def read_owners(
    store: Store, history: ModelHistory, template: Template, owners: Sequence[str], upto: Position
) -> list[OwnerState]:
    """The states of these owners as they were after the entry at ``upto``: from checkpoints and the journal."""
    if not owners:
        return []
    epoch = history.epoch_at(upto)
    kept = store.checkpoints(history.name, owners, epoch.position, upto)
    states = {
        owner: OwnerState(policy, checkpoint.position, template)
        for owner, checkpoint in zip(owners, kept, strict=True)
        if checkpoint is not None and (policy := _restored(template, checkpoint)) is not None
    }
    without = [owner for owner in owners if owner not in states]
    policies = [template.policy.fresh() for _ in without]
    if epoch.source is not None:
        policies = [state.policy for state in read_owners(store, history, template, without, epoch.source)]
    for owner, policy in zip(without, policies, strict=True):
        states[owner] = OwnerState(policy, epoch.position, template)
    _catch_up(store, history.name, states, upto)
    return [states[owner] for owner in owners]


def _catch_up(store: Store, model: str, states: Mapping[str, OwnerState], upto: Position) -> None:
    """Have states learn what the journal has after them, up to and with ``upto``."""
    behind = list(states)
    while behind:
        pages = store.feedback(model, behind, [states[owner].position for owner in behind], upto, PAGE)
        for owner, page in zip(behind, pages, strict=True):
            for entry in page:
                states[owner].learn(entry, clicks_of(decode(entry.kind, entry.version, entry.body)))
        behind = [owner for owner, page in zip(behind, pages, strict=True) if len(page) == PAGE]


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
