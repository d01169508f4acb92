"""A service over HTTP with a small catalog, and models and items of a test's own."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served import ITEM, Served
from waiting import PATIENCE


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client of a running service: on SQLite, or on each store in tests that say `both_stores`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        url = request.getfixturevalue("service_url")
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
            yield client
    else:
        cluster, factory = request.getfixturevalue("postgres"), request.getfixturevalue("tmp_path_factory")
        url, folder = cluster.fresh(), factory.mktemp("service")
        catalog: Path = request.getfixturevalue("small_catalog")
        with Served(log=folder / "log", store=url, catalog=catalog) as served:
            yield served.client
        cluster.drop(url)


@pytest.fixture
def model(api: httpx.Client, request: pytest.FixtureRequest) -> str:
    """A model of this test's own."""
    name = re.sub(r"\W+", "-", request.node.name)[:80]
    assert api.put(f"/v1/models/{name}", json={"k": 4}).status_code == 201
    return name


@pytest.fixture
def item(api: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """The id of an item that is there for this test only."""
    name = f"item of {request.node.name}"
    assert api.put(f"/v1/catalog/items/{name}", json=ITEM).status_code == 200
    yield name
    api.delete(f"/v1/catalog/items/{name}")
