"""What was clicked, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Required, TypedDict

from msgspec.structs import asdict, replace

from rankfall.client.call import NO_RESPONSE, Call, Reply
from rankfall.client.calls.outcomes import OutcomeArguments, key_of, sendable
from rankfall.client.calls.ranking import event_id_of
from rankfall.client.encoding import Id, body, check_names, given
from rankfall.errors import InvalidError
from rankfall.wire import FeedbackProblem, FeedbackResponse, RankResponse


class _Missing:
    def __repr__(self) -> str:
        return "<not given>"


MISSING: Final = _Missing()


class FeedbackArguments(TypedDict, total=False):
    """One of ``feedback_many``: an ``event``, and ``clicked`` or ``position``, or ``outcomes``, as in ``feedback``."""

    event: Required[str | RankResponse]
    clicked: Id | Iterable[Id] | None
    position: int | Iterable[int]
    outcomes: Iterable[OutcomeArguments]


class FeedbackResult(FeedbackResponse, frozen=True, kw_only=True):
    """What became of feedback: the response of the service, and what the client makes of a retry.

    Parameters
    ----------
    accepted, duplicate, late, unknown, rejected, problems
        As in `FeedbackResponse`; the counts add up to what was given: the clicks of a list count as one, and each
        outcome.
    assumed
        How many of the accepted the service called duplicates, when the client had to ask again after a response was
        lost. Almost always they duplicate the client's own first attempt, which is why they count as accepted; feedback
        that someone else gave earlier for the same event, or the same outcome, would look the same.

    >>> FeedbackResult(accepted=1).ok
    True
    """

    assumed: int = 0


def feedback(
    event: str | RankResponse,
    *,
    clicked: Id | Iterable[Id] | _Missing | None = MISSING,
    position: int | Iterable[int] | _Missing = MISSING,
    outcomes: Iterable[OutcomeArguments] = (),
) -> Call[FeedbackResult]:
    """Say what was clicked on a list that was shown: ``clicked`` or ``position``, one of them; or what came of it.

    Parameters
    ----------
    event
        The list, or its ``event_id``.
    clicked
        The id of the item clicked, or several; always ids, also if they are numbers. None: it was shown, and nothing
        was clicked.
    position
        The place clicked, or several, counted from 1.
    outcomes
        What else came of items, with the clicks, before them or later: mappings with the ``id`` or the ``position`` of
        the item, the ``type`` (one of the rewards of the model), a ``value`` if it is not 1, and an ``outcome_id``
        where one item may have several of a type.

    Returns
    -------
    FeedbackResult
        Feedback that comes twice or late is no error: see its ``problems``. If a response was lost on the way and the
        next attempt is told "duplicate", that counts as accepted, and in ``assumed``.

    Examples
    --------
    >>> feedback("e1", clicked=7).content
    b'{"feedback":[{"event_id":"e1","clicked":{"id":7}}]}'
    >>> feedback("e1", position=[1, 3]).content
    b'{"feedback":[{"event_id":"e1","clicked":[{"position":1},{"position":3}]}]}'
    >>> feedback("e1", clicked=None).content
    b'{"feedback":[{"event_id":"e1","clicked":null}]}'
    >>> feedback("e1", outcomes=[{"id": 7, "type": "purchase", "value": 2}]).content
    b'{"feedback":[{"event_id":"e1","outcomes":[{"id":7,"type":"purchase","value":2}]}]}'
    """
    return _feedback([(event, _report(clicked, position, outcomes))])


def outcome(
    event: str | RankResponse,
    item: Id,
    type: str,  # noqa: A002 - as the service calls it
    value: float = 1.0,
    *,
    outcome_id: str | None = None,
) -> Call[FeedbackResult]:
    """Say what came of one item of a list beside its click, soon or days later.

    Parameters
    ----------
    event
        The list, or its ``event_id``.
    item
        The id of the item.
    type, value
        What came of it, one of the rewards of the model, and how many or how much of it.
    outcome_id
        Your name for it, where one item may have several of a type; by it the service knows a repeat.

    Examples
    --------
    >>> outcome("e1", "tt1", "purchase", outcome_id="order 7").content
    b'{"feedback":[{"event_id":"e1","outcomes":[{"id":"tt1","type":"purchase","value":1.0,"outcome_id":"order 7"}]}]}'
    """
    told: Any = given(id=item, type=type, value=value, outcome_id=outcome_id)
    return feedback(event, outcomes=[told])


def feedback_many(feedback: Iterable[FeedbackArguments]) -> Call[FeedbackResult]:
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
    pairs: list[tuple[str | RankResponse, dict[str, Any]]] = []
    for each in feedback:
        check_names(each, FeedbackArguments.__annotations__)
        if "event" not in each:
            raise InvalidError(f"feedback needs an event, not only {sorted(each)}", code="invalid")
        clicks = each.get("clicked", MISSING), each.get("position", MISSING)
        pairs.append((each["event"], _report(*clicks, each.get("outcomes", ()))))
    return _feedback(pairs)


def _report(clicked: Any, position: Any, outcomes: Iterable[OutcomeArguments]) -> dict[str, Any]:
    """Clicks and outcomes of one list, as they are sent."""
    told = sendable(outcomes)
    clicks = {} if told and clicked is position is MISSING else {"clicked": _clicks(clicked, position)}
    return {**clicks, **({"outcomes": told} if told else {})}


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


def _click(name: str, value: Any) -> dict[str, Id]:
    whole = not isinstance(value, bool) and hasattr(value, "__index__")
    if not whole and (name == "position" or not isinstance(value, str)):
        wanted = "a whole number from 1" if name == "position" else "text or a whole number"
        raise InvalidError(f"what was clicked is {wanted}, not {value!r}", code="invalid")
    return {name: int(value) if whole else value}


def _feedback(pairs: Sequence[tuple[str | RankResponse, dict[str, Any]]]) -> Call[FeedbackResult]:
    """Feedback on lists; those without an event stay here, as unknown, for there is nothing to send."""
    events = [event_id_of(event) for event, _ in pairs]
    sent = [index for index, event in enumerate(events) if event is not None]
    here = [
        FeedbackProblem(index, None, "unknown", "this list was a fallback and has no event to learn from", place)
        for index, event in enumerate(events)
        if event is None
        for place, _ in _reports(pairs[index][1])
    ]

    def read(reply: Reply) -> FeedbackResult:
        response = FeedbackResponse() if reply.status == NO_RESPONSE else reply.read(FeedbackResponse)
        problems = tuple(replace(problem, index=sent[problem.index]) for problem in response.problems)
        result = FeedbackResult(**{**asdict(response), "problems": problems})
        if reply.repeated:
            told = [(event, report) for event, (_, report) in zip(events, pairs, strict=True)]
            result = _own_duplicates_accepted(result, told)
        together = tuple(sorted([*here, *result.problems], key=lambda problem: problem.index))
        return replace(result, unknown=result.unknown + len(here), problems=together)

    content = body({"feedback": [{"event_id": events[index], **pairs[index][1]} for index in sent]})
    return Call("POST", "/v1/feedback" if sent else "", read, content=content)


def _reports(report: Mapping[str, Any]) -> list[tuple[int | None, object]]:
    """What is reported on one list: the place of each outcome and what tells it from others; None for the clicks."""
    clicks: list[tuple[int | None, object]] = [(None, None)] if "clicked" in report else []
    return [*clicks, *((place, key_of(one)) for place, one in enumerate(report.get("outcomes", ())))]


def _own_duplicates_accepted(
    result: FeedbackResult, told: Sequence[tuple[str | None, Mapping[str, Any]]]
) -> FeedbackResult:
    """Duplicates seen when asking again are, as far as anyone can know, our own first attempt.

    Not so what the caller gave twice in one call: only the first of each event, or of each outcome, can have been
    accepted.
    """
    first: dict[object, tuple[int, int | None]] = {}
    for index, (event, report) in enumerate(told):
        for place, key in _reports(report):
            first.setdefault((event, key), (index, place))
    firsts = set(first.values())
    own = {(p.index, p.outcome) for p in result.problems if p.result == "duplicate"} & firsts
    return replace(
        result,
        accepted=result.accepted + len(own),
        assumed=len(own),
        duplicate=result.duplicate - len(own),
        problems=tuple(problem for problem in result.problems if (problem.index, problem.outcome) not in own),
    )
