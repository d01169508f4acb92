"""What was clicked, and what became of a list."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rankfall.errors import NotFoundError
from rankfall.journal.entries import OutcomeGiven
from rankfall.journal.entries import decode as decode_entry
from rankfall.journal.outcomes import clicks_of
from rankfall.service.commands import Activate, GiveFeedback
from rankfall.service.events import moment
from rankfall.service.http.app_state import state_of
from rankfall.service.http.auth import grant_of, somewhere
from rankfall.service.http.bodies import JSON, body_of, json_response
from rankfall.service.http.operations import Operations
from rankfall.service.http.parameters import path_name
from rankfall.service.lists import items_of
from rankfall.stores import Event, StoredFeedback
from rankfall.wire import (
    ActivateResponse,
    EventFeedback,
    EventOutcome,
    EventResponse,
    FeedbackBatchRequest,
    FeedbackProblem,
    FeedbackRequest,
    FeedbackResponse,
    RankResponse,
    decode,
)

operations = Operations("feedback")
_ONE_ACCEPTED = msgspec.json.encode(FeedbackResponse(accepted=1))


@operations.add(
    "POST",
    "/v1/feedback",
    "Say what was clicked, and what came of it",
    needs=somewhere("feedback"),
    takes=(FeedbackRequest, FeedbackBatchRequest),
    gives=FeedbackResponse,
)
async def feedback(request: Request) -> Response:
    """Give counts of what became of clicks and outcomes. What is accepted is stored for good, and learned once.

    Clicks come once for a list. Outcomes come when they come: with the clicks, before them, or days later.
    """
    state, grant = state_of(request), grant_of(request)
    given = _feedback_in(body_of(request))
    state.limits.check_batch(sum(len(one.reports) for one in given))
    results = await state.engine.writer.submit(GiveFeedback(tuple(given), grant.models_for("feedback")))
    for fed in results:
        state.metrics.count_feedback(fed)
    if len(results) == 1 and results[0].result == "accepted":  # almost always
        return Response(_ONE_ACCEPTED, media_type=JSON)
    counts: dict[str, int] = Counter(fed.result for fed in results)
    reports = [(i, one.event_id, report) for i, one in enumerate(given) for report in one.reports]
    problems = tuple(
        FeedbackProblem(i, event_id, fed.result, fed.reason, report)
        for (i, event_id, report), fed in zip(reports, results, strict=True)
        if fed.result != "accepted"
    )
    return json_response(FeedbackResponse(**counts, problems=problems))


class _Peek(msgspec.Struct):
    feedback: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _feedback_in(body: bytes) -> Sequence[FeedbackRequest]:
    """The feedback in a body, which has one or a batch."""
    if b'"feedback"' in body and decode(_Peek, body).feedback is not msgspec.UNSET:  # the word may also be an id
        return decode(FeedbackBatchRequest, body).feedback
    return [decode(FeedbackRequest, body)]


@operations.add(
    "POST",
    "/v1/events/{event_id}/activate",
    "A deferred list is shown now",
    needs=somewhere("feedback"),
    gives=ActivateResponse,
)
async def activate(request: Request) -> Response:
    """From now on silence means something: when the wait for feedback runs out, it is learned as no click."""
    engine, grant = state_of(request).engine, grant_of(request)
    event_id = path_name(request, "event_id")
    expires = await engine.writer.submit(Activate(event_id, grant.models_for("feedback")))
    return json_response(ActivateResponse(event_id, True, moment(expires)))


@operations.add("GET", "/v1/events/{event_id}", "A list as it was shown", gives=EventResponse)
async def event(request: Request) -> Response:
    """Give the list, and what came of it."""
    engine, grant = state_of(request).engine, grant_of(request)
    store, event_id = engine.reader, path_name(request, "event_id")
    found = await asyncio.to_thread(store.event, event_id)
    if found is None or not grant.may("admin", found.model):
        raise NotFoundError("no list with this event_id")
    entry = await asyncio.to_thread(store.feedback_on, event_id)
    given = None
    if entry is not None:
        clicked = [position + 1 for position in clicks_of(decode_entry(entry.kind, entry.version, entry.body))]
        given = EventFeedback(entry.kind, clicked, moment(entry.at))
    return json_response(
        EventResponse(
            event_id=found.id,
            model=found.model,
            user=found.user,
            segment=found.segment,
            created_at=moment(found.created),
            expires_at=moment(engine.clock.moment().end_of_wait(found)),
            active=found.active,
            arm=found.arm,
            learn=found.learn,
            propensity=found.propensity,
            response=decode(RankResponse, found.response.encode()),
            feedback=given,
            outcomes=tuple(_outcomes(found, await asyncio.to_thread(store.outcomes_on, event_id))),
        )
    )


def _outcomes(event: Event, stored: Sequence[StoredFeedback]) -> Iterator[EventOutcome]:
    items = items_of(event)
    for one in stored:
        record = decode_entry(one.kind, one.version, one.body)
        assert isinstance(record, OutcomeGiven)
        yield EventOutcome(items[record.position], record.type, record.value, moment(one.at))
