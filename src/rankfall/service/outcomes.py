"""Outcomes: what came of an item beside its click. Each is stored once, whenever it comes, or refused with a reason."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from rankfall.errors import short
from rankfall.item_names import Id
from rankfall.journal.entries import OutcomeGiven, encode
from rankfall.policies.rewards import CLICK
from rankfall.service.clock import Moment
from rankfall.service.commands import FeedbackResult
from rankfall.service.lists import UNKNOWN, item_text, position_of, positions_of
from rankfall.service.model import Model
from rankfall.stores import Event, OnOutcome, Transaction
from rankfall.wire import Click, Outcome

K = TypeVar("K", bound=Hashable)

MOST = 500
"""Outcomes that one list takes: whoever folds one reads those before it."""


class Reported(NamedTuple):
    """An outcome that a caller reports on a list that is known; ``token`` tells its call from others."""

    outcome: Outcome
    event: Event
    token: str


def store_outcomes(
    tx: Transaction, reported: Mapping[K, Reported], now: Moment, models: Mapping[str, Model]
) -> dict[K, FeedbackResult]:
    """Append outcomes to the journal; what became of each."""
    results: dict[K, FeedbackResult] = {}
    entries: dict[K, OnOutcome] = {}
    lists: dict[str, _List] = {}
    own = set()
    for place, one in reported.items():
        event = one.event
        if event.id not in lists:
            lists[event.id] = _List(positions_of(event), tx.count_outcomes(event.id))
        shown = lists[event.id]
        results[place], position = _judge(tx, one, shown.positions, now, models)
        if position is None:
            continue
        key = key_of(event.id, position, one.outcome)
        if (one.token, event.id, key) in own:  # twice in one call: the first counts
            results[place] = _duplicate(one)
        elif shown.outcomes >= MOST and tx.token_of_outcome(event.id, key) is None:
            reason = f"the list has {shown.outcomes} outcomes; at most {MOST} are taken"
            results[place] = FeedbackResult("rejected", reason, event.model, outcome=one.outcome.type)
        else:
            own.add((one.token, event.id, key))
            shown.outcomes += 1
            record = encode(OutcomeGiven(position, one.outcome.type, one.outcome.value))
            entries[place] = OnOutcome(record, event.id, key, event.model, event.owner, now.time, one.token)
    return results | _append(tx, reported, entries)


@dataclass
class _List:
    """A list that outcomes are reported on: where its items are, and how many outcomes it has."""

    positions: Mapping[Id, int]
    outcomes: int


def _append(tx: Transaction, reported: Mapping[K, Reported], entries: Mapping[K, OnOutcome]) -> dict[K, FeedbackResult]:
    """Append in the order of event ids, as feedback is; what could not be appended."""
    refused: dict[K, FeedbackResult] = {}
    places = sorted(entries, key=lambda place: entries[place].event_id)
    for place, stored in zip(places, tx.append_outcomes([entries[place] for place in places]), strict=True):
        event = reported[place].event
        if stored and not event.active:  # what came of it shows that the list was shown
            tx.activate(event.id, event.expires, event.gaps)
        if not stored and (result := _refused(tx, reported[place], entries[place])) is not None:
            refused[place] = result
    return refused


def key_of(event_id: str, position: int, outcome: Outcome) -> str:
    """What tells an outcome from others on the same list: of an ``outcome_id``, which is the caller's, a fingerprint.

    >>> key_of("e1", 2, Outcome(position=3, type="purchase"))
    '2 purchase'
    >>> key_of("e1", 2, Outcome(position=3, type="purchase", outcome_id="order 7"))
    '= ...'
    """
    if outcome.outcome_id is None:
        return f"{position} {outcome.type}"
    return f"= {hashlib.blake2b(outcome.outcome_id.encode(), key=event_id.encode()[:64], digest_size=16).hexdigest()}"


def _judge(
    tx: Transaction, one: Reported, positions: Mapping[Id, int], now: Moment, models: Mapping[str, Model]
) -> tuple[FeedbackResult, int | None]:
    """Whether an outcome could be accepted if it were the first, and the 0-based position of its item."""
    outcome, event = one.outcome, one.event
    kind = outcome.type
    wanted = Click(outcome.id, outcome.position)
    position = position_of(wanted, positions)
    reason = None
    if position is None:
        reason = f"{item_text(wanted)} is not in the list, which has {len(positions)} items"
    elif kind == CLICK:
        reason = "clicks are reported as clicked, not as outcomes"
    elif event.model in models:  # otherwise another server made it a moment ago, and has judged nothing either
        rewards = models[event.model].settings.rewards
        if rewards is None:
            reason = f"model {event.model!r} has no rewards, so only clicks count; they are set when a model is made"
        elif kind not in rewards:
            others = ", ".join(name for name in rewards if name != CLICK) or "no outcome"
            reason = f"model {event.model!r} has no reward for {short(kind)}; it has them for {others}"
    if reason is not None:
        return FeedbackResult("rejected", reason, event.model, outcome=kind), None
    if not event.active and now.counted > event.counted_expires and tx.feedback_on(event.id) is None:
        late = "the list was not known to be shown, and the wait for feedback on it is over"
        return FeedbackResult("late", late, event.model, outcome=kind), None
    return FeedbackResult("accepted", "", event.model, event.arm, outcome=kind), position


def _refused(tx: Transaction, one: Reported, entry: OnOutcome) -> FeedbackResult | None:
    """Why an outcome could not be appended; None if it was, by an attempt of this call that seemed to fail."""
    token = tx.token_of_outcome(entry.event_id, entry.key)
    if token is None:  # the user was forgotten a moment ago
        return UNKNOWN
    return None if token == entry.token else _duplicate(one)


def _duplicate(one: Reported) -> FeedbackResult:
    reason = "this outcome was reported already; the first counts. Give each an outcome_id if there are several"
    return FeedbackResult("duplicate", reason, one.event.model, outcome=one.outcome.type)
