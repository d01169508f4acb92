"""The file of API keys, read again when it changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from rankfall.errors import FileError
from rankfall.service.http.api_keys import Grant, Keys

LOOK_EVERY = 1.0
"""Seconds between looks at the file."""

_log = logging.getLogger("rankfall.service")


class KeysFile:
    """The keys in a file. A file that cannot be read, or is gone, leaves them as they were; the log says so."""

    def __init__(self, path: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path, self._monotonic = path, monotonic
        self._looked_at, self._seen = monotonic(), _signature(path)
        self._keys = Keys.read(path)

    def grant(self, key: str | None) -> Grant | None:
        """What a key allows; None for a wrong one."""
        if self._monotonic() - self._looked_at >= LOOK_EVERY:
            self._look()
        return self._keys.grant(key)

    def _look(self) -> None:
        self._looked_at = self._monotonic()
        seen = _signature(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._keys = Keys.read(self._path)
            _log.info("the API keys were read again")
        except FileError as problem:
            _log.error("the API keys stay as they were", extra={"reason": str(problem)})


def _signature(path: Path) -> tuple[int, int, int] | None:
    """What changes with the file; None if it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
