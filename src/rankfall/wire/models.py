"""Models: their settings, what they have learned, and how they do."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from rankfall.wire.context import Factors, RequestFeaturesByName
from rankfall.wire.fields import (
    FieldError,
    ItemId,
    Mode,
    Name,
    Query,
    Request,
    Response,
    Scope,
    Seen,
    Share,
    check_all_printable,
    check_printable,
)
from rankfall.wire.rules import Rules


class Pin(Request, frozen=True):
    """An item held at a position, 1 being the top."""

    id: ItemId
    position: Annotated[int, Meta(ge=1, le=1000)]

    def __post_init__(self) -> None:
        check_printable("id", self.id)


class Forgetting(Request, frozen=True, kw_only=True, omit_defaults=True):
    """How old observations fade: with each list by the factor ``discount``, or only the last ``window`` lists count."""

    discount: Annotated[float, Meta(gt=0, lt=1)] | None = None
    window: Annotated[int, Meta(ge=1, le=100_000)] | None = None

    def __post_init__(self) -> None:
        if (self.discount is None) == (self.window is None):
            raise FieldError("", "give discount or window, one of them")


Policy: TypeAlias = Annotated[str, Meta(description="a policy that can be served, such as CascadeHybrid")]
Gamma: TypeAlias = Annotated[float, Meta(ge=0, le=1e6, description="exploration, of linear policies")]
ListLength: TypeAlias = Annotated[
    int, Meta(ge=1, le=1000, description="items in a list, unless the request says otherwise")
]
ModelMode: TypeAlias = Annotated[
    Mode,
    Meta(
        description="online: show what was learned; apprentice: show the baseline and learn from it; "
        "logging_only: show the baseline and learn nothing"
    ),
]
FeedbackWait: TypeAlias = Annotated[float, Meta(gt=0, le=31_536_000, description="seconds until silence is no click")]
Control: TypeAlias = Annotated[Share, Meta(description="share of users who always get the baseline")]
Randomize: TypeAlias = Annotated[
    Share, Meta(description="share of lists drawn at random, so that logs can be evaluated under other policies")
]
Pins: TypeAlias = Annotated[list[Pin], Meta(max_length=100)]
Blocked: TypeAlias = Annotated[list[ItemId], Meta(max_length=10_000, description="items never shown")]
RewardsByType: TypeAlias = Annotated[
    dict[Name, Annotated[float, Meta(ge=-1e6, le=1e6)]],
    Meta(max_length=100, description="what a click is worth, and each type of outcome; null where only clicks count"),
]


def _check_lists(pinned: list[Pin] | UnsetType, blocked: list[str | int] | UnsetType) -> None:
    if pinned is not UNSET and min(len({p.position for p in pinned}), len({p.id for p in pinned})) < len(pinned):
        raise FieldError("pinned", "each item and each position may be pinned once")
    if blocked is not UNSET:
        check_all_printable("blocked", blocked)


class ModelSettings(Request, frozen=True, kw_only=True):
    """All there is to decide about a model."""

    policy: Policy = "CascadeHybrid"
    gamma: Gamma = 1.0
    k: ListLength = 10
    mode: ModelMode = "online"
    feedback_wait: FeedbackWait = 600.0
    control: Control = 0.0
    randomize: Randomize = 0.0
    pinned: Pins = field(default_factory=list)
    blocked: Blocked = field(default_factory=list)
    scope: Annotated[Scope, Meta(description="one state for all, for each segment, or for each user")] = "global"
    forgetting: Forgetting | None = None
    feedback: Annotated[
        Seen | None,
        Meta(
            description="which items were seen, of linear policies: down to the first click, down to the last, or all; "
            "the policy's own if null"
        ),
    ] = None
    rewards: RewardsByType | None = None
    across_users: Annotated[
        bool, Meta(description="users start from what all users have shown together; of linear policies, scope user")
    ] = False
    rules: Rules = field(default_factory=list)
    context: Factors | None = None
    request_features: RequestFeaturesByName | None = None

    def __post_init__(self) -> None:
        _check_lists(self.pinned, self.blocked)
        for name in ("rewards", "context", "request_features"):
            check_all_printable(name, getattr(self, name))


class NewModel(ModelSettings, frozen=True, kw_only=True):
    """A model to make. Gamma that is not given is 0.5 for policies that have one; docs/policies.md says why.

    ``across_users`` that is not given is true where it can be: with scope user and a linear policy.
    """

    gamma: Gamma | UnsetType = UNSET  # type: ignore[assignment]
    across_users: bool | UnsetType = UNSET  # type: ignore[assignment]


class ModelChanges(Request, frozen=True, kw_only=True):
    """What can be changed of a model without forgetting; what is not named stays."""

    policy: Policy | UnsetType = UNSET
    gamma: Gamma | UnsetType = UNSET
    k: ListLength | UnsetType = UNSET
    mode: ModelMode | UnsetType = UNSET
    feedback_wait: FeedbackWait | UnsetType = UNSET
    control: Control | UnsetType = UNSET
    randomize: Randomize | UnsetType = UNSET
    pinned: Pins | UnsetType = UNSET
    blocked: Blocked | UnsetType = UNSET
    rules: Rules | UnsetType = UNSET

    def __post_init__(self) -> None:
        _check_lists(self.pinned, self.blocked)


class OwnerQuery(Query, frozen=True, kw_only=True):
    """Whose state of a model, if it has one for each user or segment."""

    user: Name | None = None
    segment: Name | None = None

    def __post_init__(self) -> None:
        check_printable("user", self.user)
        check_printable("segment", self.segment)


class HistoryQuery(Query, frozen=True, kw_only=True):
    """How far to look back."""

    hours: Annotated[float, Meta(gt=0, le=720)] = 3.0


class SettingsResponse(ModelSettings, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The settings of a model."""


class NamedSettings(SettingsResponse, frozen=True, kw_only=True):
    """A model: its name and its settings."""

    name: str


class ModelsResponse(Response, frozen=True):
    """The models that the caller may know of."""

    models: list[NamedSettings]


class Weight(Response, frozen=True):
    """One number that was learned, and its standard deviation: the weight of a column, or the attraction of an item."""

    name: str
    block: Annotated[str, Meta(extra_json_schema={"enum": ["topic", "feature", "item"]})]
    weight: float
    sd: float


class ModelCounts(Response, frozen=True, kw_only=True):
    """Lists made, with feedback, with a click, without one; ``expired`` are those whose wait ran out."""

    ranked: int
    with_feedback: int
    clicked: int
    no_click: int
    expired: int


class RewardCounts(Response, frozen=True):
    """What the lists of one arm earned: in all, in the mean, and the standard deviation from list to list."""

    total: float
    mean: float | None
    sd: float | None


class ArmCounts(Response, frozen=True, omit_defaults=True):
    """Lists of one arm: how many have feedback, how many a click, and the share of clicks.

    ``reward`` is what they earned, as the settings have it, where these say what outcomes are worth.
    """

    with_feedback: int
    clicked: int
    rate: float | None
    reward: RewardCounts | None = None


class PriorResponse(Response, frozen=True, kw_only=True):
    """What a user starts from, learned from all users: each weight of an average user, and how far users are from it.

    ``users`` and ``lists`` are those that taught it.
    """

    learned_at: datetime
    age_seconds: float
    users: int
    lists: int
    weights: Annotated[list[Weight], Meta(description="sd is the standard deviation from user to user")]


class ModelResponse(Response, frozen=True, kw_only=True):
    """What a model is and knows. ``learned`` is null where the model has many states and none was named.

    ``prior`` is null where users start from nothing: it is not learned across users, or no prior was learned yet.
    """

    name: str
    settings: SettingsResponse
    version: int
    learned: Annotated[int | None, Meta(description="lists learned from")]
    created_at: datetime
    weights: list[Weight]
    counts: ModelCounts
    arms: dict[str, ArmCounts]
    prior: PriorResponse | None = None


class BucketCounts(Response, frozen=True):
    """Lists of one arm in a bucket of time: how many have feedback, how many a click."""

    with_feedback: int
    clicked: int


class Bucket(Response, frozen=True):
    """What came of the lists in a stretch of time; ``covered`` is the mean number of topics that a list covered."""

    start: datetime
    arms: dict[str, BucketCounts]
    covered: float | None


class HistoryResponse(Response, frozen=True):
    """How a model did over time, oldest first."""

    bucket_seconds: int
    buckets: list[Bucket]


class VersionResponse(Response, frozen=True):
    """The version of a model after a change."""

    version: int
