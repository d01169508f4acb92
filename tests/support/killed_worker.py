"""A Dask worker that dies in the middle of its work, once."""

import os
import signal
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin


class KilledOnce(WorkerPlugin):  # type: ignore[misc]
    """Kills the first worker that begins a third task: it has given results by then, and holds some of them.

    ``mark`` is a file that does not exist yet, in a folder that all workers reach: the worker that makes it is killed.
    """

    def __init__(self, mark: Path) -> None:
        self.mark = mark
        self.begun = 0

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Count tasks; called by the worker whenever one of them changes its state."""
        if finish == "executing":
            self.begun += 1
            if self.begun == 3 and self._first():
                os.kill(os.getpid(), signal.SIGKILL)

    def _first(self) -> bool:
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
