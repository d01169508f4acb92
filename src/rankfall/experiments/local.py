"""Chunks on this machine: compiled ones side by side in threads, the others in processes of their own."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from typing import TypeAlias

from rankfall.experiments.chunks import simulate_chunk
from rankfall.experiments.plan import Chunk, Plan
from rankfall.experiments.policy_choice import is_importable
from rankfall.experiments.populations import Data
from rankfall.experiments.simulation import Progress

Finished: TypeAlias = tuple[Chunk, bytes, float]
"""A chunk, its file, and the seconds it took."""

_PATIENCE = 0.05  # seconds until a signal is heard, which may be handed to another thread and not wake this one


class _Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """Ends a chunk whose results nobody waits for any more."""


def on_this_machine(
    missing: Iterable[Chunk], plan: Plan, workers: int, progress: Progress
) -> Generator[Finished, None, None]:
    """Chunks as they are finished; the results are the same with any number of workers, in threads or processes.

    Threads run side by side only where a policy and its user are one compiled loop. Processes cost a second to start,
    so a single worker does without; and a policy that cannot be imported cannot be sent to them.
    """
    chunks = list(missing)
    in_processes = [
        chunk
        for chunk in chunks
        if workers > 1 and chunk.setup not in plan.compiled and is_importable(chunk.setup.policy)
    ]
    in_threads = [chunk for chunk in chunks if chunk not in set(in_processes)]
    if in_threads:
        yield from _in_threads(in_threads, plan, workers, progress)
    if in_processes:
        yield from _in_processes(in_processes, plan, workers)


def _in_threads(chunks: list[Chunk], plan: Plan, workers: int, progress: Progress) -> Generator[Finished, None, None]:
    stopped = threading.Event()

    def tick(n: int) -> None:
        if stopped.is_set():
            raise _Stopped
        progress(n)

    with ThreadPoolExecutor(workers) as pool:
        yield from _finished(
            pool, [pool.submit(timed, chunk, plan.data_of(chunk.setup), tick) for chunk in chunks], chunks, stopped.set
        )


def _in_processes(chunks: list[Chunk], plan: Plan, workers: int) -> Generator[Finished, None, None]:
    context = get_context("spawn")
    stopped = context.Event()
    with ProcessPoolExecutor(workers, context, _begin_process, (plan.data, stopped)) as pool:
        yield from _finished(pool, [pool.submit(_in_this_process, chunk) for chunk in chunks], chunks, stopped.set)


def _finished(
    pool: Executor, futures: list[Future[tuple[bytes, float]]], chunks: list[Chunk], stop: Callable[[], None]
) -> Generator[Finished, None, None]:
    """Results as they come; left early, the work that is under way is stopped and the rest is not begun."""
    waiting = dict(zip(futures, chunks, strict=True))
    try:
        while waiting:
            done, _ = wait(waiting, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), *future.result()
    finally:
        stop()
        pool.shutdown(wait=True, cancel_futures=True)


def timed(chunk: Chunk, data: Data, progress: Progress | None = None) -> tuple[bytes, float]:
    """The file of a chunk, and the seconds of work it took, whatever else the machine did meanwhile."""
    began = time.thread_time()
    content = simulate_chunk(chunk, data, progress)
    return content, time.thread_time() - began


_data: Data = {}
_stopped: Event | None = None


def _begin_process(data: Data, stopped: Event) -> None:
    """Take over the data, leave Ctrl-C to the parent, and end when the parent does, also by kill -9."""
    global _data, _stopped
    _data, _stopped = data, stopped
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_this_process(chunk: Chunk) -> tuple[bytes, float]:
    def tick(_: int) -> None:
        if _stopped is not None and _stopped.is_set():
            raise _Stopped

    return timed(chunk, _data, tick)
