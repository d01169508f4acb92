"""Wrong keys are answered slowly, so that trying many takes long. A right key is never kept waiting."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

AT_ONCE = 20
"""Wrong keys from one address that are answered without delay."""
EVERY = 0.05
"""Seconds between the responses to those that follow."""
LONGEST = 5.0
"""Seconds that a response is held back at most; whoever tries faster than that is refused at once."""
ADDRESSES = 10_000
"""Addresses that are remembered."""


class WrongKeys:
    """Who sent wrong keys recently.

    >>> wrong = WrongKeys(monotonic=lambda: 0.0)
    >>> waits = [wrong.wait("192.0.2.1") for _ in range(AT_ONCE + 3)]
    >>> waits[AT_ONCE - 1 :]
    [0.0, 0.05, 0.1, 0.15]
    >>> wrong.wait("192.0.2.2")
    0.0
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._paid: OrderedDict[str, float] = OrderedDict()  # up to when each address has used up its share

    def wait(self, address: str) -> float | None:
        """Seconds to hold back the response to a wrong key from this address; None if there are too many of them."""
        network, now = _network(address), self._monotonic()
        paid = max(self._paid.get(network, 0.0), now)
        wait = round(max(0.0, paid - now - (AT_ONCE - 1) * EVERY), 6)
        if wait > LONGEST:
            return None
        self._paid[network] = paid + EVERY
        self._paid.move_to_end(network)
        if len(self._paid) > ADDRESSES:
            self._paid.popitem(last=False)
        return wait


def _network(address: str) -> str:
    """What one caller has at least: an address, or in IPv6 all that begin alike.

    >>> _network("192.0.2.1"), _network("2001:db8::7"), _network("")
    ('192.0.2.1', '2001:db8::/64', '')
    """
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network(f"{address.partition('%')[0]}/64", strict=False))
    except ValueError:
        return address
