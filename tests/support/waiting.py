"""Waiting for events. A time-out here is a last resort that fails the test; nothing that works comes near it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 300.0
"""Seconds after which waiting counts as hanging."""
START_PATIENCE = 900.0
"""The same for the start of a program, which may have to compile its kernels on a busy machine."""


def wait_until(holds: Callable[[], T], patience: float = PATIENCE) -> T:
    """Ask again and again until the result counts as true, and return it."""
    end = time.monotonic() + patience
    while not (result := holds()):
        assert time.monotonic() < end, f"this did not become true within {patience:g} seconds"
        time.sleep(0.01)
    return result


def wait_past(moment: str) -> None:
    """Wait until the clock of this machine has passed a moment, given as the service writes it."""
    end = datetime.fromisoformat(moment)
    while datetime.now(UTC) <= end:
        time.sleep(0.01)
