"""Health and metrics, for whatever watches over the service."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from rankfall.service.engine import Engine
from rankfall.service.http.app_state import state_of
from rankfall.service.http.auth import everywhere
from rankfall.service.http.bodies import json_response
from rankfall.service.http.operations import Operations
from rankfall.wire import HealthResponse

operations = Operations("running")
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@operations.add("GET", "/health/live", "Is the process there?", gives=HealthResponse)
async def live(_request: Request) -> Response:
    """Say that the process is there."""
    return json_response(HealthResponse("live"))


@operations.add(
    "GET", "/health/ready", "Can it rank and learn?", gives=HealthResponse, statuses={200: "yes", 503: "no"}
)
async def ready(request: Request) -> Response:
    """Say whether it can rank and learn; if not, ``reason`` says why."""
    state = state_of(request)
    reason = _reason(state.engine, state.most_lag)
    if reason is None:
        return json_response(HealthResponse("ready"))
    return json_response(HealthResponse("not ready", reason), 503, {"Retry-After": "1"})


def _reason(engine: Engine, most_lag: float) -> str | None:
    """Why the service cannot rank and learn; None if it can. It asks nobody who could keep it waiting."""
    if not engine.writer.alive:
        return "the thread that writes has stopped"
    if engine.state.stopped is not None:
        return f"learning has stopped: {engine.state.stopped.reason}"
    if engine.state.rebuilding:
        return "the store went back in time; the state is built again from what it has"
    if not engine.state.models:
        return "there is no model"
    return engine.health.reason(engine.state.caught_up_at, most_lag)


@operations.add("GET", "/metrics", "Numbers for Prometheus", needs=everywhere("admin"), gives_media="text/plain")
async def metrics(request: Request) -> Response:
    """Give all metrics in Prometheus' text format."""
    state = state_of(request)
    return Response(await asyncio.to_thread(state.metrics.text, state.engine), media_type=_PROMETHEUS)
