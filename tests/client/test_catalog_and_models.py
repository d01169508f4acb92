"""Items, models and snapshots through the clients: what each call sends, and what comes of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from unreliable_service import Service

from rankfall.client import (
    InvalidError,
    NotFoundError,
)
from rankfall.errors import FileError
from rankfall.wire import Item

pytestmark = pytest.mark.stress


@pytest.mark.parametrize("item", ["a/b", "crème brûlée", "100%", "%2F", "..", ".", "a?b#c", "日本", "x;y", 7])
def test_ids_in_paths_arrive_as_they_are(client: Any, service: Service, item: str | int) -> None:
    client.put_item(item, coverage={"t": 1.0}, relevance=[0.5], title="T")
    assert list(service.items) == [str(item)]
    assert client.patch_item(item, relevance=[0.25]).version == 4
    assert client.item(item) == Item(str(item), {"t": 1.0}, [0.25], "T")
    assert client.delete_item(item).version == 3
    with pytest.raises(NotFoundError):
        client.item(item)


def test_an_empty_id_is_not_a_path(client: Any, service: Service) -> None:
    for call in (client.delete_item, client.forget_user, client.activate, client.item):
        with pytest.raises(InvalidError, match="empty"):
            call("")
    assert service.seen == []


def test_pages_are_turned_when_needed(client: Any, service: Service) -> None:
    items = client.items(page_size=2)
    assert service.seen == []
    assert [next(items).id, next(items).id] == [0, 1]
    assert len(service.seen) == 1
    assert [item.id for item in items] == [2, 3, 4]
    assert len(service.seen) == 3


def test_numpy_is_understood(client: Any, service: Service) -> None:
    import numpy as np

    client.put_item("x", coverage={"t": np.float32(0.5)}, relevance=np.array([0.5, 1.0]))
    assert service.items["x"] == {"coverage": {"t": 0.5}, "relevance": [0.5, 1.0]}
    client.feedback("event-0", clicked=np.int64(7))
    assert service.learned["event-0"] == {"id": 7}
    with pytest.raises(InvalidError, match="cannot be sent as JSON"):
        client.put_item("x", coverage={"t": float("nan")}, relevance=[])
    with pytest.raises(InvalidError, match="cannot be sent as JSON"):
        client.put_item("x", coverage={"t": object()}, relevance=[])


def test_many_items_as_lines_or_as_a_file(client: Any, service: Service, tmp_path: Path) -> None:
    items = [{"id": n, "coverage": {"t": 1}, "relevance": []} for n in range(3)]
    assert client.put_items(iter(items)).put == 3
    assert [json.loads(line) for line in service.seen[0][2].splitlines()] == items
    assert service.headers[0]["content-type"] == "application/x-ndjson"
    (tmp_path / "items.parquet").write_bytes(b"PAR1")
    client.put_catalog(tmp_path / "items.parquet")
    assert service.seen[1][2] == b"PAR1"
    assert service.headers[1]["content-type"] == "application/vnd.apache.parquet"
    with pytest.raises(FileError, match=r"nothing\.parquet"):
        client.put_catalog(tmp_path / "nothing.parquet")


def test_a_snapshot_becomes_a_file_or_nothing(client: Any, service: Service, tmp_path: Path) -> None:
    target = tmp_path / "model.npz"
    service.trouble.append("404")
    with pytest.raises(NotFoundError):
        client.download_snapshot("default", "s1", target)
    assert list(tmp_path.iterdir()) == []
    assert client.download_snapshot("default", "s1", target, user="ann") == target
    assert service.seen[-1][1] == "/v1/models/default/snapshots/s1/download"
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == b"\x00learned"
    with pytest.raises(FileError, match="cannot write"):
        client.download_snapshot("default", "s1", tmp_path / "no" / "model.npz")


@pytest.mark.parametrize(
    ("name", "args", "options", "method", "path", "sent"),
    [
        ("catalog", [], {}, "GET", "/v1/catalog", b""),
        ("models", [], {}, "GET", "/v1/models", b""),
        (
            "create_model",
            ["m/1"],
            {"k": 5, "forgetting": None},
            "PUT",
            "/v1/models/m%2F1",
            b'{"k":5,"forgetting":null}',
        ),
        ("model", [], {"user": "ann"}, "GET", "/v1/models/default", b""),
        ("change_model", ["m"], {"gamma": 0.5}, "PATCH", "/v1/models/m", b'{"gamma":0.5}'),
        ("reset_model", ["m"], {}, "POST", "/v1/models/m/reset", b""),
        ("history", [], {"hours": 3}, "GET", "/v1/models/default/history", b""),
        ("snapshots", ["m"], {}, "GET", "/v1/models/m/snapshots", b""),
        ("make_snapshot", ["m"], {"name": "n"}, "POST", "/v1/models/m/snapshots", b'{"name":"n"}'),
        ("restore_snapshot", ["m", "s1"], {}, "POST", "/v1/models/m/snapshots/s1/restore", b""),
        ("activate", ["event-0"], {}, "POST", "/v1/events/event-0/activate", b""),
        ("event", ["event-0"], {}, "GET", "/v1/events/event-0", b""),
        ("forget_user", ["ann"], {}, "DELETE", "/v1/users/ann", b""),
        ("metrics", [], {}, "GET", "/metrics", b""),
    ],
)
def test_what_each_call_sends(
    client: Any, service: Service, name: str, args: list[Any], options: Any, method: str, path: str, sent: bytes
) -> None:
    assert getattr(client, name)(*args, **options) is not None
    assert service.seen == [(method, path, sent)]
