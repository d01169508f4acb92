"""The application: how its parts are put together, and how it starts and stops."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import multiprocessing
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from rankfall.errors import StoreError
from rankfall.kernels import in_background
from rankfall.policies import SERVED
from rankfall.service.engine import RANK_PATIENCE, Engine
from rankfall.service.health import MOST_LAG
from rankfall.service.http.api_keys import Keys
from rankfall.service.http.app_state import AppState
from rankfall.service.http.auth import Authentication
from rankfall.service.http.dispatch import Dispatch
from rankfall.service.http.endpoint import route_of
from rankfall.service.http.errors import handle_http_error
from rankfall.service.http.json_log import log_as_json
from rankfall.service.http.keys_file import KeysFile
from rankfall.service.http.limits import Limits
from rankfall.service.http.metrics import Metrics
from rankfall.service.http.pages import pages
from rankfall.service.http.parent import end_with_parent
from rankfall.service.http.request_log import log_request
from rankfall.service.http.routes import OPERATIONS
from rankfall.service.http.site_check import LOOPBACK, SiteCheck
from rankfall.service.http.timing import Timing
from rankfall.stores import open_store

_ENVIRONMENT = "RANKFALL_SERVICE"
_SWITCH = 0.001  # seconds for which one thread may keep the others from running: lists must not wait for the writer

_BETWEEN_STARTS = 1.0  # seconds
_log = logging.getLogger("rankfall.service")


@dataclass(frozen=True)
class Config:
    """How to run one process of the service. Plain values, so that it can be handed to other processes.

    ``names`` are those it may be called by without keys, besides those of this machine. ``own_policies`` are those of
    whoever starts it, as ``module:Name``, that models may learn with.
    """

    store: str
    keys: str | None = None
    room: int = 10_000
    log_requests: bool = False
    limits: dict[str, float] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    most_lag: float = MOST_LAG
    rank_patience: float = RANK_PATIENCE
    own_policies: tuple[str, ...] = ()

    def publish(self) -> None:
        """Have processes started from here on find it."""
        os.environ[_ENVIRONMENT] = json.dumps(asdict(self))


def from_environment() -> Starlette:
    """The application for the configuration that was published."""
    config = Config(**json.loads(os.environ[_ENVIRONMENT]))
    log_as_json(requests=config.log_requests)
    sys.setswitchinterval(_SWITCH)
    end_with_parent()
    for name in config.own_policies:
        SERVED.add(name)
    return make_app(config)


def make_app(config: Config) -> Starlette:
    """The application. A request passes the middleware from top to bottom, then its route."""
    keys = KeysFile(Path(config.keys)) if config.keys else Keys()
    limits, metrics = Limits(**config.limits), Metrics()  # type: ignore[arg-type]
    state = AppState(limits, metrics, most_lag=config.most_lag)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            state.started = await asyncio.to_thread(_start, config, metrics)
        except StoreError as problem:
            await _try_again(problem)
            raise
        yield
        await asyncio.to_thread(state.engine.close)

    app = Starlette(
        routes=[*map(route_of, OPERATIONS), *pages(OPERATIONS)],
        middleware=[
            Middleware(Timing, observers=[metrics.count_request, log_request]),
            Middleware(SiteCheck, names=None if config.keys else LOOPBACK.union(config.names)),
            Middleware(Authentication, keys=keys),
            Middleware(Dispatch, operations=OPERATIONS),
        ],
        exception_handlers={HTTPException: handle_http_error},
        lifespan=lifespan,
    )
    app.state.rankfall = state
    return app


async def _try_again(problem: StoreError) -> None:
    """End this process if it is one of several workers, so that its server starts another.

    A worker that fails to start in the usual way has its server stop them all; but the store may be away for a moment.
    """
    if multiprocessing.parent_process() is not None:
        _log.error("a worker cannot start; the server tries again", extra={"reason": str(problem)})
        await asyncio.sleep(_BETWEEN_STARTS)
        os._exit(1)


def _start(config: Config, metrics: Metrics) -> Engine:
    engine = Engine(
        open_store(config.store),
        room=config.room,
        rank_patience=config.rank_patience,
        on_fallback=metrics.count_fallback,
        on_store_error=metrics.count_store_error,
        on_rebuild=metrics.count_rebuild,
    )
    models = list(engine.state.models.values())
    for model in models:
        model.warm_up()
    in_background.start([model.warm_up_learning for model in models] + [model.warm_up_later for model in models])
    engine.serve()
    gc.collect()
    gc.freeze()  # what was loaded to start stays: looking through it again and again would stop everything for 0.1 s
    return engine
