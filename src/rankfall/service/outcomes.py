"""Outcomes: what came of an item beside its click. Each is stored once, whenever it comes, or refused with a reason."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

from rankfall.errors import short
from rankfall.journal.entries import OutcomeGiven, encode
from rankfall.policies.rewards import CLICK
from rankfall.service.clock import Moment
from rankfall.service.commands import FeedbackResult
from rankfall.service.lists import UNKNOWN, item_text, position_of, positions_of
from rankfall.service.model import Model
from rankfall.stores import Event, OnOutcome, Transaction
from rankfall.wire import Click, Outcome

K = TypeVar("K", bound=Hashable)


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
    own = set()
    for place, one in reported.items():
        result, position = _judge(tx, one, now, models)
        results[place] = result
        if position is None:
            continue
        key = key_of(one.event.id, position, one.outcome)
        if (one.token, one.event.id, key) in own:  # twice in one call: the first counts
            results[place] = _duplicate(one)
            continue
        own.add((one.token, one.event.id, key))
        record = encode(OutcomeGiven(position, one.outcome.type, one.outcome.value))
        event = one.event
        entries[place] = OnOutcome(record, event.id, key, event.model, event.owner, now.time, one.token)
    places = sorted(entries, key=lambda place: entries[place].event_id)  # as feedback is
    for place, stored in zip(places, tx.append_outcomes([entries[place] for place in places]), strict=True):
        if not stored:
            results[place] = _refused(tx, reported[place], entries[place]) or results[place]
        elif not reported[place].event.active:  # what came of it shows that the list was shown
            event = reported[place].event
            tx.activate(event.id, event.expires, event.gaps)
    return results


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
    tx: Transaction, one: Reported, now: Moment, models: Mapping[str, Model]
) -> tuple[FeedbackResult, int | None]:
    """Whether an outcome could be accepted if it were the first, and the 0-based position of its item."""
    outcome, event = one.outcome, one.event
    kind = outcome.type
    positions = positions_of(event)
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
