"""The request log: a line about each request that failed or was slow, or about every one. Never a key, body or user."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("rankfall.access")
SLOW = 1.0
"""Seconds from which on a request is slow."""


def log_request(method: str, route: str, status: int, seconds: float) -> None:
    """Write a line, if there is reason to."""
    level = logging.WARNING if status >= 500 or seconds > SLOW else logging.DEBUG
    if LOGGER.isEnabledFor(level):
        extra = {"method": method, "route": route, "status": status, "seconds": round(seconds, 6)}
        LOGGER.log(level, "request", extra=extra)
