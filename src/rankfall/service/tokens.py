"""Random names that nobody can guess."""

from __future__ import annotations

import itertools
import secrets
from collections import deque

_pool: deque[str] = deque()
_made = itertools.count()


def token(size: int) -> str:
    """Random bytes as hexadecimal digits; drawn in bulk, as asking the system takes long."""
    try:
        return _pool.popleft()[: 2 * size]
    except IndexError:
        drawn = secrets.token_hex(1024 * 16)
        _pool.extend(drawn[i : i + 32] for i in range(0, len(drawn), 32))
        return secrets.token_hex(size)


def event_id(time: float) -> str:
    """The id of a list made at this time: the millisecond, a number that rises from list to list, and random digits.

    Feedback of one call is learned in the order of ids, so lists of one process have ids in the order they were made.
    """
    return f"{int(time * 1000):012x}{next(_made) & 0xFFFF:04x}{token(8)}"
