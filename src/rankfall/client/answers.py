"""What the service answers, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Id = str | int
Json = dict[str, Any]


@dataclass(frozen=True)
class RankedItem:
    """One item of a list.

    ``title`` is there if the catalog has titles; ``relevance``, ``coverage`` and ``bonus``, the parts of the score, if
    the list was asked for with ``explain=True``.
    """

    id: Id
    position: int
    score: float | None = None
    title: str | None = None
    relevance: float | None = None
    coverage: Mapping[str, float] | None = None
    bonus: float | None = None

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> "RankedItem":
        """From the service's JSON."""
        return cls(
            id=item["id"],
            position=item["position"],
            score=item["score"],
            title=item.get("title"),
            relevance=item.get("relevance"),
            coverage=item.get("coverage"),
            bonus=item.get("bonus"),
        )


@dataclass(frozen=True)
class RankedList:
    """A list to show, best first.

    Parameters
    ----------
    event_id
        What feedback refers to; None if the service could not store the list and answered with the baseline. Such a
        list can be shown, and given to ``feedback`` like any other, but nothing is learned from it.
    items
        In the order to show them.
    model, model_version, policy, mode
        Who made the list, and in which state.
    arm
        ``policy`` (learned), ``baseline`` or ``control`` (the caller's list, by mode or by the control group) or
        ``fallback`` (the caller's list, because something failed).
    expires_at
        Feedback counts until then.
    unknown
        Ids in the request that are not in the catalog.

    >>> ranked = RankedList.read({
    ...     "event_id": "e1", "model": "default", "items": [{"id": "tt1", "position": 1, "score": 0.5}],
    ...     "model_version": 3, "policy": "CascadeHybrid", "mode": "online", "arm": "policy",
    ...     "expires_at": "2026-11-15T22:30:00Z", "unknown": [],
    ... })
    >>> ranked.ids, ranked.expires_at.year
    (('tt1',), 2026)
    """

    event_id: str | None
    items: tuple[RankedItem, ...]
    model: str
    model_version: int
    policy: str
    mode: str
    arm: str
    expires_at: datetime | None = None
    unknown: tuple[Id, ...] = ()

    @property
    def ids(self) -> tuple[Id, ...]:
        """The items' ids, in order."""
        return tuple(item.id for item in self.items)

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> "RankedList":
        """From the service's JSON."""
        return cls(
            event_id=answer["event_id"],
            items=tuple(RankedItem.read(item) for item in answer["items"]),
            model=answer["model"],
            model_version=answer["model_version"],
            policy=answer["policy"],
            mode=answer["mode"],
            arm=answer["arm"],
            expires_at=read_time(answer["expires_at"]),
            unknown=tuple(answer["unknown"]),
        )


@dataclass(frozen=True)
class FeedbackProblem:
    """Feedback that was not learned from, and why.

    ``index`` is its place among those given; ``result`` is ``duplicate``, ``late``, ``unknown`` or ``rejected``.
    """

    index: int
    event_id: str | None
    result: str
    reason: str


@dataclass(frozen=True)
class FeedbackResult:
    """What became of feedback: how many were accepted, and each one that was not.

    Parameters
    ----------
    accepted, duplicate, late, unknown, rejected
        They add up to what was given. Duplicate: the event has feedback already, and the first counts. Late: past
        ``expires_at``. Unknown: no such event. Rejected: the item or position clicked is not in that list.
    assumed
        How many of the accepted the service called duplicates, when the client had to ask again after an answer was
        lost. Almost always they duplicate the client's own first attempt, which is why they count as accepted; feedback
        that someone else gave earlier for the same event would look the same.
    problems
        One for each that was not accepted.

    >>> FeedbackResult(accepted=1).ok
    True
    """

    accepted: int = 0
    duplicate: int = 0
    late: int = 0
    unknown: int = 0
    rejected: int = 0
    assumed: int = 0
    problems: tuple[FeedbackProblem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything was accepted."""
        return not self.problems


def read_time(text: str | None) -> datetime | None:
    """A moment, from ISO 8601.

    >>> read_time("2026-11-15T22:30:00.5Z").isoformat()
    '2026-11-15T22:30:00.500000+00:00'
    """
    return None if text is None else datetime.fromisoformat(text)
