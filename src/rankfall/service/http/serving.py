"""Routes that callers use all day: rank, feedback, activate."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError

from rankfall.errors import NotFoundError, RankfallError, StoreError
from rankfall.service.feedback import Fed
from rankfall.service.http.bodies import read, takes
from rankfall.service.http.context import Service, allowed, service_of
from rankfall.service.http.edge import error_body
from rankfall.service.http.keys import Grant
from rankfall.service.http.problems import problem_of
from rankfall.service.ranking import Request as Wanted
from rankfall.service.ranking import Shown, answer_of, iso
from rankfall.service.schemas import (
    Activated,
    Answer,
    Ask,
    AskMany,
    EventView,
    Feedback,
    FeedbackMany,
    Name,
    Problem,
    Receipt,
    Result,
)
from rankfall.stores import Event

routes = APIRouter(prefix="/v1")
RANK, FEEDBACK = "/v1/models/{model}/rank", "/v1/feedback"

_ACCEPTED = json.dumps({**dict.fromkeys(get_args(Result), 0), "accepted": 1, "problems": []})


def _json(text: str | bytes) -> Response:
    return Response(text, media_type="application/json")


def _check(service: Service, ask: Ask) -> None:
    limits = service.limits
    if ask.k is not None and ask.k > limits.k:
        raise RankfallError(f"k is {ask.k}; at most {limits.k} items are ranked")
    for name in ("candidates", "exclude", "baseline"):
        given = getattr(ask, name)
        if given is not None and len(given) > limits.candidates:
            raise RankfallError(f"{name} has {len(given)} ids; at most {limits.candidates} are taken")


async def _rank(service: Service, name: str, ask: Ask) -> str:
    engine, metrics = service.running, service.metrics
    _check(service, ask)
    model = service.model(name)
    try:
        event: Event = await engine.rank(model, ask)
    except StoreError:
        if not ask.baseline:
            raise
        metrics.fallbacks.labels(name, "store").inc()
        metrics.lists.labels(name, "fallback").inc()
        request = Wanted(model, ask)
        return json.dumps(answer_of(model, request, Shown(request.baseline(), "fallback")))
    metrics.lists.labels(name, event.arm).inc()
    metrics.covered.labels(name).observe(event.covered)
    return event.response


async def rank_from(service: Service, grant: Grant, model: str, body: bytes) -> str:
    """The answer to a rank request, from its parts."""
    allowed(grant, "rank", model)
    return await _rank(service, model, read(Ask, body))


@routes.post(
    RANK.removeprefix("/v1"),
    response_model=Answer,
    summary="Rank items for a caller",
    tags=["rank"],
    openapi_extra=takes(Ask, path=["model"]),
)
async def rank(request: Request) -> Response:
    """A list, best first. It is stored with its features before it is answered, so that feedback can come any time."""
    service, body = service_of(request), await request.body()
    return _json(await rank_from(service, service.grant(request), request.path_params["model"], body))


@routes.post(
    "/rank",
    summary="Rank for several callers at once",
    tags=["rank"],
    responses={200: {"content": {"application/json": {}}}},
)
async def rank_many(many: AskMany, request: Request) -> Response:
    """Answers in the order of the requests; one that fails has an error in its place."""
    service = service_of(request)
    grant = service.grant(request)
    _check_batch(service, len(many.requests))

    async def one(ask: Any) -> str:
        try:
            allowed(grant, "rank", ask.model)
            return await _rank(service, ask.model, Ask(**ask.model_dump(exclude={"model"})))
        except RankfallError as problem:
            seen = problem_of(problem)
            return json.dumps(error_body(seen.code, seen.message))

    answers = await asyncio.gather(*(one(ask) for ask in many.requests))
    return _json(f'{{"results":[{",".join(answers)}]}}')


def _check_batch(service: Service, size: int) -> None:
    if size > service.limits.batch:
        raise RankfallError(f"a batch of {size}; at most {service.limits.batch} are taken at once")


def _several(body: bytes) -> list[Feedback]:
    if b'"feedback"' not in body:
        return [read(Feedback, body)]
    try:
        return read(FeedbackMany, body).feedback
    except RequestValidationError as problem:  # the word may also be an id
        if all(error["type"] != "missing" or error["loc"] != ("body", "feedback") for error in problem.errors()):
            raise
    return [read(Feedback, body)]


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
            problems.append(Problem(index=i, event_id=one.event_id, result=fed.result, reason=fed.reason).model_dump())
    return json.dumps({**counts, "problems": problems})


@routes.post(
    FEEDBACK.removeprefix("/v1"),
    response_model=Receipt,
    summary="Say what was clicked",
    tags=["feedback"],
    openapi_extra=takes(Feedback, FeedbackMany),
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


@routes.post(
    "/events/{event_id}/activate", response_model=Activated, summary="A deferred list is shown now", tags=["feedback"]
)
async def activate(event_id: Name, request: Request) -> Response:
    """From now on silence means something: when the wait for feedback runs out, it is learned as no click."""
    service = service_of(request)
    grant = service.grant(request)
    expires = await service.running.do(service.running.activate(event_id, lambda m: grant.may("feedback", m)))
    return _json(json.dumps({"event_id": event_id, "active": True, "expires_at": iso(expires)}))


@routes.get("/events/{event_id}", response_model=EventView, summary="A list as it was shown", tags=["feedback"])
async def event(event_id: Name, request: Request) -> Response:
    """The list, and what came of it."""
    service = service_of(request)
    grant = service.grant(request)
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
