"""Routes that callers use all day: rank, feedback, activate."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args

import msgspec
from fastapi import APIRouter, Request, Response

from rankfall.errors import NotFoundError, RankfallError, StoreError
from rankfall.service.feedback import Fed
from rankfall.service.http.bodies import check_name, takes
from rankfall.service.http.context import Service, allowed, service_of
from rankfall.service.http.edge import error_body
from rankfall.service.http.keys import Grant
from rankfall.service.http.problems import problem_of
from rankfall.service.ranking import ResolvedRequest, Shown, iso, response_of
from rankfall.stores import Event
from rankfall.wire import (
    BatchedRankRequest,
    FeedbackBatchRequest,
    FeedbackProblem,
    FeedbackRequest,
    FeedbackResponse,
    RankBatchRequest,
    RankRequest,
    Result,
    decode,
)

routes = APIRouter(prefix="/v1")
RANK, FEEDBACK = "/v1/models/{model}/rank", "/v1/feedback"


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_ACCEPTED = _encode(FeedbackResponse(accepted=1))


def _json(text: str | bytes) -> Response:
    return Response(text, media_type="application/json")


def _check(service: Service, request: RankRequest) -> None:
    limits = service.limits
    if request.k is not None and request.k > limits.k:
        raise RankfallError(f"k is {request.k}; at most {limits.k} items are ranked")
    for name in ("candidates", "exclude", "baseline"):
        given = getattr(request, name)
        if given is not None and len(given) > limits.candidates:
            raise RankfallError(f"{name} has {len(given)} ids; at most {limits.candidates} are taken")


async def _rank(service: Service, name: str, request: RankRequest) -> str:
    engine, metrics = service.running, service.metrics
    _check(service, request)
    model = service.model(name)
    try:
        event: Event = await engine.rank(model, request)
    except StoreError:
        if not request.baseline:
            raise
        metrics.fallbacks.labels(name, "store").inc()
        metrics.lists.labels(name, "fallback").inc()
        resolved = ResolvedRequest(model, request)
        return _encode(response_of(model, resolved, Shown(resolved.baseline(), "fallback")))
    metrics.lists.labels(name, event.arm).inc()
    metrics.covered.labels(name).observe(event.covered)
    return event.response


async def rank_from(service: Service, grant: Grant, model: str, body: bytes) -> str:
    """The answer to a rank request, from its parts."""
    allowed(grant, "rank", model)
    return await _rank(service, model, decode(RankRequest, body))


@routes.post(
    RANK.removeprefix("/v1"),
    summary="Rank items for a caller",
    tags=["rank"],
    openapi_extra=takes(RankRequest, path=["model"]),
)
async def rank(request: Request) -> Response:
    """A list, best first. It is stored with its features before it is answered, so that feedback can come any time."""
    service, body = service_of(request), await request.body()
    return _json(await rank_from(service, service.grant(request), request.path_params["model"], body))


@routes.post(
    "/rank",
    summary="Rank for several callers at once",
    tags=["rank"],
    openapi_extra=takes(RankBatchRequest),
)
async def rank_many(request: Request) -> Response:
    """Answers in the order of the requests; one that fails has an error in its place."""
    service = service_of(request)
    grant = service.grant(request)
    many = decode(RankBatchRequest, await request.body())
    _check_batch(service, len(many.requests))

    async def one(request: BatchedRankRequest) -> str:
        try:
            allowed(grant, "rank", request.model)
            return await _rank(service, request.model, request)
        except RankfallError as problem:
            seen = problem_of(problem)
            return json.dumps(error_body(seen.code, seen.message))

    answers = await asyncio.gather(*(one(request) for request in many.requests))
    return _json(f'{{"results":[{",".join(answers)}]}}')


def _check_batch(service: Service, size: int) -> None:
    if size > service.limits.batch:
        raise RankfallError(f"a batch of {size}; at most {service.limits.batch} are taken at once")


class _Peek(msgspec.Struct):
    feedback: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _several(body: bytes) -> list[FeedbackRequest]:
    """The feedback in a body, which is one or a batch."""
    if b'"feedback"' in body and decode(_Peek, body).feedback is not msgspec.UNSET:  # the word may also be an id
        return decode(FeedbackBatchRequest, body).feedback
    return [decode(FeedbackRequest, body)]


async def feedback_from(service: Service, grant: Grant, body: bytes) -> str:
    """The answer to a feedback request, from its parts."""
    several = _several(body)
    _check_batch(service, len(several))
    results = await service.running.feed(several, lambda model: grant.may("feedback", model))
    _count(service, results)
    if len(results) == 1 and results[0].result == "accepted":
        return _ACCEPTED
    counts = dict.fromkeys(get_args(Result), 0)
    problems = []
    for i, (one, fed) in enumerate(zip(several, results, strict=True)):
        counts[fed.result] += 1
        if fed.result != "accepted":
            problems.append(FeedbackProblem(i, one.event_id, fed.result, fed.reason))
    return _encode(FeedbackResponse(**counts, problems=problems))


@routes.post(
    FEEDBACK.removeprefix("/v1"),
    summary="Say what was clicked",
    tags=["feedback"],
    openapi_extra=takes(FeedbackRequest, FeedbackBatchRequest),
)
async def feedback(request: Request) -> Response:
    """Counts of what became of the feedback. What is accepted is stored for good, and learned once."""
    service, body = service_of(request), await request.body()
    return _json(await feedback_from(service, service.grant(request), body))


def _count(service: Service, results: list[Fed]) -> None:
    for fed in results:
        service.metrics.feedback.labels(fed.model, fed.result).inc()
        if fed.result == "accepted":
            service.metrics.answered.labels(fed.model, fed.arm).inc()
            if fed.clicked:
                service.metrics.clicked.labels(fed.model, fed.arm).inc()


@routes.post("/events/{event_id}/activate", summary="A deferred list is shown now", tags=["feedback"])
async def activate(event_id: str, request: Request) -> Response:
    """From now on silence means something: when the wait for feedback runs out, it is learned as no click."""
    service = service_of(request)
    grant = service.grant(request)
    check_name("path.event_id", event_id)
    expires = await service.running.do(service.running.activate(event_id, lambda m: grant.may("feedback", m)))
    return _json(json.dumps({"event_id": event_id, "active": True, "expires_at": iso(expires)}))


@routes.get("/events/{event_id}", summary="A list as it was shown", tags=["feedback"])
async def event(event_id: str, request: Request) -> Response:
    """The list, and what came of it."""
    service = service_of(request)
    grant = service.grant(request)
    check_name("path.event_id", event_id)
    store = service.running.store
    found = await asyncio.to_thread(store.event, event_id)
    if found is None or not grant.may("admin", found.model):
        raise NotFoundError("no list with this event_id")
    answer = await asyncio.to_thread(store.feedback_on, event_id)
    feedback = None
    if answer is not None:
        clicked = [place + 1 for place in json.loads(answer.body).get("clicked", [])]
        feedback = {"kind": answer.kind, "clicked": clicked, "at": iso(answer.at)}
    view = {
        "event_id": found.id,
        "model": found.model,
        "user": found.user,
        "segment": found.segment,
        "created_at": iso(found.created),
        "expires_at": iso(found.expires),
        "active": found.active,
        "arm": found.arm,
        "learn": found.learn,
        "propensity": found.propensity,
        "answer": json.loads(found.response),
        "feedback": feedback,
    }
    return _json(json.dumps(view))
