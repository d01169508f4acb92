"""Routes for whoever runs the service: catalog, models, snapshots, users."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, ConflictError, InvalidError, NotFoundError, RankfallError, RefusedError
from rankfall.service.engine import Engine
from rankfall.service.http.bodies import check_model_name, check_name, takes
from rankfall.service.http.context import Service, service_of
from rankfall.service.http.keys import RIGHTS
from rankfall.service.items import catalog_of, fitting, id_of, item_of, patched, whole_ids
from rankfall.service.model import Model, changed, policy_of
from rankfall.service.ranking import iso
from rankfall.stores import Snapshot
from rankfall.wire import BulkItem, ItemBody, ItemPatch, ModelChanges, ModelSettings, SnapshotRequest, decode

routes = APIRouter(prefix="/v1")

Who = Annotated[str | None, Query()]


def _readable(request: Request) -> tuple[Service, Engine, Catalog]:
    service = service_of(request)
    grant = service.grant(request)
    if not any(right in grant.rights for right in RIGHTS):
        raise RefusedError("this key has no rights")
    return service, service.running, _catalog(service.running)


def _writable(request: Request) -> tuple[Service, Engine, Catalog]:
    service = service_of(request)
    service.need_everywhere(request)
    return service, service.running, _catalog(service.running)


def _catalog(engine: Engine) -> Catalog:
    if engine.catalog is None:
        raise NotFoundError("there is no catalog yet; start with --catalog")
    return engine.catalog


# Catalog


@routes.get("/catalog", tags=["catalog"], summary="What the catalog is like")
async def catalog_info(request: Request) -> dict[str, Any]:
    """Size, topics, and what ids and features look like."""
    _, engine, catalog = _readable(request)
    return {
        "items": len(catalog),
        "topics": list(catalog.topics),
        "features": catalog.n_features,
        "ids": "integer" if whole_ids(catalog) else "string",
        "titles": catalog.titles is not None,
        "version": engine.catalog_version,
    }


@routes.get("/catalog/items", tags=["catalog"], summary="List items")
async def items(
    request: Request,
    after: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Items in catalog order; page on with ``after`` = ``next``. An item withdrawn meanwhile ends the listing."""
    _, _, catalog = _readable(request)
    start = 0
    if after is not None:
        row = catalog.row(id_of(after, catalog))
        if row is None:
            raise NotFoundError(f"cursor {after!r} names an item that is no longer there; start again")
        start = row + 1
    end = min(start + limit, len(catalog))
    found = [msgspec.to_builtins(item_of(catalog, row)) for row in range(start, end)]
    return {"items": found, "next": str(catalog.ids[end - 1]) if end < len(catalog) else None}


@routes.get(
    "/catalog/items/{item:path}",
    tags=["catalog"],
    summary="One item",
)
async def get_item(item: str, request: Request) -> dict[str, Any]:
    """The item as it is now."""
    _, _, catalog = _readable(request)
    check_name("path.item", item)
    return _plain(item_of(catalog, _row(catalog, item)))


def _row(catalog: Catalog, item: str) -> int:
    try:
        row = catalog.row(id_of(item, catalog))
    except CatalogError as problem:
        raise NotFoundError(str(problem)) from None
    if row is None:
        raise NotFoundError(f"no item with id {item!r} in this catalog of {len(catalog)} items")
    return row


@routes.put("/catalog/items/{item:path}", tags=["catalog"], summary="Put an item", openapi_extra=takes(ItemBody))
async def put_item(item: str, request: Request) -> dict[str, Any]:
    """New, or in place of the one with the same id. Live at once."""
    _, engine, catalog = _writable(request)
    check_name("path.item", item)
    body = decode(ItemBody, await request.body())
    key = id_of(item, catalog)
    created = catalog.row(key) is None
    version = await engine.do(engine.put_catalog(catalog_of([(key, body)], catalog)))
    return {"id": key, "created": created, "version": version}


@routes.patch(
    "/catalog/items/{item:path}", tags=["catalog"], summary="Change parts of an item", openapi_extra=takes(ItemPatch)
)
async def patch_item(item: str, request: Request) -> dict[str, Any]:
    """What is not named stays; a topic set to 0 is dropped. Live at once."""
    _, engine, catalog = _writable(request)
    check_name("path.item", item)
    patch = decode(ItemPatch, await request.body())
    _row(catalog, item)
    key = id_of(item, catalog)
    patched(catalog, key, patch)  # raises what is wrong with it
    version = await engine.do(engine.patch_item(key, _plain(patch)))
    return {"id": key, "created": False, "version": version}


@routes.delete("/catalog/items/{item:path}", tags=["catalog"], summary="Withdraw an item")
async def delete_item(item: str, request: Request) -> dict[str, Any]:
    """Gone at once; feedback on lists that showed it is still learned."""
    _, engine, catalog = _writable(request)
    check_name("path.item", item)
    _row(catalog, item)
    key = id_of(item, catalog)
    _check_some_stay(catalog, [key])
    return {"id": key, "version": await engine.do(engine.put_catalog(None, [key]))}


def _check_some_stay(catalog: Catalog, gone: list[Any], put: Catalog | None = None) -> None:
    left = set(catalog.ids) | set(() if put is None else put.ids)
    if gone and not left - set(gone):
        raise ConflictError("a catalog cannot be without items; put others first")


@routes.post(
    "/catalog/bulk",
    tags=["catalog"],
    summary="Put many items",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/x-ndjson": {"schema": {"type": "string"}},
                "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
            },
        }
    },
)
async def bulk(request: Request) -> dict[str, Any]:
    """All or nothing. NDJSON: a line is an item, or ``{"id": ..., "delete": true}``. Parquet: as Rankfall writes it."""
    _, engine, catalog = _writable(request)
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    body = await request.body()
    if kind == "application/x-ndjson":
        given, gone = await asyncio.to_thread(_lines, body, catalog)
    elif kind == "application/vnd.apache.parquet":
        given, gone = await asyncio.to_thread(_parquet, body, catalog), []
    else:
        raise InvalidError(
            "send application/x-ndjson or application/vnd.apache.parquet", code="unsupported", status=415
        )
    _check_some_stay(catalog, gone, given)
    created = sum(item not in catalog for item in given.ids)
    version = await engine.do(engine.put_catalog(given if len(given) else None, gone))
    return {"put": len(given), "created": created, "deleted": len(gone), "version": version}


class _Line(msgspec.Struct):
    delete: Any = False


class _Deletion(msgspec.Struct):
    id: int | str


def _lines(body: bytes, catalog: Catalog) -> tuple[Catalog, list[Any]]:
    put: dict[Any, ItemBody] = {}
    gone = []
    for number, line in enumerate(body.splitlines(), 1):
        if not line.strip():
            continue
        root = f"line {number}"
        try:
            if b'"delete"' in line and decode(_Line, line, root).delete is True:
                deleted = decode(_Deletion, line, root).id
                if deleted in catalog:  # gone already is as good: a retry must not fail
                    gone.append(deleted)
                continue
            item = decode(BulkItem, line, root)
        except InvalidError as problem:
            raise CatalogError(problem.message) from None
        if item.id in put:
            raise CatalogError(f"line {number}: id {item.id!r} is there twice")
        put[item.id] = item
    return catalog_of(put.items(), catalog), gone


def _parquet(body: bytes, catalog: Catalog) -> Catalog:
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(body)
        file.flush()
        try:
            return fitting(Catalog.read_parquet(file.name), catalog)
        except RankfallError as problem:
            raise CatalogError(str(problem).replace(file.name, "the body")) from None


# Models


def _model(request: Request, name: str, right: str) -> tuple[Engine, Model]:
    service = service_of(request)
    check_model_name(name)
    service.need(request, right, name)
    return service.running, service.model(name)


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain


def _named(model: Model) -> dict[str, Any]:
    return {"name": model.name, **_plain(model.settings)}


@routes.get("/models", tags=["models"], summary="List models")
async def models(request: Request) -> dict[str, Any]:
    """The models this key may know of."""
    service = service_of(request)
    grant = service.grant(request)
    return {"models": [_named(m) for name, m in sorted(service.running.models.items()) if grant.may_any(name)]}


@routes.put(
    "/models/{model}",
    tags=["models"],
    summary="Create a model",
    responses={201: {"description": "created"}},
    openapi_extra=takes(ModelSettings),
)
async def create(model: str, request: Request, response: Response) -> dict[str, Any]:
    """201 if it was made now, 200 if it is there with these settings, 409 if with others."""
    service = service_of(request)
    service.need(request, "admin", model)
    check_model_name(model)
    settings = decode(ModelSettings, await request.body())
    engine = service.running
    await asyncio.to_thread(policy_of, settings, _catalog(engine))  # raises what the catalog cannot give
    if await engine.do(engine.create(model, settings)):
        response.status_code = 201
    return {"name": model, **_plain(settings)}


@routes.patch("/models/{model}", tags=["models"], summary="Change a model", openapi_extra=takes(ModelChanges))
async def change(model: str, request: Request) -> dict[str, Any]:
    """Only what is named changes. What was learned stays."""
    engine, found = _model(request, model, "admin")
    named = _plain(decode(ModelChanges, await request.body()))
    await asyncio.to_thread(changed, found.settings, named, _catalog(engine))  # raises what does not fit
    await engine.do(engine.change(found, named))
    return _named(engine.model(model))


@routes.get("/models/{model}", tags=["models"], summary="What a model is and knows")
async def read(model: str, request: Request, user: Who = None, segment: Who = None) -> dict[str, Any]:
    """Settings, counts, and the weights with their uncertainty; for keyed models those of a user or segment."""
    service = service_of(request)
    if not service.grant(request).may("admin", model):
        service.need(request, "rank", model)
    check_name("query.user", user)
    check_name("query.segment", segment)
    engine = service.running
    found = service.model(model)
    key = found.key(user, segment)
    held = None if key is None else await engine.state(found, key)
    counts = found.tally.counts
    answered, clicked, expired = (sum(arm[i] for arm in counts.values()) for i in range(3))
    return {
        "name": model,
        "settings": _plain(found.settings),
        "version": engine.position.seq if held is None else held.position.seq,
        "learned": None if held is None else held.policy.n_updates,
        "created_at": iso(found.created),
        "weights": [] if held is None else [one._asdict() for one in held.policy.summary()],
        "counts": {
            "ranked": await asyncio.to_thread(engine.store.ranked, model),
            "answered": answered,
            "clicked": clicked,
            "no_click": answered - clicked,
            "expired": expired,
        },
        "arms": {arm: {"answered": a, "clicked": c, "rate": c / a if a else None} for arm, (a, c, _) in counts.items()},
    }


@routes.get("/models/{model}/history", tags=["models"], summary="How a model did over time")
async def history(model: str, request: Request, hours: Annotated[float, Query(gt=0, le=720)] = 3.0) -> dict[str, Any]:
    """Answers and clicks for each arm: every ten seconds up to half an hour, every minute up to six, then hourly."""
    service = service_of(request)
    if not service.grant(request).may("admin", model):
        service.need(request, "rank", model)
    engine = service.running
    width, buckets = service.model(model).tally.history(hours, engine.clock())
    shown = []
    for start, arms in buckets:
        lists = sum(cell[0] for cell in arms.values())
        shown.append(
            {
                "start": iso(start),
                "arms": {arm: {"answered": cell[0], "clicked": cell[1]} for arm, cell in arms.items()},
                "covered": sum(cell[2] for cell in arms.values()) / lists if lists else None,
            }
        )
    return {"bucket_seconds": width, "buckets": shown}


@routes.post("/models/{model}/reset", tags=["models"], summary="Unlearn everything")
async def reset(model: str, request: Request) -> dict[str, Any]:
    """The log stays, so a snapshot made before can be restored."""
    engine, found = _model(request, model, "admin")
    return {"version": await engine.do(engine.reset(found))}


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "id": snapshot.id,
        "name": snapshot.name,
        "version": snapshot.position.seq,
        "created_at": iso(snapshot.at),
    }


@routes.post("/models/{model}/snapshots", tags=["models"], status_code=201, summary="Make a snapshot")
async def make_snapshot(model: str, request: Request) -> dict[str, Any]:
    """A name for the state as it is now."""
    engine, found = _model(request, model, "admin")
    body = await request.body()
    name = decode(SnapshotRequest, body).name if body else ""
    if found.settings.scope == "global":
        await engine.state(found, "")
    return _snapshot(await engine.do(engine.snapshot(found, name)))


@routes.get("/models/{model}/snapshots", tags=["models"], summary="List snapshots")
async def snapshots(model: str, request: Request) -> dict[str, Any]:
    """Oldest first."""
    engine, found = _model(request, model, "admin")
    return {"snapshots": [_snapshot(one) for one in await asyncio.to_thread(engine.store.snapshots, found.name)]}


@routes.post("/models/{model}/snapshots/{snapshot}/restore", tags=["models"], summary="Go back to a snapshot")
async def restore(model: str, snapshot: str, request: Request) -> dict[str, Any]:
    """Every state of the model is again what it was; the log stays."""
    engine, found = _model(request, model, "admin")
    check_name("path.snapshot", snapshot)
    source = await asyncio.to_thread(engine.find_snapshot, found, snapshot)
    return {"version": await engine.do(engine.restore(found, source))}


@routes.get(
    "/models/{model}/snapshots/{snapshot}/download",
    tags=["models"],
    summary="Download a snapshot",
    response_class=FileResponse,
)
async def download(model: str, snapshot: str, request: Request, user: Who = None, segment: Who = None) -> FileResponse:
    """A file that ``rankfall.load`` reads."""
    engine, found = _model(request, model, "admin")
    check_name("path.snapshot", snapshot)
    source = await asyncio.to_thread(engine.find_snapshot, found, snapshot)
    key = engine.key(found, user, segment)
    with tempfile.NamedTemporaryFile(suffix=".rankfall", delete=False) as file:
        path = Path(file.name)
    try:
        await asyncio.to_thread(engine.save_state, found, key, source.position, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return FileResponse(
        path,
        media_type="application/octet-stream",
        filename=f"{model}-{snapshot}.rankfall",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


@routes.delete("/users/{user:path}", tags=["users"], summary="Forget a user")
async def forget(user: str, request: Request) -> dict[str, Any]:
    """Removes the states and lists of models of scope user, and the name from all other lists."""
    _, engine, _ = _writable(request)
    check_name("path.user", user)
    states, removed, named = await engine.do(engine.forget(user))
    return {"user": user, "models": states, "events_removed": removed, "events_anonymised": named}
