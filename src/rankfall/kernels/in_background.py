"""Compiles in a thread what a server can do without at first.

A list is the same whichever kernels make it, so those that are much to compile can come later.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from rankfall.kernels.kept_code import only_one_compiles

_thread: threading.Thread | None = None


def start(uses: Sequence[Callable[[], None]]) -> threading.Thread:
    """Call these functions, which use kernels, in a thread of its own; of several processes one does so at a time."""

    def work() -> None:
        try:
            with only_one_compiles():
                for use in uses:
                    use()
        except Exception:  # whoever needs them compiles them, or meets the error
            logging.getLogger("rankfall").exception("kernels could not be compiled in the background")

    global _thread
    _thread = threading.Thread(target=work, name="compile", daemon=True)
    _thread.start()
    return _thread


def working() -> bool:
    """Whether kernels are still being compiled in the background, as seen from any other thread than that one."""
    thread = _thread
    return thread is not None and thread.is_alive() and thread is not threading.current_thread()
