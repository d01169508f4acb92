"""What the routes share: engine, keys, limits, metrics; and what a caller may do."""

from __future__ import annotations

from dataclasses import dataclass, field

from fastapi import Request

from rankfall.errors import RankfallError
from rankfall.service.edge import NO_KEY, Limits
from rankfall.service.engine import Engine
from rankfall.service.keys import Grant, Keys
from rankfall.service.metrics import Metrics


class RefusedError(RankfallError):
    """A caller without a key (401), or without the right (403)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


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

    def grant(self, request: Request) -> Grant:
        """What this caller may do; raises for a wrong key."""
        grant = self.keys.grant(request.headers.get("x-api-key"))
        if grant is None:
            raise RefusedError(401, NO_KEY)
        return grant

    def need(self, request: Request, right: str, model: str) -> Grant:
        """The caller's grant, if it has this right on this model. Without it nothing is told."""
        grant = self.grant(request)
        if not grant.may(right, model):
            raise RefusedError(403, f"this key does not have the right {right!r} on model {model!r}")
        return grant

    def need_everywhere(self, request: Request, right: str = "admin") -> Grant:
        """The caller's grant, if it has this right on all models."""
        grant = self.grant(request)
        if not grant.everywhere(right):
            raise RefusedError(403, f"this key does not have the right {right!r} on all models")
        return grant


def service_of(request: Request) -> Service:
    """The service that takes this request."""
    service: Service = request.app.state.service
    return service
