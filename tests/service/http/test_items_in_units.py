"""Items of a catalog that was built from a table, given to the service in the units of that table."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest
from in_process import service

from rankfall import Catalog, build_catalog
from rankfall.service.setup import prepare

TABLE = pl.DataFrame(
    {
        "id": [f"i{n}" for n in range(20)],
        "topics": ["art|sea" if n % 3 else "war" for n in range(20)],
        "price": [2.0**n for n in range(20)],
        "brand": ["acme" if n % 2 else "bolt" for n in range(20)],
    }
)
LOG = pl.DataFrame(
    {
        "user": [f"u{n % 12}" for n in range(200)],
        "item": [f"i{n * 7 % 18}" for n in range(200)],
        "click": [int(n * n % 5 == 1) for n in range(200)],
    }
)


def asked(folder: Path, test: Callable[[httpx.AsyncClient, Catalog], Awaitable[None]]) -> None:
    catalog = build_catalog(TABLE, log=LOG, rank=2).catalog
    catalog.write_parquet(folder / "catalog.parquet")

    async def run() -> None:
        async with service(folder / "data", folder / "catalog.parquet") as (client, _):
            await test(client, catalog)

    asyncio.run(run())


def test_a_new_item_is_scaled_as_the_first_ones_were(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient, catalog: Catalog) -> None:
        row = 18  # which nobody was shown
        values = {"price": TABLE["price"][row], "brand": TABLE["brand"][row]}
        body = {"values": values, "topics": TABLE["topics"][row].split("|")}
        answer = await client.put("/v1/catalog/items/new", json=body)
        assert answer.json()["created"] is True, answer.text
        lines = f'{{"id": "bulk", "values": {{"price": {values["price"]}, "brand": "bolt"}}, "topics": ["war"]}}\n'
        answer = await client.post("/v1/catalog/bulk", content=lines, headers={"Content-Type": "application/x-ndjson"})
        assert answer.json()["created"] == 1, answer.text
        for name in ("new", "bulk"):
            item = (await client.get(f"/v1/catalog/items/{name}")).json()
            np.testing.assert_allclose(item["relevance"], catalog.relevance[row], atol=1e-12)
            here = {
                topic: catalog.coverage[row, j] for j, topic in enumerate(catalog.topics) if catalog.coverage[row, j]
            }
            assert item["coverage"] == pytest.approx(here)

    asked(tmp_path, test)


def test_an_item_that_is_there_keeps_what_the_log_said(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient, catalog: Catalog) -> None:
        before = (await client.get("/v1/catalog/items/i1")).json()
        assert (await client.patch("/v1/catalog/items/i1", json={"values": {"price": 8.0}})).status_code == 200
        patched = (await client.get("/v1/catalog/items/i1")).json()
        at = catalog.features.index("log_price")
        assert patched["relevance"][at] == catalog.relevance[3, at]
        assert [*patched["relevance"][:at], *patched["relevance"][at + 1 :]] == [
            *before["relevance"][:at],
            *before["relevance"][at + 1 :],
        ]
        same = {"values": {"price": 2.0, "brand": "acme"}, "topics": ["art", "sea"]}
        assert (await client.put("/v1/catalog/items/i1", json=same)).status_code == 200
        again = (await client.get("/v1/catalog/items/i1")).json()
        assert again["coverage"] == before["coverage"]
        np.testing.assert_allclose(again["relevance"], before["relevance"], atol=1e-12)

    asked(tmp_path, test)


def test_features_have_names_everywhere(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient, catalog: Catalog) -> None:
        told = (await client.get("/v1/catalog")).json()
        assert told["feature_names"] == list(catalog.features)
        assert told["columns"] == ["price", "brand"]
        assert catalog.recipe is not None
        assert told["recipe"] == catalog.recipe.digest
        ranked = (await client.post("/v1/models/default/rank", json={"k": 2, "explain": True})).json()
        assert set(ranked["items"][0]["features"]) == set(catalog.features)
        assert sum(ranked["items"][0]["features"].values()) == pytest.approx(ranked["items"][0]["relevance"])
        weights = (await client.get("/v1/models/default")).json()["weights"]
        assert [one["name"] for one in weights] == [*catalog.topics, *catalog.features]

    asked(tmp_path, test)


def test_names_and_recipe_outlive_a_restart(tmp_path: Path) -> None:
    async def put(client: httpx.AsyncClient, _: Catalog) -> None:
        assert (await client.put("/v1/catalog/items/x", json={"values": {"price": 3}})).status_code == 200

    asked(tmp_path, put)

    async def look(client: httpx.AsyncClient, catalog: Catalog) -> None:
        told = (await client.get("/v1/catalog")).json()
        assert told["feature_names"] == list(catalog.features)
        answer = await client.put("/v1/catalog/items/y", json={"values": {"price": 3}})
        assert answer.status_code == 200, answer.text
        x, y = [(await client.get(f"/v1/catalog/items/{name}")).json() for name in "xy"]
        assert x["relevance"] == y["relevance"]

    asked(tmp_path, look)


def test_a_recipe_comes_with_items_in_a_file(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient, catalog: Catalog) -> None:
        dearer = TABLE.with_columns(pl.col("price") * 100)
        other = build_catalog(dearer, log=LOG, rank=2).catalog
        other.write_parquet(tmp_path / "other.parquet")
        headers = {"Content-Type": "application/vnd.apache.parquet"}
        content = (tmp_path / "other.parquet").read_bytes()
        assert (await client.post("/v1/catalog/bulk", content=content, headers=headers)).status_code == 200
        assert other.recipe is not None
        assert other.recipe != catalog.recipe
        assert (await client.get("/v1/catalog")).json()["recipe"] == other.recipe.digest

    asked(tmp_path, test)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"values": {"prize": 1}}, "no column 'prize'; the catalog was built from: price, brand"),
        ({"values": {"price": "dear"}}, "price is 'dear'; expected a finite number"),
        ({"values": {"price": 1}, "relevance": [1.0]}, "values and relevance"),
        ({"topics": ["art"], "coverage": {"art": 0.5}}, "topics and coverage"),
        ({"values": {}, "topics": ["jazz"]}, "covers 'jazz'; the topics are art, sea, war"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, body: dict[str, object], message: str) -> None:
    async def test(client: httpx.AsyncClient, _: Catalog) -> None:
        answer = await client.put("/v1/catalog/items/new", json=body)
        assert answer.status_code == 422
        assert message in answer.text

    asked(tmp_path, test)


def test_a_catalog_without_a_recipe_takes_no_values_and_names_of_topics(tmp_path: Path) -> None:
    Catalog([[0.5]], [[1.0]], ids=["a"], topics=["art"]).write_parquet(tmp_path / "plain.parquet")

    async def run() -> None:
        async with service(tmp_path / "data", tmp_path / "plain.parquet") as (client, _):
            for method in ("PUT", "PATCH"):
                answer = await client.request(method, "/v1/catalog/items/a", json={"values": {"price": 1}})
                assert "rankfall catalog build makes one that does" in answer.text
            body = {"topics": ["art"], "relevance": [0.5]}
            assert (await client.put("/v1/catalog/items/b", json=body)).status_code == 200
            assert (await client.get("/v1/catalog/items/b")).json()["coverage"] == {"art": 0.5}

    asyncio.run(run())


def test_raw_numbers_are_warned_of(tmp_path: Path) -> None:
    raw = Catalog(relevance=[[917.0, 0.1], [3.0, 0.5]], features=["price", "share"])
    said = prepare(str(tmp_path / "data"), lambda: raw, {})
    assert any("price" in line and "917" in line and "rankfall catalog build" in line for line in said)
    assert not any("share" in line for line in said)
