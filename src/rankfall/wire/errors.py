"""Errors and health, as callers see them."""

from __future__ import annotations

from rankfall.wire.fields import Response


class ErrorDetails(Response, frozen=True, omit_defaults=True):
    """What went wrong: one word for programs, a sentence for people, and which part of the request it is about."""

    code: str
    message: str
    where: str | None = None


class ErrorResponse(Response, frozen=True):
    """The response to a request that failed."""

    error: ErrorDetails


class HealthResponse(Response, frozen=True, omit_defaults=True):
    """Whether the service is well, and why not."""

    status: str
    reason: str | None = None
