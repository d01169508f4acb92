"""Feedback: clicks are stored once for each list, outcomes once each, or refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from rankfall.journal.entries import FeedbackGiven, encode
from rankfall.service.clock import Moment
from rankfall.service.commands import FeedbackResult, GiveFeedback
from rankfall.service.lists import UNKNOWN, item_text, position_of, positions_of
from rankfall.service.model import Model
from rankfall.service.outcomes import Reported, store_outcomes
from rankfall.stores import Event, OnEvent, StoredFeedback, Transaction
from rankfall.wire import Click, FeedbackRequest


class _Place(NamedTuple):
    """Where a report stands: in which command, where in it, and which outcome it is; None for the clicks."""

    command: int
    number: int
    outcome: int | None = None


def store_feedback(
    tx: Transaction, commands: Sequence[GiveFeedback], now: Moment, models: Mapping[str, Model]
) -> list[tuple[FeedbackResult, ...]]:
    """Append feedback to the journal; what became of each report, in the order of :attr:`FeedbackRequest.reports`."""
    given = [(_Place(n, i), one) for n, command in enumerate(commands) for i, one in enumerate(command.feedback)]
    events = [
        event if event is None or _may_know(commands[place.command], event) else None
        for (place, _), event in zip(given, tx.events([one.event_id for _, one in given]), strict=True)
    ]
    results: dict[_Place, FeedbackResult] = {}
    clicks: dict[_Place, tuple[FeedbackRequest, Event]] = {}
    outcomes: dict[_Place, Reported] = {}
    for (place, one), event in zip(given, events, strict=True):
        for report in one.reports:
            at = place._replace(outcome=report)
            if event is None:
                results[at] = UNKNOWN
            elif report is None:
                clicks[at] = one, event
            else:
                assert one.outcomes is not UNSET
                outcomes[at] = Reported(one.outcomes[report], event, commands[place.command].token)
    results |= _store_clicks(tx, commands, clicks, now)
    results |= store_outcomes(tx, outcomes, now, models)
    return [
        tuple(results[_Place(n, i, report)] for i, one in enumerate(command.feedback) for report in one.reports)
        for n, command in enumerate(commands)
    ]


def _may_know(command: GiveFeedback, event: Event) -> bool:
    return command.models is None or event.model in command.models


def _store_clicks(
    tx: Transaction,
    commands: Sequence[GiveFeedback],
    given: Mapping[_Place, tuple[FeedbackRequest, Event]],
    now: Moment,
) -> dict[_Place, FeedbackResult]:
    """Append clicks, or that there was none; what became of each."""
    results: dict[_Place, FeedbackResult] = {}
    entries: dict[_Place, OnEvent] = {}
    own = set()
    for place, (one, event) in given.items():
        command = commands[place.command]
        results[place], clicks = _judge(one, event)
        if results[place].result != "accepted":
            continue
        if now.counted > event.counted_expires:
            earlier = tx.feedback_on(event.id)
            refused = _late(event.model) if earlier is None else _refused(earlier, command.token, event.model)
            results[place] = refused or results[place]
            continue
        if (command.token, event.id) in own:  # twice in one call: the first counts
            results[place] = _duplicate(event.model)
            continue
        own.add((command.token, event.id))
        record = encode(FeedbackGiven(tuple(clicks)))
        entries[place] = OnEvent(record, event.id, event.model, event.owner, now.time, command.token)
    return results | _append(tx, entries)


def _append(tx: Transaction, entries: dict[_Place, OnEvent]) -> dict[_Place, FeedbackResult]:
    """Append in the order of event ids, so that two servers never wait for each other; what could not be appended."""
    refused: dict[_Place, FeedbackResult] = {}
    places = sorted(entries, key=lambda place: entries[place].event_id)
    for place, stored in zip(places, tx.append_on_events([entries[place] for place in places]), strict=True):
        if stored:
            continue
        entry = entries[place]
        earlier = tx.feedback_on(entry.event_id)
        # None: the user was forgotten a moment ago.
        result = UNKNOWN if earlier is None else _refused(earlier, entry.token, entry.model)
        if result is not None:
            refused[place] = result
    return refused


def _refused(earlier: StoredFeedback, token: str, model: str) -> FeedbackResult | None:
    """Why feedback on a list that has an entry is refused, if it is.

    The entry may be its own, of an attempt that seemed to fail. What was stored in time is there, however late it is
    repeated: it is a duplicate then, and not late.
    """
    if earlier.token == token:
        return None
    return (_late if earlier.kind == "expired" else _duplicate)(model)


def _judge(one: FeedbackRequest, event: Event) -> tuple[FeedbackResult, list[int]]:
    """Whether clicks could be accepted if they were in time and the first, and the 0-based positions clicked."""
    positions = positions_of(event)
    clicks = []
    for click in _clicked(one):
        position = position_of(click, positions)
        if position is None:
            reason = f"{item_text(click)} is not in the list, which has {len(positions)} items"
            return FeedbackResult("rejected", reason, event.model), []
        clicks.append(position)
    return FeedbackResult("accepted", "", event.model, event.arm, bool(clicks)), sorted(set(clicks))


def _clicked(one: FeedbackRequest) -> list[int | str | Click]:
    """What was clicked, as the caller named it; empty for nothing."""
    if isinstance(one.clicked, list):
        return one.clicked
    return [] if one.clicked is None or one.clicked is UNSET else [one.clicked]


def _duplicate(model: str) -> FeedbackResult:
    return FeedbackResult("duplicate", "this list has feedback already; the first counts", model)


def _late(model: str) -> FeedbackResult:
    return FeedbackResult("late", "the wait for feedback on this list is over", model)
