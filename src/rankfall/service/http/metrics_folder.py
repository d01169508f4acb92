"""The folder in which several workers add up their metrics: gone when the server ends, or when the next one starts."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

_PREFIX, _LOCK = "rankfall-metrics-", ".lock"


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """A new folder, removed at the end. Those of servers that were killed are removed first.

    Beside each folder is a lock that its server holds as long as it lives.
    """
    root = Path(tempfile.gettempdir())
    _remove_stale(root)
    folder = root / f"{_PREFIX}{secrets.token_hex(8)}"
    lock = Path(f"{folder}{_LOCK}")
    with FileLock(lock):
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


def _remove_stale(root: Path) -> None:
    for lock in root.glob(f"{_PREFIX}*{_LOCK}"):
        try:
            with FileLock(lock, timeout=0):
                shutil.rmtree(str(lock).removesuffix(_LOCK), ignore_errors=True)
                lock.unlink(missing_ok=True)
        except (Timeout, OSError):  # its server lives, or it is somebody else's
            continue
