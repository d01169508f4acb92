"""Feedback: what was clicked, and what became of each report."""

from __future__ import annotations

from typing import Annotated, TypeAlias, get_args

from msgspec import Meta

from rankfall.wire.fields import (
    FieldError,
    ItemId,
    Name,
    Position,
    Request,
    Response,
    Result,
    check_all_printable,
    check_printable,
)


class Click(Request, frozen=True):
    """One click, without doubt about what a number means: ``id`` or ``position``, one of them."""

    id: ItemId | None = None
    position: Position | None = None

    def __post_init__(self) -> None:
        if (self.id is None) == (self.position is None):
            raise FieldError("", "give id or position, one of them")
        check_printable("id", self.id)


Clicked: TypeAlias = Position | Name | Click
"""A 1-based position (a number), an item id (text), or either of them by name."""


MOST_CLICKS = 1000
"""Clicks in one feedback: as many as a list can have items."""


class FeedbackRequest(Request, frozen=True):
    """What came of a list: an item id (text), a 1-based position (number), several of them, or null for no click."""

    event_id: Name
    clicked: Clicked | Annotated[list[Clicked], Meta(max_length=MOST_CLICKS)] | None

    def __post_init__(self) -> None:
        check_printable("event_id", self.event_id)
        if isinstance(self.clicked, str):
            check_printable("clicked", self.clicked)
        elif isinstance(self.clicked, list):
            check_all_printable("clicked", [one if isinstance(one, str) else "" for one in self.clicked])


class FeedbackBatchRequest(Request, frozen=True):
    """Feedback on several lists."""

    feedback: Annotated[list[FeedbackRequest], Meta(min_length=1)]


class FeedbackProblem(Response, frozen=True):
    """Why one feedback was not accepted; ``index`` is its place among those given."""

    index: int
    event_id: str | None
    result: Annotated[str, Meta(extra_json_schema={"enum": list(get_args(Result))})]
    reason: str


class FeedbackResponse(Response, frozen=True, kw_only=True):
    """How many were accepted, and why others were not. What is accepted is stored for good.

    Duplicate: the list has feedback already, and the first counts. Late: past ``expires_at``. Unknown: no such list.
    Rejected: the item or position clicked is not in that list.
    """

    accepted: int = 0
    duplicate: int = 0
    late: int = 0
    unknown: int = 0
    rejected: int = 0
    problems: tuple[FeedbackProblem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything was accepted."""
        return not self.problems
