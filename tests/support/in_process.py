"""The service in this process and on the event loop of the test: what it does meanwhile can be watched and held up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from rankfall import Catalog
from rankfall.service.http.app import Config, make_app
from rankfall.service.http.app_state import AppState
from rankfall.service.setup import prepare


@asynccontextmanager
async def service(folder: Path, catalog: Path, **config: Any) -> AsyncIterator[tuple[httpx.AsyncClient, AppState]]:
    """A client of a new service, and what its routes share."""
    prepare(str(folder), lambda: Catalog.read_parquet(catalog), {})
    app = make_app(Config(store=str(folder), **config))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client, app.state.rankfall
