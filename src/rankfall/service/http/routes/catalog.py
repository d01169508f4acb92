"""The items of the catalog."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rankfall.catalog import Catalog, Id
from rankfall.errors import CatalogError, ConflictError, NotFoundError
from rankfall.service.http.app_state import state_of
from rankfall.service.http.auth import need_anything, need_everywhere
from rankfall.service.http.bodies import NDJSON, PARQUET, body_of, json_response, media_type, read_json, unsupported
from rankfall.service.http.bulk import read_lines, read_parquet
from rankfall.service.http.operations import Operations
from rankfall.service.http.parameters import path_name, read_query
from rankfall.service.items import catalog_of, id_of, item_of, patched, whole_ids
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
)

operations = Operations("catalog")
_ITEM = "/v1/catalog/items/{item:path}"


@operations.add("GET", "/v1/catalog", "What the catalog is like", gives=CatalogResponse)
async def catalog(request: Request) -> Response:
    """Give its size, its topics, and what ids and features look like."""
    need_anything(request)
    state = state_of(request)
    found = state.catalog
    return json_response(
        CatalogResponse(
            items=len(found),
            topics=list(found.topics),
            features=found.n_features,
            ids="integer" if whole_ids(found) else "string",
            titles=found.titles is not None,
            version=state.engine.catalog_version,
        )
    )


@operations.add("GET", "/v1/catalog/items", "List items", query=ItemsQuery, gives=ItemsResponse)
async def items(request: Request) -> Response:
    """Give items in catalog order; page on with ``after`` = ``next``. An item withdrawn meanwhile ends the listing."""
    need_anything(request)
    found, query = state_of(request).catalog, read_query(request, ItemsQuery)
    start = 0
    if query.after is not None:
        row = found.row(id_of(query.after, found))
        if row is None:
            raise NotFoundError(f"cursor {query.after!r} names an item that is no longer there; start again")
        start = row + 1
    end = min(start + query.limit, len(found))
    page = [item_of(found, row) for row in range(start, end)]
    return json_response(ItemsResponse(page, str(found.ids[end - 1]) if end < len(found) else None))


@operations.add("GET", _ITEM, "One item", gives=Item)
async def item(request: Request) -> Response:
    """Give the item as it is now."""
    need_anything(request)
    found = state_of(request).catalog
    return json_response(item_of(found, _row(found, path_name(request, "item"))))


@operations.add("PUT", _ITEM, "Put an item", takes=(ItemBody,), gives=ItemWritten)
async def put_item(request: Request) -> Response:
    """Add an item, or replace the one with the same id. Live at once."""
    need_everywhere(request)
    engine, found = state_of(request).engine, state_of(request).catalog
    key = id_of(path_name(request, "item"), found)
    body = read_json(request, ItemBody)
    created = found.row(key) is None
    version = await engine.do(engine.put_catalog(catalog_of([(key, body)], found)))
    return json_response(ItemWritten(key, created, version))


@operations.add("PATCH", _ITEM, "Change parts of an item", takes=(ItemPatch,), gives=ItemWritten)
async def patch_item(request: Request) -> Response:
    """Change what is named; a topic set to 0 is dropped. Live at once."""
    need_everywhere(request)
    engine, found = state_of(request).engine, state_of(request).catalog
    key = _known(found, path_name(request, "item"))
    patch = read_json(request, ItemPatch)
    patched(found, key, patch)  # raises what is wrong with it
    return json_response(ItemWritten(key, False, await engine.do(engine.patch_item(key, msgspec.to_builtins(patch)))))


@operations.add("DELETE", _ITEM, "Withdraw an item", gives=ItemDeleted)
async def delete_item(request: Request) -> Response:
    """Remove the item at once; feedback on lists that showed it is still learned."""
    need_everywhere(request)
    engine, found = state_of(request).engine, state_of(request).catalog
    key = _known(found, path_name(request, "item"))
    _check_some_stay(found, [key])
    return json_response(ItemDeleted(key, await engine.do(engine.put_catalog(None, [key]))))


@operations.add(
    "POST",
    "/v1/catalog/bulk",
    "Put many items",
    media={NDJSON: {"type": "string"}, PARQUET: {"type": "string", "format": "binary"}},
    gives=BulkResponse,
)
async def bulk(request: Request) -> Response:
    """Put all or nothing.

    NDJSON: a line is an item, or ``{"id": ..., "delete": true}``. Parquet: as Rankfall writes it.
    """
    need_everywhere(request)
    engine, found = state_of(request).engine, state_of(request).catalog
    kind, body = media_type(request), body_of(request)
    if kind == NDJSON:
        given, gone = await asyncio.to_thread(read_lines, body, found)
    elif kind == PARQUET:
        given, gone = await asyncio.to_thread(read_parquet, body, found), []
    else:
        raise unsupported(f"send {NDJSON} or {PARQUET}, not {kind or 'a body without a content type'}")
    _check_some_stay(found, gone, given)
    created = sum(one not in found for one in given.ids)
    version = await engine.do(engine.put_catalog(given if len(given) else None, gone))
    return json_response(BulkResponse(len(given), created, len(gone), version))


def _row(catalog: Catalog, item: str) -> int:
    try:
        row = catalog.row(id_of(item, catalog))
    except CatalogError as problem:
        raise NotFoundError(str(problem)) from None
    if row is None:
        raise NotFoundError(f"no item with id {item!r} in this catalog of {len(catalog)} items")
    return row


def _known(catalog: Catalog, item: str) -> Id:
    return catalog.ids[_row(catalog, item)]


def _check_some_stay(catalog: Catalog, gone: list[Any], put: Catalog | None = None) -> None:
    left = set(catalog.ids) | set(() if put is None else put.ids)
    if gone and not left - set(gone):
        raise ConflictError("a catalog cannot be without items; put others first")
