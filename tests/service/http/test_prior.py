"""What users start from, as callers and operators see it."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from in_process import service

from rankfall import Catalog
from rankfall.journal.priors import decode_prior
from rankfall.service.prior_refresh import refreshed
from rankfall.wire import ModelResponse, decode

USERS = [f"user {n}" for n in range(12)]


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    made = Catalog(
        rng.random((8, 2)) * 0.8,
        rng.normal(size=(8, 1)) * 0.5,
        ids=list("abcdefgh"),
        topics=["art", "war"],
        features=["log_price"],
    )
    made.write_parquet(tmp_path / "catalog.parquet")
    return tmp_path / "catalog.parquet"


async def visit(client: httpx.AsyncClient, user: str, clicked: int | None) -> None:
    shown = (await client.post("/v1/models/own/rank", json={"user": user, "k": 3})).json()
    told = await client.post("/v1/feedback", json={"event_id": shown["event_id"], "clicked": clicked})
    assert told.json()["accepted"] == 1


async def put(client: httpx.AsyncClient, name: str, **settings: Any) -> httpx.Response:
    return await client.put(f"/v1/models/{name}", json=settings)


def test_it_is_in_the_description_and_in_the_metrics(tmp_path: Path, catalog: Path) -> None:
    async def go() -> None:
        async with service(tmp_path / "data", catalog) as (client, shared):
            assert (await put(client, "own", scope="user")).json()["across_users"] is True
            assert (await client.get("/v1/models/own")).json()["prior"] is None
            assert "rankfall_prior_users{" not in (await client.get("/metrics")).text
            for n, user in enumerate(USERS):
                await visit(client, user, n % 3 + 1)
                await visit(client, user, None)
            engine = shared.engine
            keep = refreshed(engine.reader, engine.state.model("own"), engine.state.mark)
            assert keep is not None
            assert await engine.writer.submit(keep)
            prior = decode_prior(keep.prior.prior)
            told = decode(ModelResponse, (await client.get("/v1/models/own")).content).prior
            assert told is not None
            assert (told.users, told.lists) == (12, 24)
            assert 0.0 <= told.age_seconds < 60.0
            names = [(one.name, one.block) for one in told.weights]
            assert names == [("art", "topic"), ("war", "topic"), ("log_price", "feature")]
            np.testing.assert_array_equal([one.weight for one in told.weights], prior.mean)
            spread = np.sqrt(prior.noise * prior.covariance.diagonal())
            np.testing.assert_allclose([one.sd for one in told.weights], spread, rtol=1e-12)
            new = (await client.get("/v1/models/own", params={"user": "someone new"})).json()
            assert new["learned"] == 0
            np.testing.assert_allclose([one["weight"] for one in new["weights"]], prior.mean, rtol=1e-9)
            metrics = (await client.get("/metrics")).text
            assert 'rankfall_prior_users{model="own"} 12.0' in metrics
            assert re.search(r'rankfall_prior_age_seconds\{model="own"\} [0-9.e-]+', metrics)
            assert (await client.get("/v1/models/default")).json()["prior"] is None

    asyncio.run(go())


def test_who_has_it_and_who_can(tmp_path: Path, catalog: Path) -> None:
    async def go() -> None:
        async with service(tmp_path / "data", catalog) as (client, _):
            assert (await put(client, "all")).json()["across_users"] is False
            assert (await put(client, "alone", scope="user", across_users=False)).status_code == 201
            assert (await put(client, "alone", scope="user")).status_code == 200  # it is there, as it is
            counted = await put(client, "counted", scope="user", policy="CascadeKLUCB")
            assert counted.json()["across_users"] is False
            refused = await put(client, "no", scope="segment", across_users=True)
            assert refused.status_code == 422
            assert "across_users needs scope user and a linear policy" in refused.text
            changed = await client.patch("/v1/models/alone", json={"across_users": True})
            assert changed.status_code == 422
            assert "body.across_users never changes" in changed.text

    asyncio.run(go())
