"""The catalog over HTTP: items one by one, many at once, while lists are made; ids of either kind."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from served import ITEM, JSON, NDJSON, PARQUET, Served, both_stores, feed, ids, problem, rank, serve

import rankfall


def test_the_catalog(api: httpx.Client) -> None:
    known = api.get("/v1/catalog").json()
    assert known["topics"] == ["comedy", "drama", "horror", "science fiction"]
    assert (known["features"], known["ids"], known["titles"]) == (3, "string", True)
    found, after = [], None
    while True:
        page = api.get("/v1/catalog/items", params={"limit": 5, **({"after": after} if after else {})}).json()
        found += page["items"]
        after = page["next"]
        if after is None:
            break
    assert len({item["id"] for item in found}) == len(found) == known["items"]
    assert api.get(f"/v1/catalog/items/{found[3]['id']}").json() == found[3]
    problem(api.get("/v1/catalog/items?after=none"), 404, "not_found")


@both_stores
def test_changes_of_the_catalog_are_live_at_once(api: httpx.Client, model: str) -> None:
    version = api.get("/v1/catalog").json()["version"]
    path = "/v1/catalog/items/a%2Fnew%20one%3F"
    best = {"title": "New", "coverage": {"comedy": 1.0, "drama": 1.0}, "relevance": [9.0, 9.0, 9.0]}
    made = api.put(path, json=best).json()
    assert (made["id"], made["created"]) == ("a/new one?", True)
    assert made["version"] > version
    answer = rank(api, model)
    assert answer["items"][0]["id"] == "a/new one?"
    assert answer["items"][0]["title"] == "New"
    assert api.put(path, json=best).json()["created"] is False
    changed = api.patch(path, json={"coverage": {"comedy": 0, "horror": 0.5}, "title": "Newer"}).json()
    assert changed["created"] is False
    assert api.get(path).json() == {
        "id": "a/new one?",
        "title": "Newer",
        "coverage": {"drama": 1.0, "horror": 0.5},
        "relevance": [9.0, 9.0, 9.0],
    }
    assert "opera" in problem(api.patch(path, json={"coverage": {"opera": 1}}), 422, "invalid")
    assert api.delete(path).json()["version"] > changed["version"]
    problem(api.get(path), 404, "not_found")
    later = rank(api, model)
    assert "a/new one?" not in ids(later)
    assert feed(api, answer["event_id"], "a/new one?")["accepted"] == 1  # learned with the features as shown
    assert api.get(f"/v1/models/{model}").json()["learned"] == 1
    assert rank(api, model, candidates=["a/new one?", "item-1"])["unknown"] == ["a/new one?"]


@both_stores
def test_bulk_is_all_or_nothing(api: httpx.Client) -> None:
    def lines(*entries: Any) -> bytes:
        return "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in entries).encode()

    before = api.get("/v1/catalog").json()
    one, two = {"id": "bulk-1", **ITEM}, {"id": "bulk-2", "title": "Two", **ITEM}
    for wrong in (
        {"id": "bulk-3", "coverage": {"opera": 1}, "relevance": [0, 0, 0]},
        {"id": [], "delete": True},
        {"id": True, "delete": True},
        {"delete": True},
        {"id": "bulk-1", **ITEM},
        {"id": 7, **ITEM},
        "nonsense",
        "[" * 5000,
        "NaN",
        "[]",
    ):
        assert problem(api.post("/v1/catalog/bulk", content=lines(one, wrong), headers=NDJSON), 422, "invalid")
    assert api.get("/v1/catalog").json() == before
    done = api.post("/v1/catalog/bulk", content=lines(one, "", two), headers=NDJSON).json()
    assert {**done, "version": 0} == {"put": 2, "created": 2, "deleted": 0, "version": 0}
    done = api.post(
        "/v1/catalog/bulk",
        content=lines({**one, "title": "One"}, {"id": "bulk-2", "delete": True}, {"id": "gone", "delete": True}),
        headers=NDJSON,
    ).json()
    assert (done["put"], done["created"], done["deleted"]) == (1, 0, 1)
    assert api.get("/v1/catalog/items/bulk-1").json()["title"] == "One"
    problem(api.get("/v1/catalog/items/bulk-2"), 404, "not_found")
    assert api.delete("/v1/catalog/items/bulk-1").status_code == 200
    problem(api.post("/v1/catalog/bulk", content=b"{}", headers=JSON), 415, "unsupported")
    everything = [item["id"] for item in api.get("/v1/catalog/items?limit=1000").json()["items"]]
    gone = lines(*({"id": name, "delete": True} for name in everything))
    problem(api.post("/v1/catalog/bulk", content=gone, headers=NDJSON), 409, "conflict")
    assert api.get("/v1/catalog").json()["items"] == before["items"]


def test_bulk_takes_parquet(api: httpx.Client, tmp_path: Path) -> None:
    before = api.get("/v1/catalog").json()
    topics, path = before["topics"], tmp_path / "more.parquet"

    def write(ids: list[Any], features: int = 3, title: str = "T", topics: list[str] = topics) -> bytes:
        rows = len(ids)
        rankfall.Catalog(
            np.full((rows, len(topics)), 0.5),
            np.zeros((rows, features)),
            ids=ids,
            titles=[title] * rows,
            topics=topics,
        ).write_parquet(path)
        return path.read_bytes()

    for wrong in (
        write([1, 2]),
        write(["a", "b"], features=2),
        write(["a", "b"], topics=[*topics[:-1], "opera"]),
        write(["a", "new\nline"]),
        write(["a", "b" * 201]),
        write(["a"], title="t" * 1001),
        write(["a", "b"])[:-20],
        b"PAR1 nonsense",
        b"",
    ):
        message = problem(api.post("/v1/catalog/bulk", content=wrong, headers=PARQUET), 422, "invalid")
        assert "/tmp" not in message
    assert api.get("/v1/catalog").json() == before
    done = api.post("/v1/catalog/bulk", content=write(["p1", "p2"]), headers=PARQUET).json()
    assert (done["put"], done["created"], done["deleted"]) == (2, 2, 0)
    assert api.get("/v1/catalog/items?limit=1000").status_code == 200
    for name in ("p1", "p2"):
        assert api.delete(f"/v1/catalog/items/{name}").status_code == 200


@pytest.mark.stress
def test_concurrent_changes_while_ranking(api: httpx.Client, model: str, item: str) -> None:
    """Items come and go while lists are made: each list names the items whose features it was made with."""

    def change(n: int) -> None:
        path = f"/v1/catalog/items/churn-{n % 3}"
        assert api.put(path, json=ITEM).status_code == 200
        assert api.delete(path).status_code in (200, 404)

    def ask(_: int) -> None:
        answer = rank(api, model, k=4, explain=True)
        for one in answer["items"]:
            assert one["title"] in (one["id"], f"Title {one['id'][5:]}")
        assert feed(api, answer["event_id"], 1)["accepted"] == 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: change(n) if n % 2 else ask(n), range(60)))
    assert api.get(f"/v1/models/{model}").json()["learned"] == 30
    for n in range(3):
        api.delete(f"/v1/catalog/items/churn-{n}")


def test_items_without_features(tmp_path: Path) -> None:
    """An engineer with ids and clicks and nothing else."""
    path = tmp_path / "items.csv"
    path.write_text("id,name\n1,one\n2,two\n3,three\n")
    done = serve("--data", str(tmp_path / "data"), "--catalog", str(path))
    said = " ".join((done.stdout + done.stderr).split())
    assert "CascadeHybrid needs topics or relevance features" in said
    assert "CascadeTS learns from ids alone" in said
    options = {"policy": "CascadeSWUCB", "forgetting": "window=50", "title": "name"}
    with Served(log=tmp_path / "log", data=tmp_path / "data", catalog=path, **options) as served:
        api = served.client
        answer = rank(api, "default", k=2)
        assert [item["title"] for item in answer["items"]] == ["one", "two"]
        assert feed(api, answer["event_id"], {"id": 2})["accepted"] == 1
        assert ids(rank(api, "default", k=3)) == [3, 2, 1]
        assert api.put("/v1/catalog/items/4", json={"title": "four"}).json()["id"] == 4
        assert ids(rank(api, "default", k=4))[:2] == [3, 4]


def test_whole_numbers_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "catalog.parquet"
    rankfall.Catalog(np.eye(3), np.zeros((3, 1)), ids=[10, 20, 30], topics=["a", "b", "c"]).write_parquet(path)
    with Served(log=tmp_path / "log", data=tmp_path / "data", catalog=path) as served:
        api = served.client
        assert api.get("/v1/catalog").json()["ids"] == "integer"
        answer = rank(api, "default", candidates=[10, 30, 40, "30"])
        assert sorted(ids(answer)) == [10, 30]
        assert answer["unknown"] == [40, "30"]
        assert "title" not in answer["items"][0]
        assert feed(api, answer["event_id"], 30)["rejected"] == 1  # a number is a position
        assert feed(api, answer["event_id"], "30")["rejected"] == 1
        assert feed(api, answer["event_id"], {"id": 30})["accepted"] == 1
        item = {"coverage": {}, "relevance": [0.5]}
        assert api.put("/v1/catalog/items/40", json=item).json()["id"] == 40
        assert api.get("/v1/catalog/items?after=20").json()["items"][0]["id"] == 30
        for wrong in ("x", "1_0", "+5", "05", "%20" + "5", "٣", "9" * 30):
            problem(api.put(f"/v1/catalog/items/{wrong}", json=item), 422, "invalid")
            problem(api.get(f"/v1/catalog/items/{wrong}"), 404, "not_found")
        for name in (10, 20, 30):
            assert api.delete(f"/v1/catalog/items/{name}").status_code == 200
        problem(api.delete("/v1/catalog/items/40"), 409, "conflict")
        lines = b'{"id": 40, "delete": true}\n' + json.dumps({"id": 50, **item}).encode()
        assert api.post("/v1/catalog/bulk", content=lines, headers=NDJSON).status_code == 200
        assert api.get("/v1/catalog").json()["ids"] == "integer"


@both_stores
def test_a_title_may_have_any_character(api: httpx.Client, model: str, item: str) -> None:
    assert api.put(f"/v1/catalog/items/{item}", json={**ITEM, "title": "a\0b"}).status_code == 200
    assert "a\0b" in {one["title"] for one in rank(api, model, k=20)["items"]}
