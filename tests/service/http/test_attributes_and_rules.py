"""Attributes and rules over HTTP: how they are written, read and refused; and by the client."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from in_process import service

from rankfall import AtMost, Catalog, Only
from rankfall.client.calls import catalog as catalog_calls
from rankfall.client.calls import models as model_calls
from rankfall.client.calls import ranking as rank_calls
from rankfall.wire import ModelSettings, RankRequest, RankResponse, decode


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    made = Catalog(
        relevance=[[1.0, 0.1 * n] for n in range(6)],
        ids=list("abcdef"),
        attributes={"brand": ["x", "x", "y", "y", "z", None], "in_stock": [True, True, True, True, True, False]},
    )
    made.write_parquet(tmp_path / "catalog.parquet")
    return tmp_path / "catalog.parquet"


def run(tmp_path: Path, catalog: Path, told: Any) -> None:
    async def main() -> None:
        async with service(tmp_path / "data", catalog) as (client, _):
            assert (await client.put("/v1/models/m", json={"policy": "CascadeLinUCB", "k": 3})).status_code == 201
            await told(client)

    asyncio.run(main())


async def shown(client: httpx.AsyncClient, **asked: Any) -> list[str]:
    answer = await client.post("/v1/models/m/rank", json=asked)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


async def refused(client: httpx.AsyncClient, method: str, path: str, body: Any) -> dict[str, Any]:
    answer = await client.request(method, path, json=body)
    assert answer.status_code == 422, answer.text
    return dict(answer.json()["error"])


def test_attributes_are_put_patched_and_read(tmp_path: Path, catalog: Path) -> None:
    async def told(client: httpx.AsyncClient) -> None:
        item = {"relevance": [1.0, 0.9], "attributes": {"brand": "w", "price": 9.5, "in_stock": True, "none": None}}
        assert (await client.put("/v1/catalog/items/g", json=item)).status_code == 200
        known = (await client.get("/v1/catalog/items/g")).json()
        assert known["attributes"] == {"brand": "w", "price": 9.5, "in_stock": True}
        change = {"attributes": {"price": 10, "brand": None}}
        assert (await client.patch("/v1/catalog/items/g", json=change)).status_code == 200
        assert (await client.get("/v1/catalog/items/g")).json()["attributes"] == {"price": 10, "in_stock": True}
        assert (await client.patch("/v1/catalog/items/g", json={"relevance": [1.0, 0.8]})).status_code == 200
        assert (await client.get("/v1/catalog/items/g")).json()["attributes"] == {"price": 10, "in_stock": True}
        assert (await client.get("/v1/catalog")).json()["attributes"] == ["brand", "in_stock", "price"]
        page = (await client.get("/v1/catalog/items")).json()["items"]
        assert page[0]["attributes"] == {"brand": "x", "in_stock": True}
        plain = {"relevance": [1.0, 0.9]}  # all of the item is replaced
        assert (await client.put("/v1/catalog/items/g", json=plain)).status_code == 200
        assert "attributes" not in (await client.get("/v1/catalog/items/g")).json()

    run(tmp_path, catalog, told)


def test_attributes_come_in_bulk(tmp_path: Path, catalog: Path) -> None:
    async def told(client: httpx.AsyncClient) -> None:
        lines = [{"id": item, "relevance": [1.0, 0.0], "attributes": {"brand": "x"}} for item in "gh"]
        body = "\n".join(map(json.dumps, lines)).encode()
        put = await client.post("/v1/catalog/bulk", content=body, headers={"content-type": "application/x-ndjson"})
        assert put.status_code == 200, put.text
        assert (await client.get("/v1/catalog/items/h")).json()["attributes"] == {"brand": "x"}
        more = Catalog(relevance=[[0.5, 0.5]], ids=["i"], attributes={"brand": ["mixed"], "price": [3]})
        more.write_parquet(tmp_path / "more.parquet")
        parquet = {"content-type": "application/vnd.apache.parquet"}
        body = (tmp_path / "more.parquet").read_bytes()
        assert (await client.post("/v1/catalog/bulk", content=body, headers=parquet)).status_code == 200
        assert (await client.get("/v1/catalog/items/i")).json()["attributes"] == {"brand": "mixed", "price": 3}

    run(tmp_path, catalog, told)


@pytest.mark.parametrize(
    ("attributes", "where", "message"),
    [
        ({"brand": ["x"]}, "body.attributes", "expected `bool | int | float | str | null`, got `array`"),
        ({"": "x"}, "body.attributes", "length >= 1"),
        ({"brand": "x" * 1001}, "body.attributes", "length <= 1000"),
        ({"brand": "a\nb"}, "body.attributes.brand", "only printable characters"),
        ({"price": 2**60}, "body.attributes.price", "at most 2^53"),
        ({f"a{n}": n for n in range(101)}, "body.attributes", "length <= 100"),
        ("x", "body.attributes", ", got `str`"),
    ],
)
def test_what_cannot_be_an_attribute_is_refused(
    tmp_path: Path, catalog: Path, attributes: Any, where: str, message: str
) -> None:
    async def told(client: httpx.AsyncClient) -> None:
        for method, body in (("PUT", {"relevance": [1.0, 0.9]}), ("PATCH", {})):
            error = await refused(client, method, "/v1/catalog/items/a", body | {"attributes": attributes})
            assert message in error["message"]
            assert error["where"].startswith(where)

    run(tmp_path, catalog, told)


def test_rules_on_the_model_and_in_the_request(tmp_path: Path, catalog: Path) -> None:
    one_each, in_stock = (
        {"kind": "at_most", "n": 1, "attribute": "brand"},
        {
            "kind": "only",
            "attribute": "in_stock",
            "value": True,
        },
    )

    async def told(client: httpx.AsyncClient) -> None:
        assert await shown(client) == ["f", "e", "d"]
        assert await shown(client, rules=[in_stock]) == ["e", "d", "c"]
        changed = await client.patch("/v1/models/m", json={"rules": [one_each]})
        assert changed.json()["rules"] == [one_each]
        assert (await client.get("/v1/models/m")).json()["settings"]["rules"] == [one_each]
        assert await shown(client) == ["f", "e", "d"]
        assert await shown(client, rules=[in_stock]) == ["e", "d", "b"]
        answer = (await client.post("/v1/models/m/rank", json={"rules": [in_stock], "explain": True, "k": 4})).json()
        assert [one["id"] for one in answer["items"]] == ["e", "d", "b", "c"]
        assert [(one["position"], one["rule"]["kind"]) for one in answer["relaxed"]] == [(4, "at_most")]
        assert (answer["held_back"][0]["id"], answer["held_back"][0]["rule"]["kind"]) == ("f", "only")
        batch = {"requests": [{"model": "m", "rules": [in_stock]}, {"model": "m", "rules": [{"kind": "only"}]}]}
        assert (await client.post("/v1/rank", json=batch)).status_code == 422
        stored = (await client.get(f"/v1/events/{answer['event_id']}")).json()
        assert stored["response"]["relaxed"] == answer["relaxed"]
        made = await client.put("/v1/models/ruled", json={"policy": "CascadeLinUCB", "rules": [in_stock]})
        assert made.status_code == 201
        again = await client.put("/v1/models/ruled", json={"policy": "CascadeLinUCB", "rules": [in_stock]})
        assert again.status_code == 200

    run(tmp_path, catalog, told)


@pytest.mark.parametrize(
    ("rule", "where", "message"),
    [
        (
            {"kind": "at_mots", "n": 1, "attribute": "brand"},
            "body.rules.0.kind",
            "expected one of at_most, at_least, apart, only",
        ),
        ({"n": 1, "attribute": "brand"}, "body.rules.0.kind", "this field is required"),
        ({"kind": "at_most", "attribute": "brand"}, "body.rules.0.n", "this field is required"),
        ({"kind": "at_most", "n": 0, "attribute": "brand"}, "body.rules.0.n", "n must be a whole number from 1 on"),
        ({"kind": "at_most", "n": 1, "atribute": "brand"}, "body.rules.0.atribute", "op, value, n, first"),
        ({"kind": "at_least", "n": 3, "first": 2, "attribute": "in_stock", "value": True}, "body.rules.0.n", "first 2"),
        ({"kind": "apart", "within": 1, "attribute": "brand"}, "body.rules.0.within", ">= 2"),
        ({"kind": "only", "attribute": "brand", "op": "<", "value": "x"}, "body.rules.0.value", "ISO 8601"),
        (
            {"kind": "only", "attribute": "brand", "op": "~", "value": "x"},
            "body.rules.0.op",
            "expected one of !=, <, <=, =, >, >=, in, newer_than, got",
        ),
        ({"kind": "only", "attribute": "colour", "value": "x"}, None, "no item has the attribute 'colour'"),
        ({"kind": "only", "attribute": "in_stock", "value": 1}, None, "compares number with 'in_stock'"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_its_place(
    tmp_path: Path, catalog: Path, rule: dict[str, Any], where: str | None, message: str
) -> None:
    async def told(client: httpx.AsyncClient) -> None:
        for method, path in (("POST", "/v1/models/m/rank"), ("PATCH", "/v1/models/m"), ("PUT", "/v1/models/new")):
            error = await refused(client, method, path, {"rules": [rule]})
            assert message in error["message"]
            if where is not None:
                assert error["where"] == where
        policy = {"policy": "DCMKLUCB", "rules": [{"kind": "at_most", "n": 1, "attribute": "brand"}]}
        assert "cannot keep rules" in (await refused(client, "PUT", "/v1/models/dcm", policy))["message"]

    run(tmp_path, catalog, told)


def test_the_client_sends_rules_and_attributes() -> None:
    rules = [AtMost(n=1, attribute="brand"), {"kind": "only", "attribute": "in_stock", "value": True}]
    asked = decode(RankRequest, rank_calls.rank(rules=rules).content or b"")
    assert asked.rules == [AtMost(n=1, attribute="brand"), Only(attribute="in_stock", value=True)]
    many = json.loads(rank_calls.rank_many([{"rules": rules}]).content or b"")["requests"]
    assert many[0]["rules"][0] == {"kind": "at_most", "attribute": "brand", "n": 1}
    assert "rules" not in json.loads(rank_calls.rank().content or b"")
    settings = decode(ModelSettings, model_calls.create_model("m", rules=rules).content or b"")
    assert settings.rules == asked.rules
    put = json.loads(catalog_calls.put_item("a", attributes={"brand": "x"}).content or b"")
    assert put == {"attributes": {"brand": "x"}}
    gone = json.loads(catalog_calls.patch_item("a", attributes={"brand": None}).content or b"")
    assert gone == {"attributes": {"brand": None}}


def test_a_client_reads_rules_that_it_does_not_know() -> None:
    answer = {
        "event_id": "e",
        "model": "m",
        "items": [],
        "model_version": 1,
        "policy": "p",
        "mode": "online",
        "arm": "policy",
        "expires_at": None,
        "unknown": [],
        "relaxed": [{"position": 1, "rule": {"kind": "every_other"}, "words": "every other"}],
    }
    assert decode(RankResponse, json.dumps(answer).encode()).relaxed[0].words == "every other"
