"""What the routes share: engine, keys, limits, metrics; and what a caller may do."""

from __future__ import annotations

from dataclasses import dataclass, field

from fastapi import Request

from rankfall.errors import NotFoundError, RefusedError
from rankfall.service.engine import Engine
from rankfall.service.http.edge import GRANT, Limits
from rankfall.service.http.keys import Grant, Keys
from rankfall.service.http.metrics import Metrics
from rankfall.service.model import Model


@dataclass
class Service:
    """One process of the service."""

    keys: Keys
    limits: Limits
    metrics: Metrics = field(default_factory=Metrics)
    engine: Engine | None = None

    @property
    def running(self) -> Engine:
        """The engine; there is one as soon as requests are taken."""
        assert self.engine is not None
        return self.engine

    def model(self, name: str) -> Model:
        """The model of this name. If there is none, no others are named: a key may be for one model only."""
        model = self.running.models.get(name)
        if model is None:
            raise NotFoundError(f"no model {name!r}; GET /v1/models lists those there are")
        return model

    def grant(self, request: Request) -> Grant:
        """What this caller may do, as the edge has found."""
        grant: Grant = request.scope[GRANT]
        return grant

    def need(self, request: Request, right: str, model: str) -> Grant:
        """The caller's grant, if it has this right on this model. Without it nothing is told."""
        return allowed(self.grant(request), right, model)

    def need_everywhere(self, request: Request, right: str = "admin") -> Grant:
        """The caller's grant, if it has this right on all models."""
        grant = self.grant(request)
        if not grant.everywhere(right):
            raise RefusedError(f"this key does not have the right {right!r} on all models")
        return grant


def allowed(grant: Grant, right: str, model: str) -> Grant:
    """The grant, if it has this right on this model; raises if not."""
    if not grant.may(right, model):
        raise RefusedError(f"this key does not have the right {right!r} on model {model!r}")
    return grant


def service_of(request: Request) -> Service:
    """The service that takes this request."""
    service: Service = request.app.state.service
    return service
