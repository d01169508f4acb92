"""The calls that look after the catalog, the models and the service itself."""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rankfall.client.answers import Id, Json
from rankfall.client.encoding import body, given, lines, path, query
from rankfall.client.exchange import AGAIN, NO_ANSWER, Call, Reply
from rankfall.errors import FileError

T = TypeVar("T")


def catalog() -> Call[Json]:
    """How many items, topics and features the catalog has, and its version.

    Returns
    -------
    dict
        ``items``, ``topics``, ``features``, ``ids`` (``"string"`` or ``"integer"``), ``titles``, ``version``.
    """
    return Call("GET", "/v1/catalog", Reply.json)


def page(after: str | None, size: int) -> Call[tuple[list[Json], str | None]]:
    """One page of the catalog's items, and where the next one starts; ``items`` turns them."""

    def read(reply: Reply) -> tuple[list[Json], str | None]:
        answer = reply.json()
        return list(answer["items"]), answer["next"]

    return Call("GET", "/v1/catalog/items", read, params=query(after=after, limit=size))


def item(id: Id) -> Call[Json]:  # noqa: A002 - what the service calls it
    """One item: ``id``, ``title`` if there are titles, ``coverage`` by topic, ``relevance``."""
    return Call("GET", path("catalog", "items", id), Reply.json)


def put_item(
    id: Id,  # noqa: A002
    *,
    coverage: Mapping[str, float],
    relevance: Sequence[float],
    title: str | None = None,
) -> Call[Json]:
    """Add an item, or replace it.

    Returns
    -------
    dict
        ``id``, ``created``, ``version``. If an answer was lost and the client asked again, ``created`` is about the
        last attempt.

    Examples
    --------
    >>> put_item("AC/DC", coverage={"rock": 1.0}, relevance=[0.3]).path
    '/v1/catalog/items/AC%2FDC'
    """
    content = body(given(title=title, coverage=coverage, relevance=relevance))
    return Call("PUT", path("catalog", "items", id), Reply.json, content=content)


def patch_item(
    id: Id,  # noqa: A002
    *,
    coverage: Mapping[str, float] | None = None,
    relevance: Sequence[float] | None = None,
    title: str | None = None,
) -> Call[Json]:
    """Change parts of an item; what is not given stays.

    ``coverage`` is merged by topic; a topic set to 0 is dropped.

    Returns
    -------
    dict
        ``id``, ``created`` (false), ``version``.
    """
    content = body(given(title=title, coverage=coverage, relevance=relevance))
    return Call("PATCH", path("catalog", "items", id), Reply.json, content=content)


def delete_item(id: Id) -> Call[Json]:  # noqa: A002
    """Remove an item from the catalog.

    Returns
    -------
    dict
        ``id``, ``version``. If an answer was lost, and the next attempt finds the item gone, it was most likely this
        call that removed it: no error then, but ``version`` is None.
    """

    def read(reply: Reply) -> Json:
        if reply.status != 404:
            return dict(reply.json())
        if reply.repeated:
            return {"id": id, "version": None}
        raise reply.error()

    return Call("DELETE", path("catalog", "items", id), read, understands=frozenset({404}))


def put_items(items: Iterable[Mapping[str, Any]]) -> Call[Json]:
    r"""Add or replace many items, all or nothing.

    Parameters
    ----------
    items
        Mappings with ``id``, ``coverage``, ``relevance`` and perhaps ``title``; or ``{"id": ..., "delete": True}``.

    Returns
    -------
    dict
        ``put``, ``created``, ``deleted``, ``version``.

    Examples
    --------
    >>> put_items([{"id": 1, "coverage": {"jazz": 1.0}, "relevance": []}, {"id": 2, "delete": True}]).content
    b'{"id":1,"coverage":{"jazz":1.0},"relevance":[]}\n{"id":2,"delete":true}\n'
    """
    return _bulk(lines(items), "application/x-ndjson")


def put_catalog(source: str | Path) -> Call[Json]:
    """Add or replace the items in a Parquet file, as ``Catalog.write_parquet`` makes it; all or nothing.

    Returns
    -------
    dict
        ``put``, ``created``, ``deleted``, ``version``.
    """
    try:
        content = Path(source).read_bytes()
    except OSError as problem:
        raise FileError(f"cannot read {source}: {problem}") from problem
    return _bulk(content, "application/vnd.apache.parquet")


def models() -> Call[list[Json]]:
    """All models, each with ``name`` and its settings."""
    return Call("GET", "/v1/models", lambda reply: list(reply.json()["models"]))


def create_model(model: str, /, **settings: Any) -> Call[Json]:
    """Make a model; settings not given have the service's defaults.

    Making it again with the same settings changes nothing; with others it is a `ConflictError`.

    Examples
    --------
    >>> create_model("news", k=5, forgetting={"discount": 0.99}).content
    b'{"k":5,"forgetting":{"discount":0.99}}'
    """
    return Call("PUT", path("models", model), Reply.json, content=body(settings))


def model(model: str = "default", *, user: str | None = None, segment: str | None = None) -> Call[Json]:
    """Settings, version, learned weights and counts of a model, for one user or segment if it has many states."""
    return Call("GET", path("models", model), Reply.json, params=query(user=user, segment=segment))


def change_model(model: str, /, **settings: Any) -> Call[Json]:
    """Change settings of a model; what it has learned stays.

    Examples
    --------
    >>> change_model("default", gamma=0.5).method
    'PATCH'
    """
    return Call("PATCH", path("models", model), Reply.json, content=body(settings))


def reset_model(model: str) -> Call[int]:
    """Make a model forget everything; its new version.

    Asked again only if the service cannot have heard it: a second reset would forget what came in between.
    """
    return Call("POST", path("models", model, "reset"), _version, repeatable=False)


def history(model: str = "default", *, hours: float | None = None) -> Call[Json]:
    """What came of a model's lists over the last hours, in buckets of time."""
    return Call("GET", path("models", model, "history"), Reply.json, params=query(hours=hours))


def snapshots(model: str = "default") -> Call[list[Json]]:
    """A model's snapshots: ``id``, ``name``, ``version``, ``created_at``."""
    return Call("GET", path("models", model, "snapshots"), lambda reply: list(reply.json()["snapshots"]))


def make_snapshot(model: str = "default", *, name: str | None = None) -> Call[Json]:
    """Keep what a model knows now. Asked again only if the service cannot have heard it.

    Returns
    -------
    dict
        ``id``, ``name``, ``version``, ``created_at``.
    """
    content = body(given(name=name))
    return Call("POST", path("models", model, "snapshots"), Reply.json, content=content, repeatable=False)


def restore_snapshot(model: str, snapshot: Id) -> Call[int]:
    """Take a model back to a snapshot; its new version.

    Asked again only if the service cannot have heard it: a second time would undo what was learned in between.
    """
    return Call("POST", path("models", model, "snapshots", snapshot, "restore"), _version, repeatable=False)


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


def event(event_id: str) -> Call[Json]:
    """What the service has stored about one list that it made."""
    return Call("GET", path("events", event_id), Reply.json)


def forget_user(user: str) -> Call[Json]:
    """Remove everything known about a user.

    Returns
    -------
    dict
        ``user``, ``models`` (states dropped), ``events_removed``, ``events_anonymised``. If an answer was lost and the
        client asked again, the counts are those of the last attempt.

    Examples
    --------
    >>> forget_user("ann@example.org").path
    '/v1/users/ann%40example.org'
    """
    return Call("DELETE", path("users", user), Reply.json)


def ready() -> Call[bool]:
    """Whether the service is there and can rank; asked once, and false if nobody answers."""
    return Call("GET", "/health/ready", lambda reply: reply.status == 200, understands=AGAIN | {NO_ANSWER})


def metrics() -> Call[str]:
    """The service's metrics, in Prometheus' text format."""
    return Call("GET", "/metrics", lambda reply: reply.body.decode())


def _bulk(content: bytes, media: str) -> Call[Json]:
    return Call("POST", "/v1/catalog/bulk", Reply.json, content=content, media=media)


def _version(reply: Reply) -> int:
    return int(reply.json()["version"])


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
