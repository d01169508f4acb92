"""How many lists wait for feedback: a count that grows slow, and is therefore not made each time it is asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SHARE = 0.02
"""Share of the time that may be spent counting."""


class PendingCount:
    """Counts again only when the last count is old enough for what it cost.

    >>> counts, now = iter([3, 4]), iter([0.0, 1.0, 2.0, 60.0, 60.0])
    >>> pending = PendingCount(lambda: next(counts), lambda: next(now))
    >>> pending(), pending(), pending()  # a count of one second is good for 50
    (3, 3, 4)
    """

    def __init__(self, count: Callable[[], int], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._count, self._monotonic = count, monotonic
        self._lock = threading.Lock()
        self._last, self._good_until = 0, -1.0

    def __call__(self) -> int:
        """How many there are, or were a while ago."""
        with self._lock:
            began = self._monotonic()
            if began > self._good_until:
                self._last = self._count()
                ended = self._monotonic()
                self._good_until = ended + (ended - began) / SHARE
            return self._last
