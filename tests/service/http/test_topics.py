"""Topics added to a catalog that is served: what was learned stays, and lists of before are still learned from."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest
from in_process import service

from rankfall import Catalog
from rankfall.history.export import export
from rankfall.history.exported import Log
from rankfall.service.engine import Engine
from rankfall.stores import open_store


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    made = Catalog(rng.random((8, 2)) * 0.8, rng.normal(size=(8, 2)) * 0.5, ids=list("abcdefgh"), topics=["art", "war"])
    made.write_parquet(tmp_path / "catalog.parquet")
    return tmp_path / "catalog.parquet"


async def rank(client: httpx.AsyncClient, **asked: Any) -> dict[str, Any]:
    answer = await client.post("/v1/models/default/rank", json={"k": 4, **asked})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def click(client: httpx.AsyncClient, event: dict[str, Any], position: int | None) -> None:
    answer = await client.post("/v1/feedback", json={"event_id": event["event_id"], "clicked": position})
    assert answer.json()["accepted"] == 1, answer.text


async def weights(client: httpx.AsyncClient) -> dict[str, float]:
    told = (await client.get("/v1/models/default")).json()["weights"]
    return {one["name"]: one["weight"] for one in told}


async def history(client: httpx.AsyncClient) -> dict[str, float]:
    """Lists before and after a topic comes, feedback on both after it; the weights in the end."""
    early, late = await rank(client), await rank(client)
    await click(client, early, 2)
    added = await client.post("/v1/catalog/topics", json={"topics": ["sea", "art", "sky"]})
    assert added.json()["topics"] == ["art", "war", "sea", "sky"]
    await click(client, late, 3)
    item = {"coverage": {"sea": 0.7, "art": 0.2}, "relevance": [0.1, 0.3]}
    assert (await client.put("/v1/catalog/items/new", json=item)).status_code == 200
    with_new = await rank(client, candidates=["new", "a", "b", "c"], explain=True)
    place = next(each["position"] for each in with_new["items"] if each["id"] == "new")
    assert "sea" in with_new["items"][place - 1]["coverage"]
    await click(client, with_new, place)
    await click(client, await rank(client), None)
    return await weights(client)


def by_the_book(folder: Path, out: Path, columns: int = 6) -> np.ndarray:
    """Ridge regression in one piece on the exported lists."""
    with closing(open_store(str(folder))) as store:
        export(store, out)
    gram, moment = np.eye(columns), np.zeros(columns)
    for event in (
        pl.read_parquet(out / "events.parquet").filter(pl.col("learn"), pl.col("result").is_not_null()).to_dicts()
    ):
        phi = np.array(event["features"]).reshape(-1, event["columns"])
        assert phi.shape[1] == columns
        seen = event["clicked"][0] + 1 if event["clicked"] else len(phi)
        gram += phi[:seen].T @ phi[:seen]
        moment += phi[event["clicked"][0]] if event["clicked"] else 0.0
    return np.linalg.solve(gram, moment)


def test_what_was_learned_stays_and_old_lists_are_learned_from(tmp_path: Path, catalog: Path) -> None:
    data = tmp_path / "data"

    async def run() -> dict[str, float]:
        async with service(data, catalog) as (client, _):
            return await history(client)

    learned = asyncio.run(run())
    assert list(learned)[:4] == ["art", "war", "sea", "sky"]
    assert learned["sea"] > 0
    assert learned["sky"] == 0
    np.testing.assert_allclose(list(learned.values()), by_the_book(data, tmp_path / "out"), atol=1e-10)

    async def again() -> dict[str, float]:
        async with service(data, catalog) as (client, _):
            return await weights(client)

    assert asyncio.run(again()) == learned  # from the checkpoint
    assert _without_checkpoints(data) == learned


def _without_checkpoints(data: Path) -> dict[str, float]:
    """The weights from the journal alone."""
    with closing(sqlite3.connect(data / "rankfall.sqlite")) as connection, connection:
        connection.execute("DELETE FROM checkpoints")
    engine = Engine(open_store(str(data)))
    try:
        policy = engine.state.model("default").policy_at(engine.store, "", engine.state.position)
        return {one.name: one.weight for one in policy.learned()}
    finally:
        engine.close()


def test_a_checkpoint_of_before_and_a_snapshot_of_before_are_widened(tmp_path: Path, catalog: Path) -> None:
    data = tmp_path / "data"

    async def before() -> str:
        async with service(data, catalog) as (client, _):
            await click(client, await rank(client), 1)
            made = await client.post("/v1/models/default/snapshots", json={"name": "before"})
            assert made.status_code in (200, 201), made.text
            return str(made.json()["id"])

    async def after(snapshot: str) -> tuple[dict[str, float], dict[str, float]]:
        async with service(data, catalog) as (client, _):
            learned = await weights(client)
            assert (await client.post("/v1/catalog/topics", json={"topics": ["sea"]})).status_code == 200
            await click(client, await rank(client), 2)
            answer = await client.post(f"/v1/models/default/snapshots/{snapshot}/restore", json={})
            assert answer.status_code == 200, answer.text
            return learned, await weights(client)

    snapshot = asyncio.run(before())
    learned, restored = asyncio.run(after(snapshot))
    assert restored == {**learned, "sea": 0.0}


def test_adding_again_changes_nothing(tmp_path: Path, catalog: Path) -> None:
    async def run() -> None:
        async with service(tmp_path / "data", catalog) as (client, _):
            first = (await client.post("/v1/catalog/topics", json={"topics": ["sea"]})).json()
            again = (await client.post("/v1/catalog/topics", json={"topics": ["sea", "art"]})).json()
            assert again == first
            for wrong in ({"topics": []}, {"topics": ["a\nb"]}, {"topics": [""]}, {}):
                assert (await client.post("/v1/catalog/topics", json=wrong)).status_code == 422

    asyncio.run(run())


def test_an_export_has_the_catalog_with_its_topics(tmp_path: Path, catalog: Path) -> None:
    async def run() -> None:
        async with service(tmp_path / "data", catalog) as (client, _):
            await history(client)

    asyncio.run(run())
    with closing(open_store(str(tmp_path / "data"))) as store:
        export(store, tmp_path / "out")
    log = Log(tmp_path / "out")
    versions = pl.read_parquet(tmp_path / "out" / "catalog.parquet")["version"].unique().sort().to_list()
    last = log.catalog(versions[-1])
    assert last is not None
    assert last.topics == ("art", "war", "sea", "sky")
    assert last.coverage[last.rows(["new"])[0]].tolist() == [0.2, 0.0, 0.7, 0.0]
