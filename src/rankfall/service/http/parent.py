"""A worker ends when the server that started it is gone, even if that was killed and could tell nobody."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading

GRACE = 30.0
"""Seconds a worker may take to end in good order."""

_log = logging.getLogger("rankfall.service")


def end_with_parent() -> None:
    """Have this process end in good order when its parent ends; does nothing in a process that has none."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        _log.warning("the server that started this worker is gone; the worker ends")
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(GRACE)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
