"""Snapshots: names that people give to what a model knows at a moment."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from rankfall.wire.fields import LONGEST_NAME, Request, Response, check_printable


class SnapshotRequest(Request, frozen=True):
    """What to call a snapshot."""

    name: Annotated[str, Meta(max_length=LONGEST_NAME)] = ""

    def __post_init__(self) -> None:
        check_printable("name", self.name)


class SnapshotResponse(Response, frozen=True):
    """A snapshot; ``version`` is that of the model when it was taken."""

    id: str
    name: str
    version: int
    created_at: datetime


class SnapshotsResponse(Response, frozen=True):
    """The snapshots of a model, oldest first."""

    snapshots: list[SnapshotResponse]
