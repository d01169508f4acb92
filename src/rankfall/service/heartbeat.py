"""When feedback could arrive: a heartbeat in the store tells, from which all gaps follow.

Each server beats once a second, in one row for the whole store, as long as it can take feedback. Whoever beats and
finds the last beat too long ago has found a gap: no server could take feedback meanwhile, or the clock was set. The
length of all gaps is kept beside the beat. Waits are measured in the time that is left (:class:`~.clock.Moment`), so a
gap makes every wait longer that it falls into, and costs the same whether one list waits or a million.
"""

from __future__ import annotations

import logging

from rankfall.errors import StoreError
from rankfall.service.clock import Clock
from rankfall.service.health import Health
from rankfall.stores import Store

_log = logging.getLogger("rankfall.service")

BEAT_EVERY = 1.0
"""Seconds between two heartbeats of a server."""
LONGEST_BEAT = 2.5
"""Seconds between two heartbeats of a store at most; more is a gap."""
RETRY_TIME = 5.0
"""Seconds that callers get after a gap to send again what they could not send in it."""
SKEW = 1.0
"""Seconds by which the clocks of this machine and of the store may differ before a warning is logged."""


class Heartbeat:
    """The heartbeat of one server. Only the thread that writes beats."""

    def __init__(self, store: Store, clock: Clock, health: Health) -> None:
        self._store, self._clock, self._health = store, clock, health
        self._warned = False
        self.beat(found=logging.INFO)  # nobody wonders that nothing arrived before a server, or a command, was started

    def keep(self) -> None:
        """Beat if it is time; also before feedback is judged, for after a gap it would seem late."""
        if not 0.0 <= self._clock() - self._at < BEAT_EVERY:
            self.beat()

    def beat(self, longest: float = LONGEST_BEAT, found: int = logging.WARNING) -> None:
        """Note in the store that feedback can arrive; what is more than ``longest`` after the last beat is a gap.

        ``found`` is the level at which a gap is logged.
        """
        try:
            with self._store.transaction() as tx:
                last = tx.heartbeat()
                reading = self._clock.read(tx)
                gaps = 0.0 if last is None else last.gaps + gap_in(reading.time - last.at, longest)
                tx.beat(reading.time, gaps)
        except StoreError:
            self._health.went_wrong("write", "the store cannot be written")
            raise
        self._health.went_well("write")
        self._at = reading.time
        self._clock.set(reading, gaps)
        if last is not None and gaps != last.gaps:
            extra = {"seconds": gaps - last.gaps}
            _log.log(found, "no feedback could arrive for a while; waits are longer by that time", extra=extra)
        self._look_at_skew()

    def _look_at_skew(self) -> None:
        differs = abs(self._clock.skew) > SKEW
        if differs and not self._warned:
            _log.warning("the clock of this machine differs from the store's", extra={"seconds": self._clock.skew})
        self._warned = differs


def gap_in(passed: float, longest: float = LONGEST_BEAT) -> float:
    """How much of the time between two beats does not count for waits.

    >>> gap_in(1.2), gap_in(6.0), gap_in(-3600.0)
    (0.0, 11.0, -3600.0)
    """
    if abs(passed) <= longest:
        return 0.0
    return passed + RETRY_TIME if passed > 0 else passed  # a clock that was set back: the time that counts goes on
