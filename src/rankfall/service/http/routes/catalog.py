"""The items of the catalog."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, ConflictError, NotFoundError, short
from rankfall.item_names import Id
from rankfall.journal.catalogs import CatalogState, encode_catalog, item_in
from rankfall.service.commands import AddTopics, PatchItem, PutItems
from rankfall.service.http.app_state import state_of
from rankfall.service.http.auth import everywhere
from rankfall.service.http.bodies import NDJSON, PARQUET, body_of, json_response, media_type, read_json
from rankfall.service.http.bulk import read_lines, read_parquet
from rankfall.service.http.operations import Operations
from rankfall.service.http.parameters import path_name, read_query
from rankfall.service.items import catalog_of, checked_patch, id_of, item_of, resolved
from rankfall.wire import (
    BulkResponse,
    CatalogResponse,
    Item,
    ItemBody,
    ItemDeleted,
    ItemPatch,
    ItemsQuery,
    ItemsResponse,
    ItemWritten,
    TopicsRequest,
    TopicsResponse,
)

operations = Operations("catalog")
_ITEM = "/v1/catalog/items/{item:path}"


@operations.add("GET", "/v1/catalog", "What the catalog is like", gives=CatalogResponse)
async def catalog(request: Request) -> Response:
    """Give its size, its topics, and what ids and features look like."""
    state = state_of(request)
    shape = state.items.shape
    return json_response(
        CatalogResponse(
            items=len(state.items),
            topics=list(shape.topics),
            features=len(shape.features),
            ids="integer" if shape.whole_ids else "string",
            titles=shape.titled,
            version=state.items.version,
            feature_names=list(shape.features),
            columns=[] if shape.recipe is None else list(shape.recipe.columns),
            recipe=None if shape.recipe is None else shape.recipe.digest,
            attributes=state.items.attributes,
        )
    )


@operations.add("GET", "/v1/catalog/items", "List items", query=ItemsQuery, gives=ItemsResponse)
async def items(request: Request) -> Response:
    """Give items in catalog order; page on with ``after`` = ``next``. An item withdrawn meanwhile ends the listing."""
    found, query = await state_of(request).laid_out(), read_query(request, ItemsQuery)
    start = 0
    if query.after is not None:
        row = found.row(id_of(query.after, state_of(request).items.shape))
        if row is None:
            raise NotFoundError(f"cursor {short(query.after)} names an item that is no longer there; start again")
        start = row + 1
    end = min(start + query.limit, len(found))
    page = [item_of(found.ids[row], item_in(found, row), found.topics) for row in range(start, end)]
    return json_response(ItemsResponse(page, str(found.ids[end - 1]) if end < len(found) else None))


@operations.add("GET", _ITEM, "One item", gives=Item)
async def item(request: Request) -> Response:
    """Give the item as it is now."""
    found = state_of(request).items
    item_id = _known(found, path_name(request, "item"))
    return json_response(item_of(item_id, found.item(item_id), found.shape.topics))


@operations.add("PUT", _ITEM, "Put an item", needs=everywhere("admin"), takes=(ItemBody,), gives=ItemWritten)
async def put_item(request: Request) -> Response:
    """Add an item, or replace the one with the same id. Live at once.

    Of a catalog that was built from a table, an item may be given in the units of that table: ``values`` and ``topics``
    in place of ``relevance`` and ``coverage``.
    """
    writer, found = state_of(request).engine.writer, state_of(request).items
    item_id = id_of(path_name(request, "item"), found.shape)
    body = resolved(found, item_id, read_json(request, ItemBody))
    created = item_id not in found
    version = await writer.submit(PutItems(encode_catalog(catalog_of([(item_id, body)], found.shape))))
    return json_response(ItemWritten(item_id, created, version))


@operations.add(
    "PATCH", _ITEM, "Change parts of an item", needs=everywhere("admin"), takes=(ItemPatch,), gives=ItemWritten
)
async def patch_item(request: Request) -> Response:
    """Change what is named; a topic set to 0 is dropped, and so is an attribute that is null. Live at once."""
    writer, found = state_of(request).engine.writer, state_of(request).items
    item_id = _known(found, path_name(request, "item"))
    patch = checked_patch(found, item_id, read_json(request, ItemPatch))
    return json_response(ItemWritten(item_id, False, await writer.submit(PatchItem(item_id, patch))))


@operations.add("DELETE", _ITEM, "Withdraw an item", needs=everywhere("admin"), gives=ItemDeleted)
async def delete_item(request: Request) -> Response:
    """Remove the item at once; feedback on lists that showed it is still learned."""
    writer, found = state_of(request).engine.writer, state_of(request).items
    item_id = _known(found, path_name(request, "item"))
    _check_some_stay(found, [item_id])
    return json_response(ItemDeleted(item_id, await writer.submit(PutItems(None, (item_id,)))))


@operations.add(
    "POST",
    "/v1/catalog/bulk",
    "Put many items",
    needs=everywhere("admin"),
    bulk=True,
    media={NDJSON: {"type": "string"}, PARQUET: {"type": "string", "format": "binary"}},
    gives=BulkResponse,
)
async def bulk(request: Request) -> Response:
    """Put all or nothing.

    NDJSON: a line is an item, or ``{"id": ..., "delete": true}``. Parquet: as Rankfall writes it.
    """
    state = state_of(request)
    change = await asyncio.to_thread(
        _bulk_change, media_type(request), body_of(request), state.items, state.limits.unpacked
    )
    version = await state.engine.writer.submit(PutItems(change.items, change.gone))
    return json_response(BulkResponse(change.put, change.created, len(change.gone), version))


class _BulkChange(NamedTuple):
    """Items as the journal has them, and ids of those to withdraw; how many are put, and how many of them are new."""

    items: bytes | None
    gone: tuple[Id, ...]
    put: int
    created: int


def _bulk_change(media: str, body: bytes, catalog: CatalogState, most: int) -> _BulkChange:
    """What a body wants changed. It may be large: all of this is work for a thread."""
    given, gone = read_lines(body, catalog) if media == NDJSON else (read_parquet(body, catalog, most), [])
    _check_some_stay(catalog, gone, given)
    items = encode_catalog(given) if len(given) else None
    return _BulkChange(items, tuple(gone), len(given), sum(one not in catalog for one in given.ids))


@operations.add(
    "POST",
    "/v1/catalog/topics",
    "Add topics",
    needs=everywhere("admin"),
    takes=(TopicsRequest,),
    gives=TopicsResponse,
)
async def add_topics(request: Request) -> Response:
    """Add topics, after those there are. No item covers them yet; what was learned stays."""
    state = state_of(request)
    version = await state.engine.writer.submit(
        AddTopics(tuple(dict.fromkeys(read_json(request, TopicsRequest).topics)))
    )
    return json_response(TopicsResponse(list(state.items.shape.topics), version))


def _known(catalog: CatalogState, item: str) -> Id:
    """The id that a path names, of an item that is there."""
    try:
        item_id = id_of(item, catalog.shape)
    except CatalogError as problem:
        raise NotFoundError(str(problem)) from None
    if item_id not in catalog:
        raise NotFoundError(f"no item with id {short(item)} in this catalog of {len(catalog)} items")
    return item_id


def _check_some_stay(catalog: CatalogState, gone: list[Id], put: Catalog | None = None) -> None:
    new = {item for item in (() if put is None else put.ids) if item not in catalog}
    leaving = {item for item in gone if item in catalog or item in new}
    if gone and len(leaving) == len(catalog) + len(new):
        raise ConflictError("a catalog cannot be without items; put others first")
