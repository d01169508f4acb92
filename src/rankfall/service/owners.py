"""The state of one owner: what it has learned, how it is ranked with, and how it is read from the store."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.journal.entries import OutcomeGiven, Record, decode
from rankfall.journal.fold import ModelHistory
from rankfall.journal.outcomes import clicks_of, story_before, story_of
from rankfall.policies import LinearPolicy, Policy, Ranking
from rankfall.policies.list_rules import ListRules
from rankfall.service.packed_states import pack_state, unpack_state
from rankfall.service.priors import Priors, Start
from rankfall.service.template import Template
from rankfall.stores import START, Checkpoint, Entry, Position, Store

_log = logging.getLogger("rankfall.service")

PAGE = 1000
"""Entries of one owner read at a time."""
SLICE = 1 << 18
"""Bytes of states, before they are packed, that are saved in one transaction; one state may have more."""
_STARTED = "prior_position"
"""Of a state that was saved: which prior it starts from. What that says stands in the journal, once for all users."""


class RankingCache:
    """The last list of a policy that does not draw: the same until something is learned."""

    def __init__(self) -> None:
        self._last: tuple[int, int, ListRules | None, Ranking] | None = None

    def rank(self, policy: Policy, k: int, rng: np.random.Generator, rules: ListRules | None = None) -> Ranking:
        """The best of all items, under rules: over one catalog, and of one moment where they look at the time."""
        updates, last = policy.n_updates, self._last
        if last is None or last[0] != updates or last[1] != k or last[2] is not rules:
            last = self._last = (updates, k, rules, policy.rank(k, rng=rng, rules=rules))
        return last[3]


@dataclass(eq=False)
class OwnerState:
    """The state of one owner: what it has learned, up to which entry, and the policy that ranks with it.

    ``started`` is the entry of the prior that it starts from. The thread that folds learns into it, and any thread that
    looks at it may have it start from a newer prior: each holds the ``lock``.
    """

    policy: Policy
    position: Position
    template: Template
    unsaved: int = 0
    cache: RankingCache = field(default_factory=RankingCache)
    started: Position = START
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start_from(self, start: Start | None) -> None:
        """Start anew from a prior, unless it did; what it has seen stays, and nothing else is left of an earlier one.

        So it makes no difference when that is done, until the next list is learned from.
        """
        if start is None or start.position == self.started:
            return
        assert isinstance(self.policy, LinearPolicy)
        self.policy = self.policy.with_prior(start.prior)
        self.position, self.started = max(self.position, start.position), start.position
        self.cache = RankingCache()

    def learn(self, entry: Entry, record: Record, history: ModelHistory) -> None:
        """Take in one entry on a list."""
        if entry.learn and entry.features is not None:
            topics = self.template.items.topics_at(entry.catalog)
            if isinstance(record, OutcomeGiven):
                self._earn(entry, entry.features, record, topics, history)
            elif (rewards := history.rewards) is None:
                self.policy.learn_record(entry.features, clicks_of(record), topics)
            else:  # with the outcomes that came before the clicks
                story = story_before(entry).after(record, entry.position)
                self.policy.learn_record(entry.features, story.clicked, topics, story.earned(rewards))
        self.position = entry.position
        self.unsaved += 1

    def _earn(self, entry: Entry, kept: bytes, record: OutcomeGiven, topics: int, history: ModelHistory) -> None:
        """Add an outcome to what an item earned, if its list was learned from, and was not unlearned since."""
        story, rewards = story_before(entry), history.rewards
        if rewards is None or story.clicked is None or not history.counts_at(story.at, entry.position):
            return
        learned = story_of(  # with the clicks, or since and not unlearned
            (decode(one.kind, one.version, one.body), one.position)
            for one in entry.earlier
            if one.position <= story.at or history.counts_at(one.position, entry.position)
        )
        reward, earned = rewards.earned(record.type, record.value), learned.earned(rewards).get(record.position, 0.0)
        self.policy.add_outcome_to_record(kept, story.clicked, record.position, reward, topics, earned)
        self.cache = RankingCache()  # it goes by the number of lists learned from

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

    def rank(self, k: int, rng: np.random.Generator, rules: ListRules | None = None) -> Ranking:
        """The best of all items, under rules."""
        if self.policy.randomised:
            return self.policy.rank(k, rng=rng, rules=rules)
        return self.cache.rank(self.policy, k, rng, rules)


@dataclass(frozen=True, eq=False)
class StateCopy:
    """A state as it was, to be saved: what was learned since does not change it."""

    model: str
    owner: str
    position: Position
    arrays: Mapping[str, NDArray[Any]]
    unsaved: int
    state: OwnerState

    @classmethod
    def of(cls, model: str, owner: str, state: OwnerState) -> StateCopy:
        """A copy of a state; for the thread that learns."""
        with state.lock:
            arrays = state.policy.state()
            if state.template.settings.across_users:
                arrays = {name: array for name, array in arrays.items() if not name.startswith("prior_")}
                arrays[_STARTED] = np.array(state.started)
            return cls(model, owner, state.position, arrays, state.unsaved, state)

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(array.nbytes for array in self.arrays.values())

    def checkpoint(self) -> Checkpoint:
        """It as a checkpoint; for any thread."""
        return Checkpoint(self.model, self.owner, self.position, pack_state(self.arrays))

    def was_saved(self) -> None:
        """It is in the store now."""
        self.state.unsaved -= self.unsaved


def in_slices(copies: Iterable[StateCopy]) -> Iterator[list[StateCopy]]:
    """Copies, so many at a time as can be saved in one transaction; each is made when its slice is asked for."""
    part: list[StateCopy] = []
    size = 0
    for copy in copies:
        part.append(copy)
        size += copy.size
        if size >= SLICE:
            yield part
            part, size = [], 0
    if part:
        yield part


def read_owners(
    store: Store, history: ModelHistory, priors: Priors, template: Template, owners: Sequence[str], upto: Position
) -> list[OwnerState]:
    """The states of these owners as they were after the entry at ``upto``: from checkpoints and the journal."""
    if not owners:
        return []
    epoch = history.epoch_at(upto)
    start = priors.read(store, template, upto) if template.settings.across_users else None
    kept = store.checkpoints(history.name, owners, epoch.position, upto)
    states = {
        owner: state
        for owner, checkpoint in zip(owners, kept, strict=True)
        if checkpoint is not None and (state := _restored(template, start, checkpoint)) is not None
    }
    without = [owner for owner in owners if owner not in states]
    if epoch.source is not None:
        before = read_owners(store, history, priors, template, without, epoch.source)
    else:
        before = [OwnerState(template.policy.fresh(), START, template) for _ in without]
    for owner, state in zip(without, before, strict=True):
        states[owner] = OwnerState(state.policy, epoch.position, template, started=state.started)
    _catch_up(store, history, start, states, upto)
    return [states[owner] for owner in owners]


def _catch_up(
    store: Store, history: ModelHistory, start: Start | None, states: Mapping[str, OwnerState], upto: Position
) -> None:
    """Have states learn what the journal has after them, up to and with ``upto``, and start from the prior of then.

    Of priors before that one nothing is left in a state, so they are passed by.
    """
    behind = list(states)
    while behind:
        pages = store.feedback(history.name, behind, [states[owner].position for owner in behind], upto, PAGE)
        for owner, page in zip(behind, pages, strict=True):
            state = states[owner]
            for entry in page:
                if start is not None and entry.position > start.position:
                    state.start_from(start)
                state.learn(entry, decode(entry.kind, entry.version, entry.body), history)
        behind = [owner for owner, page in zip(behind, pages, strict=True) if len(page) == PAGE]
    for state in states.values():
        state.start_from(start)


def _restored(template: Template, start: Start | None, checkpoint: Checkpoint) -> OwnerState | None:
    """A state that was saved; None if it cannot be read: then the journal is read instead.

    If it does not start from the prior ``start``, it will before anyone looks at it, so the earlier one is not read.
    """
    try:
        arrays = unpack_state(checkpoint.state)
        started = int(arrays.pop(_STARTED, np.array(START)))
        policy = template.policy
        if start is not None and isinstance(policy, LinearPolicy):
            policy = policy.with_prior(start.prior)
        topics = {count for _, count in template.items.growth}
        policy = policy.with_state(policy.widened(arrays, topics))
        return OwnerState(policy, checkpoint.position, template, started=started)
    except (ValueError, KeyError, TypeError) as problem:
        extra = {"model": checkpoint.model, "reason": str(problem)}
        _log.warning("a checkpoint cannot be read; the journal is read instead", extra=extra)
        return None
