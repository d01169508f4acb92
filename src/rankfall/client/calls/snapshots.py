"""Snapshots of models."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rankfall.client.call import Call
from rankfall.client.encoding import Id, body, given, path, query
from rankfall.errors import FileError
from rankfall.wire import SnapshotResponse, SnapshotsResponse, VersionResponse


def snapshots(model: str = "default") -> Call[list[SnapshotResponse]]:
    """The snapshots of a model, oldest first."""
    return Call("GET", path("models", model, "snapshots"), lambda reply: reply.read(SnapshotsResponse).snapshots)


def make_snapshot(model: str = "default", *, name: str | None = None) -> Call[SnapshotResponse]:
    """Keep what a model knows now. Asked again only if the service cannot have heard it."""
    content = body(given(name=name))
    place = path("models", model, "snapshots")
    return Call("POST", place, lambda reply: reply.read(SnapshotResponse), content=content, repeatable=False)


def restore_snapshot(model: str, snapshot: Id) -> Call[int]:
    """Take a model back to a snapshot; its new version.

    Asked again only if the service cannot have heard it: a second time would undo what was learned in between.
    """
    place = path("models", model, "snapshots", snapshot, "restore")
    return Call("POST", place, lambda reply: reply.read(VersionResponse).version, repeatable=False)


def download_snapshot(
    model: str, snapshot: Id, target: str | Path, *, user: str | None = None, segment: str | None = None
) -> Call[Path]:
    """Write a snapshot to a file that ``rankfall.load`` reads; whole, or not at all.

    Returns
    -------
    Path
        The file.
    """
    place = path("models", model, "snapshots", snapshot, "download")
    params = query(user=user, segment=segment)
    return Call("GET", place, lambda reply: _write(Path(target), reply.body), params=params)


def _write(target: Path, content: bytes) -> Path:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as problem:
        raise FileError(f"cannot write {target}: {problem}") from problem
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.replace(target)
    except OSError as problem:
        raise FileError(f"cannot write {target}: {problem}") from problem
    finally:
        temporary.unlink(missing_ok=True)
    return target
