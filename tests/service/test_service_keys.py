"""Who may do what over HTTP, what is never told or logged, and what `rankfall serve` refuses to start with."""

import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from click.testing import CliRunner
from served import FEED, ITEM, JSON, NDJSON, PATCH, RANK, Served, problem
from waiting import PATIENCE, wait_until

from rankfall.cli import app

KEYS = {
    "all-of-it-7f3a": ('["*"]', '["rank", "feedback", "admin"]'),
    "shop-only-91bc": ('["default"]', '["rank", "feedback"]'),
    "reader-only-55d2": ('["default"]', '["rank"]'),
    "owner-of-other-e0e0": ('["other"]', '["rank", "feedback", "admin"]'),
    "ranks-them-all-17c5": ('["*"]', '["rank"]'),
}
ALL, SHOP, READER, OTHER, RANKER = KEYS
WRONG = "not-a-key-of-ours-4242"


@pytest.fixture(scope="module")
def keys_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    path.write_text(
        "\n".join(
            f'[[key]]\nname = "{key[:4]}"\nsha256 = "{hashlib.sha256(key.encode()).hexdigest()}"\n'
            f"models = {models}\nrights = {rights}"
            for key, (models, rights) in KEYS.items()
        )
    )
    return path


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, small_catalog: Path, keys_file: Path) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("guarded")
    served = Served(log=folder / "log", data=folder / "data", catalog=small_catalog, keys=keys_file)
    served.command.append("--log-requests")
    with served:
        yield served


def ask_as(served: Served, key: str | None, method: str, path: str, **options: Any) -> httpx.Response:
    headers = {**options.pop("headers", {}), **({} if key is None else {"X-API-Key": key})}
    return served.client.request(method, path, headers=headers, **options)


EVERYTHING = [
    ("POST", RANK, {"json": {}}),
    ("POST", RANK, {"content": b"nonsense", "headers": JSON}),
    ("POST", "/v1/models/none/rank", {"json": {}}),
    ("POST", "/v1/rank", {"json": {"requests": [{"model": "default"}]}}),
    ("POST", FEED, {"json": {"event_id": "x", "clicked": None}}),
    ("POST", "/v1/events/x/activate", {}),
    ("GET", "/v1/events/x", {}),
    ("GET", "/v1/catalog", {}),
    ("POST", "/v1/catalog/topics", {"json": {"topics": ["new"]}}),
    ("GET", "/v1/catalog/items", {}),
    ("GET", "/v1/catalog/items/item-1", {}),
    ("GET", "/v1/catalog/items/none", {}),
    ("PUT", "/v1/catalog/items/item-1", {"json": ITEM}),
    ("PATCH", "/v1/catalog/items/item-1", {"json": {}}),
    ("DELETE", "/v1/catalog/items/item-1", {}),
    ("POST", "/v1/catalog/bulk", {"content": b"x" * (2 << 20), "headers": NDJSON}),
    ("GET", "/v1/models", {}),
    ("PUT", "/v1/models/new", {"json": {}}),
    ("GET", PATCH, {}),
    ("PATCH", PATCH, {"json": {}}),
    ("POST", "/v1/models/default/reset", {}),
    ("GET", "/v1/models/default/history", {}),
    ("POST", "/v1/models/default/snapshots", {}),
    ("GET", "/v1/models/default/snapshots", {}),
    ("POST", "/v1/models/default/snapshots/x/restore", {}),
    ("GET", "/v1/models/default/snapshots/x/download", {}),
    ("DELETE", "/v1/users/anna", {}),
    ("GET", "/metrics", {}),
]


@pytest.mark.parametrize("key", [None, "", WRONG, ALL + " x", ALL[:-1], "ä"])
def test_without_a_key_nothing_is_told(guarded: Served, key: str | None) -> None:
    told = set()
    for method, path, options in EVERYTHING:
        headers = {**options.get("headers", {}), **({} if key is None else {"X-API-Key": key.encode()})}
        try:
            answer = guarded.client.request(method, path, **{**options, "headers": headers})
        except httpx.TransportError:  # refused while we were still sending a large body
            assert path == "/v1/catalog/bulk"
            continue
        problem(answer, 401, "unauthorized")
        told.add(answer.content)
    assert len(told) == 1
    assert guarded.client.get("/health/live").status_code == 200


def test_every_route_is_in_the_list_of_guarded_ones(guarded: Served) -> None:
    listed = {(method.lower(), path.partition("?")[0]) for method, path, _ in EVERYTHING}
    for path, methods in guarded.client.get("/openapi.json").json()["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", r"[^/]+", re.escape(path))
        for method in methods:
            if not path.startswith("/health"):
                assert any(m == method and re.fullmatch(pattern, p) for m, p in listed), (method, path)


def test_rights(guarded: Served) -> None:
    def status(key: str, method: str, path: str, **options: Any) -> int:
        return ask_as(guarded, key, method, path, **options).status_code

    assert ask_as(guarded, OTHER, "PUT", "/v1/models/other", json={}).status_code == 201
    event = ask_as(guarded, SHOP, "POST", RANK, json={}).json()["event_id"]
    for key, method, path, body in [
        (SHOP, "POST", "/v1/models/other/rank", {}),
        (SHOP, "POST", "/v1/models/none/rank", {}),
        (SHOP, "PATCH", PATCH, {}),
        (SHOP, "POST", "/v1/models/default/reset", {}),
        (SHOP, "PUT", "/v1/catalog/items/item-1", ITEM),
        (SHOP, "PUT", "/v1/models/new", {}),
        (OTHER, "POST", RANK, {}),
        (OTHER, "PUT", "/v1/models/new", {}),
        (OTHER, "PUT", "/v1/catalog/items/item-1", ITEM),
    ]:
        problem(ask_as(guarded, key, method, path, json=body), 403, "forbidden")
    for key, path in [(SHOP, "/v1/users/anna"), (OTHER, "/v1/users/anna"), (OTHER, "/v1/catalog/items/item-1")]:
        assert status(key, "DELETE", path) == 403
    for key in (SHOP, OTHER):
        assert status(key, "GET", "/metrics") == 403
        assert status(key, "GET", "/v1/catalog") == 200
    assert status(READER, "GET", PATCH) == 200
    assert status(OTHER, "GET", PATCH) == 403
    assert status(OTHER, "GET", "/v1/models/other/history") == 200

    def names(key: str) -> list[str]:
        return [model["name"] for model in ask_as(guarded, key, "GET", "/v1/models").json()["models"]]

    assert names(ALL) == ["default", "other"]
    assert names(SHOP) == ["default"]
    assert names(OTHER) == ["other"]
    click = {"event_id": event, "clicked": 1}
    assert (
        status(READER, "POST", FEED, json=click)
        == status(READER, "POST", f"/v1/events/{event}/activate", json={})
        == 403
    )
    assert ask_as(guarded, OTHER, "POST", FEED, json=click).json()["unknown"] == 1  # to them there is no such list
    assert status(OTHER, "POST", f"/v1/events/{event}/activate", json={}) == 404
    for key in (READER, OTHER):
        assert status(key, "GET", f"/v1/events/{event}") == 404
    assert status(SHOP, "GET", f"/v1/events/{event}") == 404
    assert status(ALL, "GET", f"/v1/events/{event}") == 200
    assert ask_as(guarded, SHOP, "POST", FEED, json=click).json()["accepted"] == 1
    batch = {"requests": [{"model": "default"}, {"model": "other"}]}
    results = ask_as(guarded, SHOP, "POST", "/v1/rank", json=batch).json()["results"]
    assert results[0]["items"]
    assert results[1]["error"]["code"] == "forbidden"
    assert status(ALL, "GET", "/metrics") == 200


@pytest.mark.stress
def test_without_the_right_no_body_is_read(guarded: Served) -> None:
    """The body never comes: whoever waits for it waits for ever."""
    for method, path, options in EVERYTHING:
        if method in ("GET", "DELETE") or path in (RANK, "/v1/rank"):
            continue
        media = options.get("headers", JSON)["Content-Type"]
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {READER}\r\nContent-Type: {media}\r\n"
        with socket.create_connection(("127.0.0.1", guarded.port), timeout=PATIENCE) as caller:
            caller.sendall(f"{head}Content-Length: 200000000\r\n\r\n".encode())
            with caller.makefile("rb") as answer:
                assert answer.read().startswith(b"HTTP/1.1 403 "), path


def test_only_admins_read_what_a_user_likes(guarded: Served) -> None:
    for scope, query in (("user", "user=anna"), ("segment", "segment=home")):
        path = f"/v1/models/by-{scope}"
        assert ask_as(guarded, ALL, "PUT", path, json={"scope": scope}).status_code == 201
        assert ask_as(guarded, ALL, "GET", f"{path}?{query}").json()["weights"]
        assert ask_as(guarded, RANKER, "GET", path).json()["weights"] == []
        assert "'admin'" in problem(ask_as(guarded, RANKER, "GET", f"{path}?{query}"), 403, "forbidden")
    assert ask_as(guarded, RANKER, "GET", f"{PATCH}?user=anna").json()["weights"]  # of all users together


def test_with_keys_foreign_pages_are_refused_and_any_name_is_served(guarded: Served) -> None:
    named = {"Host": "shop.example"}
    assert ask_as(guarded, ALL, "GET", "/v1/models", headers=named).status_code == 200
    assert ask_as(guarded, ALL, "POST", RANK, json={}, headers={**named, "Origin": "http://shop.example"}).is_success
    for headers in ({"Origin": "https://other.example"}, {"Sec-Fetch-Site": "cross-site"}):
        problem(ask_as(guarded, ALL, "POST", RANK, json={}, headers=headers), 403, "forbidden")
    problem(ask_as(guarded, ALL, "POST", "/v1/models/default/reset"), 415, "unsupported")


@pytest.mark.stress
def test_keys_bodies_and_users_are_never_logged(guarded: Served) -> None:
    ask_as(guarded, SHOP, "POST", RANK, json={"user": "user-of-the-log"})
    ask_as(guarded, WRONG, "POST", RANK, json={"user": "user-of-the-log"})
    ask_as(guarded, ALL, "DELETE", "/v1/users/user-of-the-log")
    ask_as(guarded, ALL, "GET", "/v1/models/by-user?user=user-of-the-log")
    guarded.client.get(f"/v1/catalog?key={SHOP}")

    def requests() -> list[int]:
        lines = [json.loads(line) for line in guarded.log.read_text().splitlines() if line.startswith("{")]
        return [line["status"] for line in lines if line["message"] == "request"]

    before = len(requests())
    guarded.client.get("/v1/models/none")
    wait_until(lambda: len(requests()) > before)  # whatever was logged of the requests above is there, too
    assert 401 in requests()
    said = guarded.log.read_text()
    for word in (*KEYS, WRONG, "user-of-the-log", *(hashlib.sha256(key.encode()).hexdigest() for key in KEYS)):
        assert word not in said


# Starting


def test_what_serve_refuses(
    tmp_path: Path, small_catalog: Path, keys_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: pytest.fail("it was not refused"))
    data = ["--data", str(tmp_path / "data")]
    bad_keys = tmp_path / "bad.toml"
    bad_keys.write_text('[[key]]\nsha256 = "secret in clear"\nrights = ["rank"]')
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        catalog = ["--catalog", str(small_catalog)]
        for options, reason in [
            ([*data, "--host", "0.0.0.0", *catalog], "without --keys anybody"),
            (data, "holds no store (rankfall.sqlite is not there); give --catalog FILE"),
            ([*data, "--catalog", str(tmp_path / "none")], "none"),
            ([*data, "--keys", str(tmp_path / "none.toml")], "does not exist"),
            ([*data, "--keys", str(bad_keys)], "sha256 must be"),
            (["--store", "mysql://me:s3cr3t@db"], "no store at mysql://db"),
            (["--store", "postgresql://me:s3cr3t@127.0.0.1:1/db"], "cannot reach PostgreSQL"),
            ([*data, "--store", "postgresql://me:s3cr3t@127.0.0.1:1/db"], "give --data or --store, not both"),
            ([*data, *catalog, "--forgetting", "window=200000"], "expected `int` <= 100000, got 200000"),
            (data, "has no catalog yet"),
            ([*data, *catalog, "--policy", "CascadeDUCB"], "needs forgetting with a discount"),
            ([*data, *catalog, "--port", str(taken.getsockname()[1])], "cannot listen"),
        ]:
            with mock.patch.dict(os.environ):  # options are handed on to workers by the environment
                done = CliRunner().invoke(app, ["serve", *options])
            assert done.exit_code == (2 if "not both" in reason else 1)
            assert isinstance(done.exception, SystemExit), done.exception
            assert reason in done.output
            assert "s3cr3t" not in done.output
            assert "secret in clear" not in done.output
            assert "holds no store" not in reason or not (tmp_path / "data").exists()  # a misspelled name makes none
