"""Lists to show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict
from uuid import uuid4

import msgspec

from rankfall.client.call import Call, Reply, as_error
from rankfall.client.encoding import Id, body, check_names, given, path
from rankfall.errors import InvalidError, ServiceError
from rankfall.wire import ActivateResponse, ErrorResponse, EventResponse, RankBatchResponse, RankResponse, Rule


class RankArguments(TypedDict, total=False):
    """One of ``rank_many``: the arguments of ``rank``, all optional."""

    model: str
    user: str | None
    segment: str | None
    k: int | None
    candidates: Iterable[Id | Mapping[str, Any]] | None
    exclude: Iterable[Id] | None
    baseline: Iterable[Id] | None
    request_id: str | None
    defer_activation: bool
    explain: bool
    rules: Iterable[Rule | Mapping[str, Any]] | None
    context: Mapping[str, Any] | None


def rank(
    model: str = "default",
    *,
    user: str | None = None,
    segment: str | None = None,
    k: int | None = None,
    candidates: Iterable[Id | Mapping[str, Any]] | None = None,
    exclude: Iterable[Id] | None = None,
    baseline: Iterable[Id] | None = None,
    defer_activation: bool = False,
    explain: bool = False,
    request_id: str | None = None,
    rules: Iterable[Rule | Mapping[str, Any]] | None = None,
    context: Mapping[str, Any] | None = None,
) -> Call[RankResponse]:
    """Ask for a list to show.

    Parameters
    ----------
    model
        Which model ranks.
    user, segment
        Whose list it is; needed by models that learn for each user or segment.
    k
        How many items at most; the model's own number if not given.
    candidates
        Rank only these; the whole catalog if not given. Ids, or ``{"id": ..., "features": {...}}`` with the features
        that an item has in this request.
    exclude
        Never show these.
    baseline
        Your own list: what control groups see, and what you get if the service has trouble.
    defer_activation
        The list may not be shown at once: the wait for feedback starts with ``activate``.
    explain
        Also say what each item's score is made of.
    request_id
        The same id gets the same list again. Made up if not given, once for all attempts, so that a response
        lost on the way is sent again and no list is counted twice.
    rules
        Rules for this list, after those of the model: ``rankfall.AtMost`` and its like, or mappings.
    context
        When, where and for what the list is, by the names of the factors that the model declares.

    Returns
    -------
    RankResponse
        Give it, or its ``event_id``, to ``feedback``.

    Examples
    --------
    What is sent:

    >>> call = rank(user="ann", k=3, request_id="r1")
    >>> call.method, call.path, call.content
    ('POST', '/v1/models/default/rank', b'{"user":"ann","k":3,"request_id":"r1"}')
    >>> rank(context={"hour": 8, "device": "mobile"}, request_id="r1").content
    b'{"request_id":"r1","context":{"hour":8,"device":"mobile"}}'
    """
    asked = _body(
        user, segment, k, candidates, exclude, baseline, defer_activation, explain, request_id, rules, context
    )
    return Call("POST", path("models", model, "rank"), lambda reply: reply.read(RankResponse), content=body(asked))


def rank_many(requests: Iterable[RankArguments]) -> Call[list[RankResponse | ServiceError]]:
    """Ask for many lists at once.

    Parameters
    ----------
    requests
        Mappings with the arguments of ``rank``.

    Returns
    -------
    list of RankResponse or ServiceError
        In the order of the requests. Errors are returned, not raised: one bad request does not cost the others.

    Examples
    --------
    >>> call = rank_many([{"user": "ann", "request_id": "r1"}, {"model": "news", "request_id": "r2"}])
    >>> call.content
    b'{"requests":[{"model":"default","user":"ann","request_id":"r1"},{"model":"news","request_id":"r2"}]}'
    """
    asked = []
    for request in requests:
        check_names(request, RankArguments.__annotations__)
        options: dict[str, Any] = {name: request.get(name) for name in RankArguments.__annotations__ if name != "model"}
        asked.append({"model": request.get("model", "default")} | _body(**options))
    if not asked:
        return Call("POST", "", lambda _: [])

    def read(reply: Reply) -> list[RankResponse | ServiceError]:
        results = reply.read(RankBatchResponse).results
        if len(results) != len(asked):
            raise ValueError(f"{len(asked)} requests, {len(results)} responses")
        return [_result(bytes(each)) for each in results]

    return Call("POST", "/v1/rank", read, content=body({"requests": asked}))


def activate(event: str | RankResponse) -> Call[datetime | None]:
    """Say that a list ranked with ``defer_activation`` is shown now.

    Returns
    -------
    datetime or None
        Feedback counts until then. None for a list that has no event to activate.

    Examples
    --------
    >>> activate("e1").path
    '/v1/events/e1/activate'
    """
    event_id = event_id_of(event)
    if event_id is None:
        return Call("POST", "", lambda _: None)
    return Call("POST", path("events", event_id, "activate"), lambda reply: reply.read(ActivateResponse).expires_at)


def event(event_id: str) -> Call[EventResponse]:
    """The list that the service has stored under this ``event_id``, and what came of it."""
    return Call("GET", path("events", event_id), lambda reply: reply.read(EventResponse))


def event_id_of(event: str | RankResponse) -> str | None:
    """The ``event_id`` of a list, given as itself or as its ``event_id``."""
    return event.event_id if isinstance(event, RankResponse) else event


class _Peek(msgspec.Struct):
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _result(content: bytes) -> RankResponse | ServiceError:
    """One of a batch: a list, or the error in its place."""
    if msgspec.json.decode(content, type=_Peek).error is msgspec.UNSET:
        return msgspec.json.decode(content, type=RankResponse)
    return as_error(msgspec.json.decode(content, type=ErrorResponse).error)


def _body(
    user: str | None,
    segment: str | None,
    k: int | None,
    candidates: Iterable[Id | Mapping[str, Any]] | None,
    exclude: Iterable[Id] | None,
    baseline: Iterable[Id] | None,
    defer_activation: bool | None,
    explain: bool | None,
    request_id: str | None,
    rules: Iterable[Rule | Mapping[str, Any]] | None,
    context: Mapping[str, Any] | None,
) -> dict[str, Any]:
    return given(
        user=user,
        segment=segment,
        k=k,
        candidates=_ids("candidates", candidates),
        exclude=_ids("exclude", exclude),
        baseline=_ids("baseline", baseline),
        request_id=uuid4().hex if request_id is None else request_id,
        defer_activation=defer_activation or None,
        explain=explain or None,
        rules=None if rules is None else list(rules),
        context=None if context is None else dict(context),
    )


def _ids(name: str, ids: Iterable[Any] | None) -> list[Any] | None:
    if isinstance(ids, str):  # would pass for a list of its letters
        raise InvalidError(f"{name} is a list of ids, not {ids!r}", code="invalid")
    return None if ids is None else list(ids)
