"""What time it is: by the clock of the store, which all servers on it share, and how much of it counts for waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rankfall.stores import Event, Transaction


class Moment(NamedTuple):
    """A moment: seconds since 1970, and how many seconds up to then were in gaps, when no feedback could arrive."""

    time: float
    gaps: float = 0.0

    @property
    def counted(self) -> float:
        """The time that counts for waits. It stands still in gaps, and when a clock is set."""
        return self.time - self.gaps

    def end_of_wait(self, event: Event) -> float:
        """Until when feedback on a list counts, as far as one can say now."""
        waits = self.counted <= event.counted_expires
        return event.counted_expires + self.gaps if waits else event.expires


class Reading(NamedTuple):
    """What the clock of the store said, and the monotonic clock of this process at that moment."""

    time: float
    monotonic: float


class Clock:
    """The clock of the store, read at each heartbeat; between two, the monotonic clock of this process goes on.

    A SQLite file has no clock of its own, and all its servers are on one machine: there it is that machine's.

    Parameters
    ----------
    machine : gives the time of this machine.
    """

    def __init__(self, machine: Callable[[], float] = time.time) -> None:
        self._machine = machine
        self._set = (machine() - time.monotonic(), 0.0)  # offset of the monotonic clock, gaps
        self.skew = 0.0
        """Seconds by which the clock of this machine is ahead of the store's."""

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.moment().time

    def moment(self) -> Moment:
        """Now."""
        offset, gaps = self._set  # both at once: another thread may set them
        return Moment(time.monotonic() + offset, gaps)

    def read(self, tx: Transaction) -> Reading:
        """Look at the clock of the store."""
        before = time.monotonic()
        told = tx.time()
        between = (before + time.monotonic()) / 2
        return Reading(self._machine() if told is None else told, between)

    def set(self, reading: Reading, gaps: float) -> None:
        """Go on from a reading."""
        self.skew = self._machine() - (time.monotonic() + reading.time - reading.monotonic)
        self._set = (reading.time - reading.monotonic, gaps)
