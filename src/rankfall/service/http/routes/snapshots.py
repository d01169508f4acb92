"""Snapshots of models."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from rankfall.service.commands import Restore, TakeSnapshot
from rankfall.service.engine import Engine, owner_of
from rankfall.service.events import moment
from rankfall.service.http.app_state import state_of
from rankfall.service.http.auth import on_model
from rankfall.service.http.bodies import body_of, json_response, read_json
from rankfall.service.http.operations import Operations
from rankfall.service.http.parameters import path_name, read_query
from rankfall.service.model import Model
from rankfall.stores import Snapshot
from rankfall.wire import OwnerQuery, SnapshotRequest, SnapshotResponse, SnapshotsResponse, VersionResponse

operations = Operations("models")
_SNAPSHOTS = "/v1/models/{model}/snapshots"
_FILE = "application/octet-stream"


@operations.add(
    "POST",
    _SNAPSHOTS,
    "Make a snapshot",
    needs=on_model("admin"),
    takes=(SnapshotRequest,),
    body_required=False,
    gives=SnapshotResponse,
    statuses={201: "made"},
)
async def make_snapshot(request: Request) -> Response:
    """Give a name to the state as it is now."""
    engine, model = _named(request)
    empty = body_of(request) in (b"", b"null")
    name = "" if empty else read_json(request, SnapshotRequest).name
    if model.settings.scope == "global":
        await engine.view(model, "")
    return json_response(_shown(await engine.writer.submit(TakeSnapshot(model.name, name))), 201)


@operations.add("GET", _SNAPSHOTS, "List snapshots", needs=on_model("admin"), gives=SnapshotsResponse)
async def snapshots(request: Request) -> Response:
    """Give the snapshots of the model, oldest first."""
    engine, model = _named(request)
    found = await asyncio.to_thread(engine.reader.snapshots, model.name)
    return json_response(SnapshotsResponse([_shown(one) for one in found]))


@operations.add(
    "POST",
    _SNAPSHOTS + "/{snapshot}/restore",
    "Go back to a snapshot",
    needs=on_model("admin"),
    gives=VersionResponse,
)
async def restore_snapshot(request: Request) -> Response:
    """Make every state of the model what it was; the log stays."""
    engine, model = _named(request)
    source = await asyncio.to_thread(engine.find_snapshot, model.name, path_name(request, "snapshot"))
    return json_response(VersionResponse(await engine.writer.submit(Restore(source))))


@operations.add(
    "GET",
    _SNAPSHOTS + "/{snapshot}/download",
    "Download a snapshot",
    needs=on_model("admin"),
    query=OwnerQuery,
    gives_media=_FILE,
)
async def download_snapshot(request: Request) -> Response:
    """Give a file that ``rankfall.load`` reads."""
    engine, model = _named(request)
    name, query = path_name(request, "snapshot"), read_query(request, OwnerQuery)
    source = await asyncio.to_thread(engine.find_snapshot, model.name, name)
    owner = owner_of(model, query.user, query.segment)
    with tempfile.NamedTemporaryFile(suffix=".rankfall", delete=False) as file:
        path = Path(file.name)
    try:
        await asyncio.to_thread(engine.save_policy, model, owner, path, source.position)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return FileResponse(
        path,
        media_type=_FILE,
        filename=f"{model.name}-{name}.rankfall",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


def _named(request: Request) -> tuple[Engine, Model]:
    state = state_of(request)
    return state.engine, state.model(path_name(request, "model"))


def _shown(snapshot: Snapshot) -> SnapshotResponse:
    return SnapshotResponse(snapshot.id, snapshot.name, snapshot.position, moment(snapshot.at))
