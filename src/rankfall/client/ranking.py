"""The calls a shop makes all day: a list, what was clicked on it, and that it was shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Required, TypedDict
from uuid import uuid4

from rankfall.client.answers import FeedbackProblem, FeedbackResult, Id, Json, RankedList, read_time
from rankfall.client.encoding import body, given, path
from rankfall.client.exchange import NO_ANSWER, Call, Reply, as_error
from rankfall.errors import InvalidError, ServiceError

OUTCOMES = ("accepted", "duplicate", "late", "unknown", "rejected")


class _Missing:
    def __repr__(self) -> str:
        return "<not given>"


MISSING: Final = _Missing()


class RankRequest(TypedDict, total=False):
    """One of ``rank_many``: the arguments of ``rank``, all optional."""

    model: str
    user: str | None
    segment: str | None
    k: int | None
    candidates: Iterable[Id] | None
    exclude: Iterable[Id] | None
    baseline: Iterable[Id] | None
    defer_activation: bool
    explain: bool
    request_id: str | None


class Feedback(TypedDict, total=False):
    """One of ``feedback_many``: an ``event``, and ``clicked`` or ``position`` as in ``feedback``."""

    event: Required[str | RankedList]
    clicked: Id | Iterable[Id] | None
    position: int | Iterable[int]


def rank(
    model: str = "default",
    *,
    user: str | None = None,
    segment: str | None = None,
    k: int | None = None,
    candidates: Iterable[Id] | None = None,
    exclude: Iterable[Id] | None = None,
    baseline: Iterable[Id] | None = None,
    defer_activation: bool = False,
    explain: bool = False,
    request_id: str | None = None,
) -> Call[RankedList]:
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
        Rank only these; the whole catalog if not given.
    exclude
        Never show these.
    baseline
        Your own list: what control groups see, and what you get if the service has trouble.
    defer_activation
        The list may not be shown at once: the wait for feedback starts with ``activate``.
    explain
        Also say what each item's score is made of.
    request_id
        The same id gets the same list again. Made up if not given, once for all attempts, so that an answer lost on
        the way is answered again and no list is counted twice.

    Returns
    -------
    RankedList
        Give it, or its ``event_id``, to ``feedback``.

    Examples
    --------
    What is sent:

    >>> call = rank(user="ann", k=3, request_id="r1")
    >>> call.method, call.path, call.content
    ('POST', '/v1/models/default/rank', b'{"user":"ann","k":3,"request_id":"r1"}')
    """
    asked = _asked(user, segment, k, candidates, exclude, baseline, defer_activation, explain, request_id)
    return Call("POST", path("models", model, "rank"), _read_list, content=body(asked))


def rank_many(requests: Iterable[RankRequest]) -> Call[list[RankedList | ServiceError]]:
    """Ask for many lists at once.

    Parameters
    ----------
    requests
        Mappings with the arguments of ``rank``.

    Returns
    -------
    list of RankedList or ServiceError
        In the order of the requests. Errors are returned, not raised: one bad request does not cost the others.

    Examples
    --------
    >>> call = rank_many([{"user": "ann", "request_id": "r1"}, {"model": "news", "request_id": "r2"}])
    >>> call.content
    b'{"requests":[{"model":"default","user":"ann","request_id":"r1"},{"model":"news","request_id":"r2"}]}'
    """
    asked = []
    for request in requests:
        _only(request, RankRequest.__annotations__)
        options: Json = {name: request.get(name) for name in RankRequest.__annotations__ if name != "model"}
        asked.append({"model": request.get("model", "default")} | _asked(**options))
    if not asked:
        return Call("POST", "", lambda _: [])

    def read(reply: Reply) -> list[RankedList | ServiceError]:
        answers = reply.json()["results"]
        if len(answers) != len(asked):
            raise ValueError(f"{len(asked)} requests, {len(answers)} answers")
        return [as_error(each["error"]) if "error" in each else RankedList.read(each) for each in answers]

    return Call("POST", "/v1/rank", read, content=body({"requests": asked}))


def feedback(
    event: str | RankedList,
    *,
    clicked: Id | Iterable[Id] | _Missing | None = MISSING,
    position: int | Iterable[int] | _Missing = MISSING,
) -> Call[FeedbackResult]:
    """Say what was clicked on a list that was shown: ``clicked`` or ``position``, exactly one of them.

    Parameters
    ----------
    event
        The list, or its ``event_id``.
    clicked
        The id of the item clicked, or several; always ids, also if they are numbers. None: it was shown, and nothing
        was clicked.
    position
        The place clicked, or several, counted from 1.

    Returns
    -------
    FeedbackResult
        Feedback that comes twice or late is no error: see its ``problems``. If an answer was lost on the way and the
        next attempt is told "duplicate", that counts as accepted, and in ``assumed``.

    Examples
    --------
    >>> feedback("e1", clicked=7).content
    b'{"feedback":[{"event_id":"e1","clicked":{"id":7}}]}'
    >>> feedback("e1", position=[1, 3]).content
    b'{"feedback":[{"event_id":"e1","clicked":[{"position":1},{"position":3}]}]}'
    >>> feedback("e1", clicked=None).content
    b'{"feedback":[{"event_id":"e1","clicked":null}]}'
    """
    return _feedback([(event, _clicks(clicked, position))])


def feedback_many(feedback: Iterable[Feedback]) -> Call[FeedbackResult]:
    """Say what was clicked on many lists.

    Parameters
    ----------
    feedback
        Mappings with the arguments of ``feedback``.

    Returns
    -------
    FeedbackResult
        The counts of all of them; each that was not accepted is among its ``problems``, by its index.

    Examples
    --------
    >>> feedback_many([{"event": "e1", "clicked": "tt1"}, {"event": "e2", "clicked": None}]).content
    b'{"feedback":[{"event_id":"e1","clicked":{"id":"tt1"}},{"event_id":"e2","clicked":null}]}'
    """
    pairs = []
    for each in feedback:
        _only(each, Feedback.__annotations__)
        if "event" not in each:
            raise InvalidError(f"feedback needs an event, not only {sorted(each)}", code="invalid")
        pairs.append((each["event"], _clicks(each.get("clicked", MISSING), each.get("position", MISSING))))
    return _feedback(pairs)


def activate(event: str | RankedList) -> Call[datetime | None]:
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
    event_id = _event_id(event)
    if event_id is None:
        return Call("POST", "", lambda _: None)
    return Call("POST", path("events", event_id, "activate"), lambda reply: read_time(reply.json()["expires_at"]))


def _asked(
    user: str | None,
    segment: str | None,
    k: int | None,
    candidates: Iterable[Id] | None,
    exclude: Iterable[Id] | None,
    baseline: Iterable[Id] | None,
    defer_activation: bool | None,
    explain: bool | None,
    request_id: str | None,
) -> Json:
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
    )


def _ids(name: str, ids: Iterable[Id] | None) -> list[Id] | None:
    if isinstance(ids, str):  # would pass for a list of its letters
        raise InvalidError(f"{name} is a list of ids, not {ids!r}", code="invalid")
    return None if ids is None else list(ids)


def _only(given: Mapping[str, Any], allowed: Iterable[str]) -> None:
    if unknown := sorted(set(given) - set(allowed)):
        raise InvalidError(f"unknown: {', '.join(unknown)}; there is: {', '.join(allowed)}", code="invalid")


def _read_list(reply: Reply) -> RankedList:
    return RankedList.read(reply.json())


def _event_id(event: str | RankedList) -> str | None:
    return event.event_id if isinstance(event, RankedList) else event


def _clicks(clicked: Any, position: Any) -> Any:
    """Clicks as the service reads them without guessing: ``{"id": ...}`` and ``{"position": ...}``."""
    if (clicked is MISSING) == (position is MISSING):
        raise InvalidError("give clicked (item ids, or None for no click) or position, one of them", code="invalid")
    name, value = ("id", clicked) if position is MISSING else ("position", position)
    if value is None:
        if name == "position":
            raise InvalidError("no click at all is clicked=None", code="invalid")
        return None
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return [_click(name, each) for each in value] if several else _click(name, value)


def _click(name: str, value: Any) -> Json:
    whole = not isinstance(value, bool) and hasattr(value, "__index__")
    if not whole and (name == "position" or not isinstance(value, str)):
        wanted = "a whole number from 1" if name == "position" else "text or a whole number"
        raise InvalidError(f"what was clicked is {wanted}, not {value!r}", code="invalid")
    return {name: int(value) if whole else value}


def _feedback(pairs: Sequence[tuple[str | RankedList, Any]]) -> Call[FeedbackResult]:
    """Feedback on lists; those without an event stay here, as unknown, for there is nothing to send."""
    events = [_event_id(event) for event, _ in pairs]
    sent = [index for index, event in enumerate(events) if event is not None]
    here = tuple(
        FeedbackProblem(index, None, "unknown", "this list was a fallback and has no event to learn from")
        for index, event in enumerate(events)
        if event is None
    )

    def read(reply: Reply) -> FeedbackResult:
        answer: Json = reply.json() if reply.status != NO_ANSWER else {"problems": [], **dict.fromkeys(OUTCOMES, 0)}
        counts: dict[str, int] = {name: int(answer[name]) for name in OUTCOMES}
        problems = [
            FeedbackProblem(sent[each["index"]], each["event_id"], each["result"], each["reason"])
            for each in answer["problems"]
        ]
        result = FeedbackResult(**counts, problems=tuple(problems))
        result = _own_duplicates_accepted(result, events) if reply.repeated else result
        together = tuple(sorted([*here, *result.problems], key=lambda problem: problem.index))
        return replace(result, unknown=result.unknown + len(here), problems=together)

    content = body({"feedback": [{"event_id": events[index], "clicked": pairs[index][1]} for index in sent]})
    return Call("POST", "/v1/feedback" if sent else "", read, content=content)


def _own_duplicates_accepted(result: FeedbackResult, events: Sequence[str | None]) -> FeedbackResult:
    """Duplicates seen when asking again are, as far as anyone can know, our own first attempt.

    Not so what the caller gave twice in one call: only the first of each event can have been accepted.
    """
    first = {event: index for index, event in reversed(list(enumerate(events)))}
    own = {p.index for p in result.problems if p.result == "duplicate" and first[p.event_id] == p.index}
    return replace(
        result,
        accepted=result.accepted + len(own),
        assumed=len(own),
        duplicate=result.duplicate - len(own),
        problems=tuple(problem for problem in result.problems if problem.index not in own),
    )
