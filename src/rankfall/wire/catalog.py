"""The catalog: its items as callers write and read them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from rankfall.wire.fields import (
    LONGEST_NAME,
    LONGEST_TITLE,
    FieldError,
    ItemId,
    Name,
    Query,
    Request,
    Response,
    Share,
    check_all_printable,
    check_printable,
)

AttributeValue = Annotated[str, Meta(max_length=1000)] | int | float | bool
"""The value of an attribute of an item."""


def _check_attributes(attributes: dict[str, str | int | float | bool | None]) -> None:
    for name, value in attributes.items():
        check_printable(f"attributes.{name}", name)
        if isinstance(value, str):
            check_printable(f"attributes.{name}", value)
        elif isinstance(value, int) and abs(value) > _LARGEST_WHOLE:
            raise FieldError(f"attributes.{name}", f"expected a whole number of at most 2^53, got {value}")


_LARGEST_WHOLE = 2**53
Title = Annotated[str, Meta(max_length=LONGEST_TITLE)]


Value = float | str | list[float] | None
"""A value of a column in the table a catalog was built from."""

Values = Annotated[
    dict[str, Value],
    Meta(description="in place of relevance: values in the units of the table the catalog was built from, by column"),
]
Topics = Annotated[
    list[str],
    Meta(description="in place of coverage: names of topics, each covered as is usual for an item nobody has seen"),
]


class ItemBody(Request, frozen=True, kw_only=True):
    """An item of the catalog without its id."""

    title: Title | None = None
    coverage: Annotated[dict[str, Share], Meta(description="how well it covers each topic; 0 if not named")] = field(
        default_factory=dict
    )
    relevance: list[float] = field(default_factory=list)
    values: Values | None = None
    topics: Topics | None = None
    attributes: Annotated[
        dict[Name, AttributeValue | None],
        Meta(max_length=100, description="what else is known of it, such as its brand; rules of lists look at it"),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_attributes(self.attributes)


class ItemPatch(Request, frozen=True, kw_only=True, omit_defaults=True):
    """What to change of an item; topics and attributes not named stay as they are, one that is null goes."""

    title: Title | None = None
    coverage: dict[str, Share] | None = None
    relevance: list[float] | None = None
    values: Values | None = None
    attributes: Annotated[dict[Name, AttributeValue | None], Meta(max_length=100)] | None = None

    def __post_init__(self) -> None:
        _check_attributes(self.attributes or {})


class BulkItem(ItemBody, frozen=True, kw_only=True):
    """One line of a bulk request: an item with its id."""

    id: ItemId

    def __post_init__(self) -> None:
        super().__post_init__()
        check_printable("id", self.id)


class Item(Response, frozen=True, omit_defaults=True):
    """An item of the catalog; ``title`` is there if the catalog has titles."""

    id: ItemId
    coverage: dict[str, float]
    relevance: list[float]
    title: str | None = None
    attributes: dict[str, AttributeValue] = field(default_factory=dict)


class ItemsQuery(Query, frozen=True, kw_only=True):
    """Which page of the catalog."""

    after: Annotated[str, Meta(max_length=LONGEST_NAME, description="``next`` of the page before")] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="items on a page")] = 100


class ItemsResponse(Response, frozen=True):
    """Items in catalog order; ``next`` is where the next page begins, null on the last one."""

    items: list[Item]
    next: str | None


class ItemWritten(Response, frozen=True):
    """An item that was put or changed, and the version of the catalog that this made."""

    id: ItemId
    created: bool
    version: int


class ItemDeleted(Response, frozen=True):
    """An item that was withdrawn, and the version of the catalog that this made."""

    id: ItemId
    version: int | None


class BulkResponse(Response, frozen=True):
    """How many items were put, how many of them are new, how many were withdrawn."""

    put: int
    created: int
    deleted: int
    version: int


class TopicsRequest(Request, frozen=True):
    """Topics to add; those that are there already stay as they are."""

    topics: Annotated[list[Name], Meta(min_length=1, max_length=1000)]

    def __post_init__(self) -> None:
        check_all_printable("topics", self.topics)


class TopicsResponse(Response, frozen=True):
    """All topics, in order, and the version of the catalog."""

    topics: list[str]
    version: int


class CatalogResponse(Response, frozen=True, kw_only=True):
    """What the catalog is like; ``ids`` is ``string`` or ``integer``.

    ``columns`` are those of the table it was built from, of which items may have ``values``; ``recipe`` tells recipes
    apart by which they become features, and is null if there is none.
    """

    items: int
    topics: list[str]
    features: int
    ids: str
    titles: bool
    version: int
    feature_names: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    recipe: str | None = None
    attributes: Annotated[list[str], Meta(description="attributes that items have")] = field(default_factory=list)
