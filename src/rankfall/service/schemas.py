"""The words of the interface: what callers send, what they get."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from rankfall.model import Discount, Window
from rankfall.policies import SERVED
from rankfall.policies.linear import Feedback as Seen

Mode = Literal["online", "apprentice", "logging_only"]
Scope = Literal["global", "segment", "user"]
Result = Literal["accepted", "duplicate", "late", "unknown", "rejected"]


def _clean(text: str) -> str:
    """No control characters, and nothing a database could not store."""
    if not text.isprintable():
        raise ValueError("only printable characters are allowed")
    return text


LONGEST_NAME, LONGEST_TITLE = 200, 1000

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_clean)]
ItemId = Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)] | Name
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Words(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ask(_Words):
    """What to rank, and for whom."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"user": "u-42", "k": 3}, {"candidates": ["a", "b", "c"], "baseline": ["a", "b"]}]
        }
    )
    user: Name | None = Field(None, description="who will see it; needed by models of scope user")
    segment: Name | None = Field(None, description="which group they belong to; needed by models of scope segment")
    k: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="how many items; the model's k if absent"
    )
    candidates: list[ItemId] | None = Field(None, description="show only these")
    exclude: list[ItemId] | None = Field(None, description="do not show these")
    baseline: list[ItemId] | None = Field(None, description="your own order: for the control group, and in need")
    request_id: Name | None = Field(None, description="your name for this request: a retry gets the same answer")
    defer_activation: bool = Field(False, description="the list may never be shown; call activate when it is")
    explain: bool = Field(False, description="say for each item where its score comes from")


class AskOf(Ask):
    """A request of a batch."""

    model: ModelName


class AskMany(_Words):
    """Several requests, answered in order."""

    requests: list[AskOf] = Field(min_length=1)


class RankedItem(_Words):
    """One item of a list. With ``explain``: score = relevance + sum of coverage + bonus."""

    id: ItemId
    title: str | None = None
    position: int
    score: float | None
    relevance: float | None = None
    coverage: dict[str, float] | None = None
    bonus: float | None = None


class Answer(_Words):
    """A ranked list."""

    event_id: str | None = Field(description="what feedback refers to; null if the list could not be stored")
    model: str
    items: list[RankedItem]
    model_version: int
    policy: str
    mode: Mode
    arm: Literal["policy", "baseline", "control", "fallback"]
    expires_at: datetime | None
    unknown: list[ItemId]


class Click(_Words):
    """One click, without doubt about what the number means."""

    id: ItemId | None = None
    position: Annotated[int, Field(strict=True, ge=1)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Click:
        if (self.id is None) == (self.position is None):
            raise ValueError("give id or position, one of them")
        return self


Clicked = Annotated[int, Field(strict=True, ge=1)] | Name | Click


class Feedback(_Words):
    """What came of a list: an item id (text), a 1-based position (number), several of them, or null for no click."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"event_id": "0193...", "clicked": "b"}]})
    event_id: Name
    clicked: Clicked | list[Clicked] | None


class FeedbackMany(_Words):
    """Feedback on several lists."""

    feedback: list[Feedback] = Field(min_length=1)


class Problem(_Words):
    """Why one feedback was not accepted."""

    index: int
    event_id: str
    result: Result
    reason: str


class Receipt(_Words):
    """What became of the feedback. What is accepted is stored for good."""

    accepted: int
    duplicate: int
    late: int
    unknown: int
    rejected: int
    problems: list[Problem]


class Activated(_Words):
    """A list known to be shown."""

    event_id: str
    active: bool
    expires_at: datetime


class EventView(_Words):
    """A list as it was shown, and what came of it."""

    event_id: str
    model: str
    user: str | None
    segment: str | None
    created_at: datetime
    expires_at: datetime
    active: bool
    arm: str
    learn: bool
    propensity: float | None
    answer: dict[str, Any]
    feedback: dict[str, Any] | None


class ItemBody(_Words):
    """An item of the catalog without its id."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Alien", "coverage": {"horror": 0.9}, "relevance": [0.3, 0.1]}]}
    )
    title: Annotated[str, Field(max_length=LONGEST_TITLE)] | None = None
    coverage: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    relevance: list[Finite] = Field(default_factory=list)


class ItemPatch(_Words):
    """What to change of an item; topics not named stay as they are."""

    title: Annotated[str, Field(max_length=LONGEST_TITLE)] | None = None
    coverage: dict[str, Annotated[float, Field(ge=0, le=1)]] | None = None
    relevance: list[Finite] | None = None


class Item(ItemBody):
    """An item of the catalog."""

    id: ItemId


class Pin(_Words):
    """An item held at a position, 1 being the top."""

    id: ItemId
    position: Annotated[int, Field(ge=1, le=1000)]


class Discounting(_Words):
    """What was learned fades by this factor with each list."""

    discount: Annotated[float, Field(gt=0, lt=1)]

    def meant(self) -> Discount:
        """How the policy forgets."""
        return Discount(self.discount)


class Windowing(_Words):
    """Only the last lists count."""

    window: Annotated[int, Field(ge=1, le=100_000)]

    def meant(self) -> Window:
        """How the policy forgets."""
        return Window(self.window)


class Changes(_Words):
    """What can be changed of a model without forgetting."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"gamma": 0.5}, {"mode": "apprentice"}]})
    policy: str = Field("CascadeHybrid", description=f"one of {', '.join(SERVED)}")
    gamma: Annotated[float, Field(ge=0, le=1e6)] = Field(1.0, description="exploration, of linear policies")
    k: Annotated[int, Field(ge=1, le=1000)] = Field(
        10, description="items in a list, unless the request says otherwise"
    )
    mode: Mode = Field(
        "online",
        description="online: show what was learned; apprentice: show the baseline and learn from it; "
        "logging_only: show the baseline and learn nothing",
    )
    feedback_wait: Annotated[float, Field(gt=0, le=31_536_000)] = Field(
        600.0, description="seconds until silence is no click"
    )
    control: Annotated[float, Field(ge=0, le=1)] = Field(0.0, description="share of users who always get the baseline")
    randomize: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="share of lists drawn at random, so that logs can be evaluated under other policies"
    )
    pinned: list[Pin] = Field(default_factory=list, max_length=100)
    blocked: list[ItemId] = Field(default_factory=list, max_length=10_000)

    @field_validator("policy")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in SERVED:
            raise ValueError(f"no policy {name!r} that can be served; choose from {', '.join(SERVED)}")
        return name

    @field_validator("pinned")
    @classmethod
    def _apart(cls, pins: list[Pin]) -> list[Pin]:
        if len({p.position for p in pins}) < len(pins) or len({p.id for p in pins}) < len(pins):
            raise ValueError("each item and each position may be pinned once")
        return pins


class Settings(Changes):
    """All there is to decide about a model."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"policy": "CascadeHybrid", "gamma": 1.0, "scope": "user"}]}
    )
    scope: Scope = Field("global", description="one state for all, for each segment, or for each user")
    forgetting: Discounting | Windowing | None = None
    feedback: Seen | None = Field(
        None,
        description="which items were seen, of linear policies: down to the first click, down to the last, or all; "
        "the policy's own if null",
    )


class SnapshotName(_Words):
    """What to call a snapshot."""

    name: Annotated[str, Field(max_length=200), AfterValidator(_clean)] = ""
