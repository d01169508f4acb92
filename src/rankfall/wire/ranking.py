"""Lists: what a caller asks for, and the list that comes back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, UnsetType

from rankfall.wire.context import Candidate, ContextValues
from rankfall.wire.fields import (
    Arm,
    ItemId,
    ModelName,
    Name,
    Position,
    Request,
    Response,
    check_all_printable,
    check_printable,
)
from rankfall.wire.rules import Rules


class RankRequest(Request, frozen=True, kw_only=True):
    """What to rank, and for whom."""

    # The fingerprint of a request that has a request_id is taken over these fields in this order, and it is stored.
    user: Annotated[Name | None, Meta(description="who will see it; needed by models of scope user")] = None
    segment: Annotated[
        Name | None, Meta(description="which group they belong to; needed by models of scope segment")
    ] = None
    k: Annotated[Position | None, Meta(description="how many items; the model's k if absent")] = None
    candidates: Annotated[
        list[ItemId | Candidate] | None,
        Meta(description="show only these: ids, or ids with the features that they have in this request"),
    ] = None
    exclude: Annotated[list[ItemId] | None, Meta(description="do not show these")] = None
    baseline: Annotated[
        list[ItemId] | None,
        Meta(
            description="your own order: shown to the control group, and when the service cannot rank. Without it, and "
            "without candidates, the control group gets lists drawn at random"
        ),
    ] = None
    request_id: Annotated[
        Name | None, Meta(description="your name for this request: a retry gets the same response")
    ] = None
    defer_activation: Annotated[bool, Meta(description="the list may never be shown; call activate when it is")] = False
    explain: Annotated[bool, Meta(description="say for each item where its score comes from")] = False
    # From here on: fields that came after 0.1.0. They are part of the fingerprint only where they are given.
    rules: Annotated[Rules | None, Meta(description="rules for this list, after those of the model")] = None
    context: ContextValues | UnsetType = UNSET

    def __post_init__(self) -> None:
        check_printable("user", self.user)
        check_printable("segment", self.segment)
        check_printable("request_id", self.request_id)
        check_all_printable("candidates", self.candidate_ids)
        check_all_printable("exclude", self.exclude)
        check_all_printable("baseline", self.baseline)
        if self.context is not UNSET:
            check_all_printable("context", self.context)

    @property
    def candidate_ids(self) -> list[str | int] | None:
        """The ids of the candidates."""
        if self.candidates is None:
            return None
        return [one.id if isinstance(one, Candidate) else one for one in self.candidates]

    @property
    def candidate_features(self) -> dict[str | int, dict[str, float | None]]:
        """The features that candidates have in this request, by id."""
        return {one.id: one.features for one in self.candidates or () if isinstance(one, Candidate) and one.features}


class BatchedRankRequest(RankRequest, frozen=True, kw_only=True):
    """A request of a batch."""

    model: ModelName


class RankBatchRequest(Request, frozen=True):
    """Several requests, answered in order."""

    requests: Annotated[list[BatchedRankRequest], Meta(min_length=1)]


class RankedItem(Response, frozen=True, omit_defaults=True):
    """One item of a list.

    ``title`` is there if the catalog has titles. With ``explain``: score = relevance + sum of coverage + bonus, and
    ``features`` has the parts of the relevance, if features have names. An item that was never observed may have no
    score and no bonus: they are without bound.
    """

    id: ItemId
    position: Position
    score: float | None
    title: str | None = None
    relevance: float | None = None
    coverage: dict[str, float] | None = None
    bonus: float | None = None
    features: dict[str, float] | None = None


class RelaxedRule(Response, frozen=True):
    """A rule that does not hold at a position, because nothing there could keep it; ``words`` say it for people."""

    position: Position
    rule: dict[str, Any]
    words: str


class HeldBackItem(Response, frozen=True):
    """The best item that a rule did not allow at a position, where it would have been chosen otherwise."""

    position: Position
    id: ItemId
    score: float | None
    rule: dict[str, Any]
    words: str


class RankResponse(Response, frozen=True, kw_only=True, omit_defaults=True):
    """A list to show, best item first.

    ``arm`` says whose list it is: ``policy`` (learned), ``baseline`` or ``control`` (the caller's, by mode or by the
    control group), ``fallback`` (the caller's, because something failed), ``imported`` (shown elsewhere, from a log).
    ``policy`` names what made it: the policy, ``baseline``, or ``random`` for a control list without a baseline.
    """

    event_id: Annotated[str | None, Meta(description="what feedback names; null if the list could not be stored")]
    model: str
    items: tuple[RankedItem, ...]
    model_version: int
    policy: str
    mode: str
    arm: Arm
    expires_at: Annotated[datetime | None, Meta(description="feedback counts until then")]
    unknown: Annotated[tuple[ItemId, ...], Meta(description="ids of the request that are not in the catalog")]
    relaxed: Annotated[
        tuple[RelaxedRule, ...], Meta(description="rules that could not be kept; absent if all were")
    ] = ()
    held_back: Annotated[
        tuple[HeldBackItem, ...],
        Meta(description="with explain: items that rules did not allow, where they changed the list"),
    ] = ()

    @property
    def ids(self) -> tuple[str | int, ...]:
        """The ids of the items, in order."""
        return tuple(item.id for item in self.items)


class RankBatchResponse(Response, frozen=True):
    """Responses in the order of the requests; one that failed has an error in its place."""

    results: Annotated[
        list[Raw],
        Meta(
            extra_json_schema={
                "items": {
                    "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("RankResponse", "ErrorResponse")]
                }
            }
        ),
    ]


class ActivateResponse(Response, frozen=True):
    """A list known to be shown."""

    event_id: str
    active: bool
    expires_at: datetime


class EventFeedback(Response, frozen=True):
    """What came of a list: ``feedback``, or ``expired`` when nothing was reported in time."""

    kind: str
    clicked: Annotated[list[int], Meta(description="positions, 1 being the top")]
    at: datetime


class EventOutcome(Response, frozen=True):
    """What came of an item of a list beside its click."""

    id: ItemId
    type: str
    value: float
    at: datetime


class EventResponse(Response, frozen=True, kw_only=True):
    """A list as it was shown, and what came of it."""

    event_id: str
    model: str
    user: str | None
    segment: str | None
    created_at: datetime
    expires_at: datetime
    active: bool
    arm: Arm
    learn: bool
    propensity: float | None
    response: RankResponse
    feedback: EventFeedback | None
    outcomes: tuple[EventOutcome, ...] = ()
