"""Lists of click logs, as the service stores them: each once, with its feedback and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from rankfall.errors import ConflictError, short
from rankfall.item_names import Id
from rankfall.journal.entries import FeedbackGiven, OutcomeGiven, encode
from rankfall.service.clock import Moment
from rankfall.service.commands import Decision
from rankfall.service.lists import items_of
from rankfall.service.state import ServerState
from rankfall.stores import Event, OnEvent, OnOutcome, Transaction


@dataclass(frozen=True, slots=True)
class StoreImported(Decision[tuple[tuple[bool, ...], int]]):
    """Store lists of a click log with their feedback: the 0-based positions clicked, and outcomes.

    Gives which lists are new, and how many outcomes are. The n-th outcome of a list in a log is always the same one.
    ``names`` are those that the lists have in the log.
    """

    names: tuple[str, ...]
    events: tuple[Event, ...]
    clicks: tuple[tuple[int, ...], ...]
    outcomes: tuple[tuple[OutcomeGiven, ...], ...]

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> tuple[tuple[bool, ...], int]:  # noqa: ARG002
        """Store what is not there yet; nothing, if a list is there with other items."""
        new = tx.add_events(self.events)
        self._check_known(tx, new)
        tx.append_on_events(
            [
                OnEvent(encode(FeedbackGiven(clicks)), event.id, event.model, event.owner, now.time, "import")
                for event, clicks, is_new in zip(self.events, self.clicks, new, strict=True)
                if is_new
            ]
        )
        told = [
            OnOutcome(encode(one), event.id, f"import {n}", event.model, event.owner, now.time, "import")
            for event, outcomes in zip(self.events, self.outcomes, strict=True)
            for n, one in enumerate(outcomes)
        ]
        return tuple(new), sum(tx.append_outcomes(told))

    def _check_known(self, tx: Transaction, new: list[bool]) -> None:
        """Raise for a list whose name is known, and whose items are others: what came of it would go to those."""
        known = [(name, event) for name, event, is_new in zip(self.names, self.events, new, strict=True) if not is_new]
        for (name, event), there in zip(known, tx.events([event.id for _, event in known]), strict=True):
            pairs = [] if there is None else zip_longest(items_of(there), items_of(event))
            for position, (before, here) in enumerate(pairs, 1):
                if before != here:
                    raise ConflictError(
                        f"list {name!r} has {_named(here)} at position {position}, and a list of this name that was "
                        f"imported before has {_named(before)} there; names must be unique in all logs imported into a "
                        "model, so rename the list"
                    )


def _named(item: Id | None) -> str:
    return "nothing" if item is None else f"item {short(item)}"
