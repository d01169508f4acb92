"""Random names that nobody can guess."""

from __future__ import annotations

import secrets
from collections import deque

_pool: deque[str] = deque()


def token(size: int) -> str:
    """Random bytes as hexadecimal digits; drawn in bulk, as asking the system takes long."""
    try:
        return _pool.popleft()[: 2 * size]
    except IndexError:
        drawn = secrets.token_hex(1024 * 16)
        _pool.extend(drawn[i : i + 32] for i in range(0, len(drawn), 32))
        return secrets.token_hex(size)
