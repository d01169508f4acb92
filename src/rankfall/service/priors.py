"""The priors that states of a model start from, as they stand in the journal."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from rankfall.errors import JournalError
from rankfall.journal.entries import PriorLearned, decode
from rankfall.journal.fold import ModelHistory
from rankfall.journal.priors import decode_prior
from rankfall.policies import LinearPolicy
from rankfall.policies.linear.prior import Prior
from rankfall.service.template import Template
from rankfall.stores import Position, Store

_ROOM = 4  # the present one, and those that snapshots ask for


class Start(NamedTuple):
    """What states start from, and the entry that says so."""

    position: Position
    prior: Prior


class Priors:
    """The priors of one model that were used last, with columns for all topics there are. For any thread."""

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._kept: OrderedDict[Position, Prior] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, position: Position, record: PriorLearned) -> Prior:
        """Have the prior of an entry at hand; the prior."""
        prior = decode_prior(record.prior)
        with self._lock:
            self._kept[position] = prior
            if len(self._kept) > _ROOM:
                self._kept.popitem(last=False)
        return prior

    def read(self, store: Store, template: Template, at: Position) -> Start | None:
        """What states at a position start from, from the journal if it is not at hand; None if there is no prior."""
        note = self._history.prior_at(at)
        if note is None:
            return None
        with self._lock:
            known = note.position in self._kept
        if not known:
            entry = store.entry(note.position)
            record = None if entry is None else decode(entry.kind, entry.version, entry.body)
            if not isinstance(record, PriorLearned):
                raise JournalError(f"entry {note.position} of the journal should be a prior, and is not")
            self.keep(note.position, record)
        return self.at_hand(note.position, template)

    def at_hand(self, position: Position, template: Template) -> Start | None:
        """The prior of the entry at a position, if it was used lately."""
        assert isinstance(template.policy, LinearPolicy)
        with self._lock:
            prior = self._kept.get(position)
            if prior is None:
                return None
            wide = template.policy.widened_prior(prior, {count for _, count in template.items.growth})
            self._kept[position] = wide
            self._kept.move_to_end(position)
        return Start(position, wide)
