"""One model in memory: what it ranks with, and the states of the owners seen last."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from rankfall.catalog import Catalog
from rankfall.journal.catalogs import CatalogState
from rankfall.journal.entries import PriorLearned, Record
from rankfall.journal.fold import ModelHistory
from rankfall.policies import Policy
from rankfall.policies.linear.empirical_bayes import Statistics, learn_prior
from rankfall.policies.list_rules import ListRules, check_rule
from rankfall.policies.trial_use import a_few_items, try_out
from rankfall.service.owners import OwnerState, OwnerView, StateCopy, read_owners
from rankfall.service.priors import Priors, Start
from rankfall.service.template import Template, make_template, policy_of
from rankfall.stores import END, Entry, Position, Store
from rankfall.wire import ModelSettings, Rule

SAVE_AFTER = 8
"""A state that leaves memory with fewer new entries than this is not saved: reading them again costs less."""


class Model:
    """A model and the states it holds in memory, at most ``room`` of them, the least recently used leaving first.

    A change of the catalog or of the settings costs the writer nothing here: :meth:`refresh` lays the items out again
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
        self._priors = Priors(history)
        self._rules: ListRules | None = None  # those of the last list

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
        """What policies are made from, over some catalog: not always the newest one, see :meth:`refresh`.

        It always has all topics: a policy with fewer has not the columns of lists that others make.
        """
        template = self._template
        fits = template is not None and template.catalog.topics == self._catalog.shape.topics
        return template if template is not None and fits else self.refresh()

    def refresh(self) -> Template:
        """Rank with the newest catalog and settings from now on; whoever else asks meanwhile waits for it."""
        with self._refreshing:
            if not self.up_to_date:
                self._template = make_template(self._template, self._catalog, self.history.settings)
            assert self._template is not None
            return self._template

    def owner(self, user: str | None, segment: str | None) -> str | None:
        """Whose state serves this caller; None if the caller did not say what is needed to know."""
        return {"global": "", "segment": segment, "user": user}[self.settings.scope]

    def view(self, owner: str) -> OwnerView | None:
        """What to rank with for this owner, if its state is in memory, and the prior that it starts from."""
        template = self.template
        with self._lock:
            state = self._owners.get(owner)
            if state is None:
                return None
            self._owners.move_to_end(owner)
            if state.template.catalog.topics != template.catalog.topics:  # they came since we looked
                template = state.template
            with state.lock:
                return state.view(template) if self._started(state, template) else None

    def _started(self, state: OwnerState, template: Template) -> bool:
        """Have a state start from the newest prior; False if that is not at hand."""
        note = self.history.prior_at(END) if self.settings.across_users else None
        if note is None or note.position == state.started:
            return True
        start = self._priors.at_hand(note.position, template)
        state.start_from(start)
        return start is not None

    def rules(self, catalog: Catalog, asked: Sequence[Rule], now: float) -> ListRules | None:
        """The rules of a list over the items of a catalog: the model's and those asked for; None if there are none.

        Raises :class:`RankError` for one that is asked for and is about an attribute that no item has. Of the model's
        own, which were checked when they were set, such a rule fits no item.
        """
        wanted = (*self.settings.rules, *asked)
        if not wanted:
            return None
        for rule in asked:
            check_rule(rule, catalog)
        last = self._rules
        if last is None or last.catalog is not catalog or last.rules != wanted:
            last = self._rules = ListRules(wanted, catalog, now, checked=False)
        return last.at(now)

    def position_of(self, owner: str) -> Position | None:
        """Up to which entry the state of an owner has learned, if it is in memory."""
        state = self._owners.get(owner)
        return None if state is None else state.position

    def warm_up(self) -> None:
        """Rank once, on a copy that nobody sees: the first time takes a second, or compiles."""
        if len(self.catalog):
            rules = self.rules(self.catalog, (), time.time())
            self.template.policy.fresh().rank(min(self.settings.k, len(self.catalog)), rules=rules)

    def warm_up_learning(self) -> None:
        """Learn once, on a copy that nobody sees: feedback comes after a list, so that a first list need not wait."""
        if len(self.catalog):
            policy = self.template.policy.fresh()
            policy.update(policy.rank(min(self.settings.k, len(self.catalog))), 0)

    def warm_up_later(self) -> None:
        """Use what lists can be made without at first, and what requests seldom ask for, on a few items."""
        try_out(policy_of(self.settings, a_few_items()))
        if self.settings.across_users:
            learn_prior(Statistics(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1), np.ones(1)), rounds=1)

    # What the fold changes

    def learn(self, entry: Entry, record: Record) -> None:
        """Take in an entry on a list."""
        state = self._owners.get(entry.owner)
        if state is None:
            return
        with state.lock:
            started = entry.position <= state.position or self._started(state, state.template)
            if started and entry.position > state.position:
                state.learn(entry, record, self.history)
        if not started:  # it is read again
            self.drop(entry.owner.__eq__)

    def start_from(self, position: Position, record: PriorLearned) -> None:
        """Have all states start from a prior: each when it is next looked at."""
        self._priors.keep(position, record)

    def drop_all(self) -> None:
        """Let go of all states, as after a reset or for new topics: they are read again from where they now begin."""
        with self._lock:
            self._owners.clear()

    def drop(self, matches: Callable[[str], bool]) -> None:
        """Let go of the states of the owners that match."""
        with self._lock:
            for owner in [owner for owner in self._owners if matches(owner)]:
                del self._owners[owner]

    # From the store to memory, and back

    def load(self, store: Store, owners: Sequence[str], upto: Position) -> tuple[dict[str, OwnerView], list[StateCopy]]:
        """Bring the states of these owners into memory; views of them, and what to save of those that had to leave."""
        missing = [owner for owner in dict.fromkeys(owners) if owner not in self._owners]
        template = self.template
        states = read_owners(store, self.history, self._priors, template, missing, upto)
        start = self.prior_at(store, upto)
        views = {}
        with self._lock:
            self._owners.update(zip(missing, states, strict=True))
            for owner in owners:
                state = self._owners[owner]
                with state.lock:
                    state.start_from(start)
                    views[owner] = state.view(template)
            leaving = [self._owners.popitem(last=False) for _ in range(len(self._owners) - self._room)]
        return views, [StateCopy.of(self.name, owner, state) for owner, state in leaving if state.unsaved >= SAVE_AFTER]

    def unsaved(self) -> list[str]:
        """The owners whose states have learned since they were saved, those used last first."""
        with self._lock:
            return [owner for owner, state in reversed(self._owners.items()) if state.unsaved]

    def copy_of(self, owner: str) -> StateCopy | None:
        """A copy of the state of an owner, to be saved; None if it is not in memory, or has nothing new."""
        state = self._owners.get(owner)
        return None if state is None or not state.unsaved else StateCopy.of(self.name, owner, state)

    def policy_at(self, store: Store, owner: str, position: Position) -> Policy:
        """The policy of an owner as it was after the entry at a position."""
        return self.states_at(store, [owner], position)[0].policy

    def prior_at(self, store: Store, position: Position) -> Start | None:
        """What states start from that are as they were after the entry at a position; None if there is no prior."""
        return self._priors.read(store, self.template, position) if self.settings.across_users else None

    def states_at(self, store: Store, owners: Sequence[str], position: Position) -> list[OwnerState]:
        """The states of owners as they were after the entry at a position, apart from those in memory."""
        return read_owners(store, self.history, self._priors, self.template, owners, position)
