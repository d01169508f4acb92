"""What the routes of one process share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.requests import Request

from rankfall.catalog import Catalog
from rankfall.errors import NotFoundError, short
from rankfall.journal.catalogs import CatalogState
from rankfall.service.engine import Engine
from rankfall.service.health import MOST_LAG
from rankfall.service.http.limits import Limits
from rankfall.service.http.metrics import Metrics
from rankfall.service.model import Model


@dataclass
class AppState:
    """Engine, limits and metrics of one process, and how many seconds it may be behind and still be ready."""

    limits: Limits
    metrics: Metrics = field(default_factory=Metrics)
    started: Engine | None = None
    most_lag: float = MOST_LAG

    @property
    def engine(self) -> Engine:
        """The engine; there is one as soon as requests are taken."""
        assert self.started is not None
        return self.started

    @property
    def items(self) -> CatalogState:
        """The catalog as it is now, item by item."""
        if not self.engine.state.items.there:
            raise NotFoundError("there is no catalog yet; start with --catalog")
        return self.engine.state.items

    async def laid_out(self) -> Catalog:
        """The catalog as it is now, laid out; after a change that takes a while if it is large."""
        return await asyncio.to_thread(self.items.current)

    def model(self, name: str) -> Model:
        """The model of this name. If there is none, no others are named: a key may be for one model only."""
        model = self.engine.state.models.get(name)
        if model is None:
            raise NotFoundError(f"no model {short(name)}; GET /v1/models lists those there are")
        return model


def state_of(request: Request) -> AppState:
    """What the process that serves this request holds."""
    state: AppState = request.app.state.rankfall
    return state
