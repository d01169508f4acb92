"""Feedback: stored once for each list, or refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from rankfall.catalog import Id
from rankfall.errors import short
from rankfall.journal.entries import FeedbackGiven, encode
from rankfall.service.clock import Moment
from rankfall.service.commands import FeedbackResult, GiveFeedback
from rankfall.stores import Event, OnEvent, StoredFeedback, Transaction
from rankfall.wire import Click, FeedbackRequest

_UNKNOWN = FeedbackResult("unknown", "no list with this event_id")


class _Item(msgspec.Struct):
    """An item of a list, as far as clicks name it."""

    id: Id


class _Shown(msgspec.Struct):
    """What a caller got, as far as clicks name it."""

    items: list[_Item]


_SHOWN = msgspec.json.Decoder(_Shown)


class _Place(NamedTuple):
    """Where a feedback stands: in which command, and where in it."""

    command: int
    number: int


def store_feedback(tx: Transaction, commands: Sequence[GiveFeedback], now: Moment) -> list[tuple[FeedbackResult, ...]]:
    """Append feedback to the journal; what became of each."""
    given = [(_Place(n, i), one) for n, command in enumerate(commands) for i, one in enumerate(command.feedback)]
    events = tx.events([one.event_id for _, one in given])
    results: dict[_Place, FeedbackResult] = {}
    entries: dict[_Place, OnEvent] = {}
    own = set()
    for (place, one), event in zip(given, events, strict=True):
        command = commands[place.command]
        results[place], clicks = _judge(one, event, command.models)
        if event is None or results[place].result != "accepted":
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
    results |= _append(tx, entries)
    return [tuple(results[_Place(n, i)] for i in range(len(c.feedback))) for n, c in enumerate(commands)]


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
        result = _UNKNOWN if earlier is None else _refused(earlier, entry.token, entry.model)
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


def _judge(
    one: FeedbackRequest, event: Event | None, models: frozenset[str] | None
) -> tuple[FeedbackResult, list[int]]:
    """Whether feedback could be accepted if it were in time and the first, and the 0-based positions clicked."""
    if event is None or not (models is None or event.model in models):
        return _UNKNOWN, []
    positions = {item.id: i for i, item in enumerate(_SHOWN.decode(event.response).items)}
    clicks = []
    clicked = one.clicked if isinstance(one.clicked, list) else [] if one.clicked is None else [one.clicked]
    for click in clicked:
        position = _position(click, positions)
        if position is None:
            reason = f"{_text(click)} is not in the list, which has {len(positions)} items"
            return FeedbackResult("rejected", reason, event.model), []
        clicks.append(position)
    return FeedbackResult("accepted", "", event.model, event.arm, bool(clicks)), sorted(set(clicks))


def _duplicate(model: str) -> FeedbackResult:
    return FeedbackResult("duplicate", "this list has feedback already; the first counts", model)


def _late(model: str) -> FeedbackResult:
    return FeedbackResult("late", "the wait for feedback on this list is over", model)


def _position(click: int | str | Click, positions: Mapping[Id, int]) -> int | None:
    """0-based position of what was clicked; None if it is not in the list."""
    position = click if isinstance(click, int) else click.position if isinstance(click, Click) else None
    if position is not None:
        return position - 1 if position <= len(positions) else None
    wanted = click.id if isinstance(click, Click) else click
    return None if wanted is None else positions.get(wanted)


def _text(click: int | str | Click) -> str:
    if isinstance(click, int):
        return f"position {click}"
    if isinstance(click, Click):
        return f"position {click.position}" if click.position is not None else f"item {short(click.id)}"
    return f"item {short(click)}"
