"""Feedback: what was clicked, what came of it later, and what became of each report."""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias, get_args

from msgspec import UNSET, Meta, UnsetType

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
"""Clicks, or outcomes, in one feedback: as many clicks as a list can have items."""


class Outcome(Request, frozen=True, kw_only=True):
    """What came of an item of a list beside its click, soon or days later: ``id`` or ``position`` says which item.

    It counts once: a second one with its ``outcome_id``, or without one on the same item and of the same type, is a
    duplicate.
    """

    id: ItemId | None = None
    position: Position | None = None
    type: Annotated[Name, Meta(description="one of the rewards of the model, such as purchase")]
    value: Annotated[float, Meta(ge=-1e6, le=1e6, description="how many, or how much of it")] = 1.0
    outcome_id: Annotated[Name | None, Meta(description="your name for it; only a fingerprint is kept")] = None

    def __post_init__(self) -> None:
        if (self.id is None) == (self.position is None):
            raise FieldError("", "give id or position, one of them")
        if not math.isfinite(self.value):
            raise FieldError("value", f"expected a finite number, got {self.value}")
        for name in ("id", "type", "outcome_id"):
            check_printable(name, getattr(self, name))


class FeedbackRequest(Request, frozen=True):
    """What came of a list: an item id (text), a 1-based position (number), several of them, or null for no click.

    Outcomes are reported with the clicks, before them or later, and as often as there are any.
    """

    event_id: Name
    clicked: Clicked | Annotated[list[Clicked], Meta(max_length=MOST_CLICKS)] | UnsetType | None = UNSET
    outcomes: Annotated[list[Outcome], Meta(max_length=MOST_CLICKS)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        check_printable("event_id", self.event_id)
        if self.clicked is UNSET and not self.outcomes:
            raise FieldError("clicked", "this field is required, unless there are outcomes")
        if isinstance(self.clicked, str):
            check_printable("clicked", self.clicked)
        elif isinstance(self.clicked, list):
            check_all_printable("clicked", [one if isinstance(one, str) else "" for one in self.clicked])

    @property
    def reports(self) -> list[int | None]:
        """What it reports, one by one: None for the clicks, if they are given, and the number of each outcome."""
        clicks: list[int | None] = [] if self.clicked is UNSET else [None]
        return [*clicks, *range(len(self.outcomes or ()))]


class FeedbackBatchRequest(Request, frozen=True):
    """Feedback on several lists."""

    feedback: Annotated[list[FeedbackRequest], Meta(min_length=1)]


class FeedbackProblem(Response, frozen=True, omit_defaults=True):
    """Why the clicks or an outcome of one feedback were not accepted; ``index`` is its place among those given.

    ``outcome`` is the place of the outcome in it; it is not there for the clicks.
    """

    index: int
    event_id: str | None
    result: Annotated[str, Meta(extra_json_schema={"enum": list(get_args(Result))})]
    reason: str
    outcome: int | None = None


class FeedbackResponse(Response, frozen=True, kw_only=True):
    """How many were accepted, and why others were not. What is accepted is stored for good.

    The clicks of a list are one report, and so is each outcome.
    Duplicate: the list has feedback already, or this outcome, and the first counts. Late: past ``expires_at``; of
    outcomes, if the list is not known to be shown. Unknown: no such list. Rejected: the item or position is not in that
    list, or the model has no reward for this type of outcome.
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
