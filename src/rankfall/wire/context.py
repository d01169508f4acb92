"""What is declared about the context of requests, and what a request says of it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, field

from rankfall.wire.fields import FieldError, ItemId, Name, Request, check_all_printable, check_printable

_Scale: TypeAlias = Annotated[float, Meta(gt=0, description="what counts as 1")]
_Limit: TypeAlias = Annotated[float, Meta(gt=0, le=100, description="scales from the centre beyond which all is alike")]
_Harmonics: TypeAlias = Annotated[int, Meta(ge=1, le=6, description="2 and more for tastes that change faster")]


class RequestFeature(Request, frozen=True, kw_only=True, omit_defaults=True):
    """How a feature that candidates have in one request is scaled: how many scales it is above the centre."""

    centre: float = 0.0
    scale: _Scale = 1.0
    limit: _Limit = 3.0


class NumberFactor(RequestFeature, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="number"):
    """A number: how many scales it is above the centre."""


class CategoryFactor(Request, frozen=True, kw_only=True, tag_field="kind", tag="category"):
    """One of a few levels; every other value is "other"."""

    levels: Annotated[tuple[Annotated[str, Meta(max_length=200)], ...], Meta(min_length=1, max_length=99)]

    def __post_init__(self) -> None:
        check_all_printable("levels", self.levels)
        if len(set(self.levels)) < len(self.levels):
            raise FieldError("levels", "each level may stand there once")


class HourFactor(Request, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="hour"):
    """The hour of the day, from 0 to 24: 23:59 is next to 0:00."""

    harmonics: _Harmonics = 1


class WeekdayFactor(Request, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="weekday"):
    """The day of the week, from 0 to 7; which day is 0 does not matter."""

    harmonics: _Harmonics = 1


Factors: TypeAlias = Annotated[
    dict[Name, NumberFactor | CategoryFactor | HourFactor | WeekdayFactor],
    Meta(min_length=1, max_length=50, description="what requests may say beside who asks; never changed"),
]
RequestFeaturesByName: TypeAlias = Annotated[
    dict[Name, RequestFeature],
    Meta(min_length=1, max_length=100, description="features that candidates have in one request; never changed"),
]
ContextValues: TypeAlias = Annotated[
    dict[Name, bool | int | float | Annotated[str, Meta(max_length=200)] | None],
    Meta(description="values of the factors that the model declares; what is missing has no influence"),
]


class Candidate(Request, frozen=True):
    """An item that may be shown, with the features that it has in this request."""

    id: ItemId
    features: Annotated[
        dict[Name, float | None], Meta(description="of those that the model declares; 0 where there is none")
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_printable("id", self.id)
