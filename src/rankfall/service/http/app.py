"""The application: routes, health, metrics, the page; and how it starts and stops."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from rankfall.errors import StoreError
from rankfall.service.engine import Engine
from rankfall.service.http import admin, problems, serving
from rankfall.service.http.bodies import schemas
from rankfall.service.http.context import Service, service_of
from rankfall.service.http.edge import Edge, Limits
from rankfall.service.http.fast_path import Direct
from rankfall.service.http.json_log import log_as_json
from rankfall.service.http.keys import Keys
from rankfall.service.http.metrics import Metrics
from rankfall.stores import open_store

_log = logging.getLogger("rankfall.service")
_PAGE = Path(__file__).parents[1] / "page"
_ENVIRONMENT = "RANKFALL_SERVICE"
_SWITCH = 0.001  # seconds for which one thread may keep the others from running: lists must not wait for the keeper
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class Config:
    """How to run one process of the service. Plain values, so that it can be handed to other processes."""

    store: str
    keys: str | None = None
    room: int = 10_000
    log_requests: bool = False
    limits: dict[str, float] = field(default_factory=dict)

    def publish(self) -> None:
        """Have processes started from here on find it."""
        os.environ[_ENVIRONMENT] = json.dumps(asdict(self))


def from_environment() -> FastAPI:
    """The application for the configuration that was published."""
    config = Config(**json.loads(os.environ[_ENVIRONMENT]))
    log_as_json(requests=config.log_requests)
    sys.setswitchinterval(_SWITCH)
    return make_app(config)


def make_app(config: Config) -> FastAPI:
    """The application."""
    service = Service(Keys.read(Path(config.keys)) if config.keys else Keys(), Limits(**config.limits), Metrics())  # type: ignore[arg-type]

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        service.engine = await asyncio.to_thread(_start, config, service)
        yield
        await asyncio.to_thread(service.engine.close)

    app = FastAPI(
        title="Rankfall",
        version=version("rankfall"),
        summary="Ranked lists that are relevant and diverse, learned from clicks.",
        lifespan=life,
        redoc_url=None,
    )
    app.state.service = service
    app.add_middleware(Direct, service=service)
    app.add_middleware(Edge, limits=service.limits, metrics=service.metrics, keys=service.keys)
    problems.install(app)
    app.router.routes.extend([*serving.routes.routes, *admin.routes.routes])  # flat: including costs at each request
    _add_running(app)
    app.mount("/page", StaticFiles(directory=_PAGE))
    _document(app)
    return app


def _start(config: Config, service: Service) -> Engine:
    metrics = service.metrics
    engine = Engine(
        open_store(config.store),
        room=config.room,
        on_fallback=lambda model, reason: metrics.fallbacks.labels(model, reason).inc(),
        on_store_error=lambda: metrics.store_errors.inc(),
    )
    for model in engine.models.values():
        model.warm_up()
    gc.collect()
    gc.freeze()  # what was loaded to start stays: looking through it again and again would stop everything for 0.1 s
    return engine


def _add_running(app: FastAPI) -> None:
    @app.get("/health/live", tags=["running"], summary="Is the process there?")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get(
        "/health/ready", tags=["running"], summary="Can it rank and learn?", responses={503: {"description": "no"}}
    )
    async def ready(request: Request) -> Response:
        engine = service_of(request).running
        reason = None
        if not engine.alive:
            reason = "the thread that writes has stopped"
        elif not engine.models:
            reason = "there is no model"
        else:
            try:
                await asyncio.to_thread(engine.store.note, "swept")
            except StoreError:
                reason = "the store cannot be read"
        if reason is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready", "reason": reason}, 503, {"Retry-After": "1"})

    @app.get("/metrics", tags=["running"], summary="Numbers for Prometheus", response_class=Response)
    async def metrics(request: Request) -> Response:
        service = service_of(request)
        service.need_everywhere(request)
        text = await asyncio.to_thread(service.metrics.text, service.running)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(
            _PAGE / "index.html", headers={"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
        )


def _document(app: FastAPI) -> None:
    """Say in the interface's description how keys are sent and what errors look like."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            parts = schema.setdefault("components", {})
            parts["securitySchemes"] = {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}
            schema["security"] = [{"key": []}, {}]
            error = {
                "type": "object",
                "required": ["error"],
                "properties": {
                    "error": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {name: {"type": "string"} for name in ("code", "message", "where")},
                    }
                },
            }
            parts["schemas"] = {**schemas(), **parts.get("schemas", {}), "Error": error}
            for name in ("HTTPValidationError", "ValidationError"):
                parts["schemas"].pop(name, None)
            reference = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
            for path, methods in schema["paths"].items():
                if path.startswith("/v1"):
                    for operation in methods.values():
                        for status in ("400", "401", "403", "404", "408", "409", "413", "415", "422", "503"):
                            operation["responses"][status] = {"description": "error", "content": reference}
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
