"""What becomes of feedback: stored once for each list, or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankfall.journal.entries import FeedbackGiven, encode
from rankfall.service.ranking import token
from rankfall.service.writer import Job
from rankfall.stores import Event, OnEvent, Transaction
from rankfall.wire import Click, FeedbackRequest, Result


@dataclass
class Feed:
    """Store feedback. ``may`` says of which models the caller may know."""

    feedback: Sequence[FeedbackRequest]
    may: Callable[[str], bool]
    token: str = field(default_factory=lambda: token(8))


@dataclass(frozen=True, slots=True)
class Fed:
    """What became of one feedback."""

    result: Result
    reason: str = ""
    model: str = ""
    arm: str = ""
    clicked: bool = False


_UNKNOWN = Fed("unknown", "no list with this event_id")


def feed(tx: Transaction, jobs: Sequence[Job[Any]], now: float) -> None:
    """Append feedback in the order of event ids: so two servers never wait for each other in a ring."""
    given = [(job, i, one) for job in jobs for i, one in enumerate(job.what.feedback)]
    for job in jobs:
        job.result = [None] * len(job.what.feedback)
    rows, places = [], []
    own = set()
    for (job, i, one), event in zip(given, tx.events([one.event_id for _, _, one in given]), strict=True):
        fed, clicks = _judge(one, event, job.what.may, now)
        job.result[i] = fed
        if event is not None and fed.result == "accepted":
            if (job.what.token, event.id) in own:  # twice in one call: the first counts
                job.result[i] = _duplicate(event.model)
                continue
            own.add((job.what.token, event.id))
            entry = encode(FeedbackGiven(tuple(clicks)))
            rows.append(OnEvent(entry, event.id, event.model, event.owner, now, job.what.token))
            places.append((job, i))
    order = sorted(range(len(rows)), key=lambda n: rows[n].event_id)
    for n, stored in zip(order, tx.append_on_events([rows[n] for n in order]), strict=True):
        if stored:
            continue
        job, i = places[n]
        earlier = tx.feedback_on(rows[n].event_id)
        if earlier is None:  # the user was forgotten a moment ago
            job.result[i] = _UNKNOWN
        elif earlier.token != job.what.token:  # if it is ours: of an attempt that seemed to fail
            job.result[i] = (_late if earlier.kind == "expired" else _duplicate)(rows[n].model)


def _judge(one: FeedbackRequest, event: Event | None, may: Callable[[str], bool], now: float) -> tuple[Fed, list[int]]:
    if event is None or not may(event.model):
        return _UNKNOWN, []
    items = [item["id"] for item in json.loads(event.response)["items"]]
    clicks = []
    clicked = one.clicked if isinstance(one.clicked, list) else [] if one.clicked is None else [one.clicked]
    for click in clicked:
        place = _place(click, items)
        if place is None:
            return Fed("rejected", f"{_text(click)} is not in the list, which has {len(items)} items", event.model), []
        clicks.append(place)
    if now > event.expires:
        return _late(event.model), []
    return Fed("accepted", "", event.model, event.arm, bool(clicks)), sorted(set(clicks))


def _duplicate(model: str) -> Fed:
    return Fed("duplicate", "this list has feedback already; the first counts", model)


def _late(model: str) -> Fed:
    return Fed("late", "the wait for feedback on this list is over", model)


def _place(click: int | str | Click, items: list[Any]) -> int | None:
    """0-based place of what was clicked; None if it is not in the list."""
    position = click if isinstance(click, int) else click.position if isinstance(click, Click) else None
    if position is not None:
        return position - 1 if position <= len(items) else None
    wanted = click.id if isinstance(click, Click) else click
    return items.index(wanted) if wanted in items else None


def _text(click: int | str | Click) -> str:
    if isinstance(click, int):
        return f"position {click}"
    if isinstance(click, Click):
        return f"position {click.position}" if click.position is not None else f"item {click.id!r}"
    return f"item {click!r}"
