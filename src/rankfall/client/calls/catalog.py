"""The items of the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rankfall.client.call import Call, Reply
from rankfall.client.encoding import Id, body, given, lines, path, query
from rankfall.errors import FileError
from rankfall.wire import BulkResponse, CatalogResponse, Item, ItemDeleted, ItemsResponse, ItemWritten, TopicsResponse


def catalog() -> Call[CatalogResponse]:
    """How many items the catalog has, its topics and features, and its version."""
    return Call("GET", "/v1/catalog", lambda reply: reply.read(CatalogResponse))


def page(after: str | None, size: int) -> Call[ItemsResponse]:
    """One page of the catalog's items, and where the next one starts; ``items`` turns them."""
    params = query(after=after, limit=size)
    return Call("GET", "/v1/catalog/items", lambda reply: reply.read(ItemsResponse), params=params)


def item(id: Id) -> Call[Item]:  # noqa: A002 - what the service calls it
    """One item, as it is now."""
    return Call("GET", path("catalog", "items", id), lambda reply: reply.read(Item))


def put_item(
    id: Id,  # noqa: A002
    *,
    coverage: Mapping[str, float] | None = None,
    relevance: Sequence[float] | None = None,
    title: str | None = None,
    topics: Sequence[str] | None = None,
    values: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Call[ItemWritten]:
    """Add an item, or replace it.

    Parameters
    ----------
    coverage, relevance
        As the catalog has them.
    topics, values
        In their place: names of topics, and values in the units of the table that the catalog was built from, by
        column. The service scales them as it scaled the others.
    attributes
        What else is known of it, such as its brand: text, numbers, true and false. Rules of lists look at it.

    Returns
    -------
    ItemWritten
        If a response was lost and the client asked again, ``created`` is about the last attempt.

    Examples
    --------
    >>> put_item("AC/DC", coverage={"rock": 1.0}, relevance=[0.3]).path
    '/v1/catalog/items/AC%2FDC'
    """
    content = body(
        given(title=title, coverage=coverage, relevance=relevance, topics=topics, values=values, attributes=attributes)
    )
    return Call("PUT", path("catalog", "items", id), lambda reply: reply.read(ItemWritten), content=content)


def patch_item(
    id: Id,  # noqa: A002
    *,
    coverage: Mapping[str, float] | None = None,
    relevance: Sequence[float] | None = None,
    title: str | None = None,
    values: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Call[ItemWritten]:
    """Change parts of an item; what is not given stays.

    ``coverage`` is merged by topic; a topic set to 0 is dropped. ``values`` are those that changed, in the units of the
    table that the catalog was built from; only their features change. ``attributes`` are those that changed, None for
    one that is to go.
    """
    content = body(given(title=title, coverage=coverage, relevance=relevance, values=values, attributes=attributes))
    return Call("PATCH", path("catalog", "items", id), lambda reply: reply.read(ItemWritten), content=content)


def delete_item(id: Id) -> Call[ItemDeleted]:  # noqa: A002
    """Remove an item from the catalog.

    Returns
    -------
    ItemDeleted
        If a response was lost, and the next attempt finds the item gone, it was most likely this call that removed it:
        no error then, but ``version`` is None.
    """

    def read(reply: Reply) -> ItemDeleted:
        if reply.status != 404:
            return reply.read(ItemDeleted)
        if reply.repeated:
            return ItemDeleted(id, None)
        raise reply.error()

    return Call("DELETE", path("catalog", "items", id), read, understands=frozenset({404}))


def add_topics(topics: Iterable[str]) -> Call[TopicsResponse]:
    """Add topics to the catalog; those that are there already stay as they are. No item covers new ones yet."""
    content = body({"topics": list(topics)})
    return Call("POST", "/v1/catalog/topics", lambda reply: reply.read(TopicsResponse), content=content)


def put_items(items: Iterable[Mapping[str, Any]]) -> Call[BulkResponse]:
    r"""Add or replace many items, all or nothing.

    Parameters
    ----------
    items
        Mappings with ``id``, ``coverage`` or ``topics``, ``relevance`` or ``values``, and perhaps ``title`` and
        ``attributes``; or ``{"id": ..., "delete": True}``.

    Examples
    --------
    >>> put_items([{"id": 1, "coverage": {"jazz": 1.0}, "relevance": []}, {"id": 2, "delete": True}]).content
    b'{"id":1,"coverage":{"jazz":1.0},"relevance":[]}\n{"id":2,"delete":true}\n'
    """
    return _bulk(lines(items), "application/x-ndjson")


def put_catalog(source: str | Path) -> Call[BulkResponse]:
    """Add or replace the items in a Parquet file, as ``Catalog.write_parquet`` makes it; all or nothing."""
    try:
        content = Path(source).read_bytes()
    except OSError as problem:
        raise FileError(f"cannot read {source}: {problem}") from problem
    return _bulk(content, "application/vnd.apache.parquet")


def _bulk(content: bytes, media: str) -> Call[BulkResponse]:
    return Call("POST", "/v1/catalog/bulk", lambda reply: reply.read(BulkResponse), content=content, media=media)
