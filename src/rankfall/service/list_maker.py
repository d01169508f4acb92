"""Makes lists so that nobody waits for those of others: a few in each turn of the event loop, long ones in threads."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rankfall.wire import RankRequest

T = TypeVar("T")

LONG = 50_000
"""Scores from which on a list is made in a thread: at worst it takes some 20 ms."""
TURN = 0.005
"""Seconds for lists in one turn of the event loop; the last one may take longer."""
THREADS = 4


def scores_of(request: RankRequest, k: int, items: int) -> int:
    """How many scores a list needs at most, of ``k`` items if the request does not say, of a catalog of so many.

    >>> scores_of(RankRequest(candidates=["a", "b"]), 10, 1000)
    20
    """
    return (request.k or k) * (items if request.candidates is None else len(request.candidates))


class ListMaker:
    """The threads, whose lists are being made in them, and how much was done in this turn.

    While a list is made, the state of its owner is locked. So while a long one of an owner is under way, all others of
    that owner are made in threads too.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "rank")
        self._in_threads: Counter[tuple[str, str]] = Counter()
        self._spent: float | None = None  # seconds in this turn; None if it has made no list yet

    async def made(self, model: str, owner: str, scores: int, make: Callable[[], T]) -> T:
        """What ``make`` gives: a list that needs so many scores."""
        key = (model, owner)
        while scores <= LONG and key not in self._in_threads:
            if self._spent is None:
                asyncio.get_running_loop().call_soon(self._next_turn)
                self._spent = 0.0
            if self._spent < TURN:
                began = time.perf_counter()
                try:
                    return make()
                finally:
                    self._spent += time.perf_counter() - began
            await asyncio.sleep(0)
        self._in_threads[key] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, make)
        finally:
            self._in_threads[key] -= 1
            if not self._in_threads[key]:
                del self._in_threads[key]

    def _next_turn(self) -> None:
        self._spent = None

    def close(self) -> None:
        """Take no more."""
        self._threads.shutdown(wait=False)
