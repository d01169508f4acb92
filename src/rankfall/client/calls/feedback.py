"""What was clicked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Required, TypedDict

from msgspec.structs import asdict, replace

from rankfall.client.call import NO_RESPONSE, Call, Reply
from rankfall.client.calls.ranking import event_id_of
from rankfall.client.encoding import Id, body, check_names
from rankfall.errors import InvalidError
from rankfall.wire import FeedbackProblem, FeedbackResponse, RankResponse


class _Missing:
    def __repr__(self) -> str:
        return "<not given>"


MISSING: Final = _Missing()


class FeedbackArguments(TypedDict, total=False):
    """One of ``feedback_many``: an ``event``, and ``clicked`` or ``position`` as in ``feedback``."""

    event: Required[str | RankResponse]
    clicked: Id | Iterable[Id] | None
    position: int | Iterable[int]


class FeedbackResult(FeedbackResponse, frozen=True, kw_only=True):
    """What became of feedback: the response of the service, and what the client makes of a retry.

    Parameters
    ----------
    accepted, duplicate, late, unknown, rejected, problems
        As in `FeedbackResponse`; the counts add up to what was given.
    assumed
        How many of the accepted the service called duplicates, when the client had to ask again after a response was
        lost. Almost always they duplicate the client's own first attempt, which is why they count as accepted; feedback
        that someone else gave earlier for the same event would look the same.

    >>> FeedbackResult(accepted=1).ok
    True
    """

    assumed: int = 0


def feedback(
    event: str | RankResponse,
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
    """
    return _feedback([(event, _clicks(clicked, position))])


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
    pairs = []
    for each in feedback:
        check_names(each, FeedbackArguments.__annotations__)
        if "event" not in each:
            raise InvalidError(f"feedback needs an event, not only {sorted(each)}", code="invalid")
        pairs.append((each["event"], _clicks(each.get("clicked", MISSING), each.get("position", MISSING))))
    return _feedback(pairs)


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


def _feedback(pairs: Sequence[tuple[str | RankResponse, Any]]) -> Call[FeedbackResult]:
    """Feedback on lists; those without an event stay here, as unknown, for there is nothing to send."""
    events = [event_id_of(event) for event, _ in pairs]
    sent = [index for index, event in enumerate(events) if event is not None]
    here = [
        FeedbackProblem(index, None, "unknown", "this list was a fallback and has no event to learn from")
        for index, event in enumerate(events)
        if event is None
    ]

    def read(reply: Reply) -> FeedbackResult:
        response = FeedbackResponse() if reply.status == NO_RESPONSE else reply.read(FeedbackResponse)
        problems = tuple(replace(problem, index=sent[problem.index]) for problem in response.problems)
        result = FeedbackResult(**{**asdict(response), "problems": problems})
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
