"""Whether a server can write and learn: what its writer last managed to do, and what it failed at since."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeAlias

Task: TypeAlias = Literal["write", "upkeep"]
"""What the writer does: carry out commands, and what is due between them."""

MOST_LAG = 30.0
"""Seconds that a server may be behind and still count as ready, unless it is told otherwise."""


class Health:
    """What went well and wrong; the writer's thread tells it, any thread may ask.

    >>> health = Health(monotonic=lambda: 100.0)
    >>> health.reason(folded_at=99.0)
    >>> health.reason(folded_at=60.0)
    'learning is 40 seconds behind'
    >>> health.went_wrong("write", "the store cannot be written")
    >>> health.reason(folded_at=99.0)
    'the store cannot be written'
    >>> health.went_well("write")
    >>> health.reason(folded_at=99.0)
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._problems: dict[Task, str] = {}
        self.wrote_at = monotonic()
        """When something was last written, by the monotonic clock."""

    def went_well(self, task: Task) -> None:
        """A task was done."""
        self._problems.pop(task, None)
        if task == "write":
            self.wrote_at = self._monotonic()

    def went_wrong(self, task: Task, reason: str) -> None:
        """A task failed. The reason is told to anybody who asks: no names of files or machines."""
        self._problems[task] = reason

    def failing(self, task: Task) -> bool:
        """Whether a task failed the last time."""
        return task in self._problems

    def reason(self, folded_at: float, most: float = MOST_LAG) -> str | None:
        """Why this server is not well; None if it is.

        ``folded_at`` is as of when the journal is folded; ``most`` the seconds that may lie between then and now.
        """
        for reason in list(self._problems.values()):
            return reason
        now = self._monotonic()
        if now - self.wrote_at > most:
            return f"nothing could be written for {now - self.wrote_at:.0f} seconds"
        if now - folded_at > most:
            return f"learning is {now - folded_at:.0f} seconds behind"
        return None
