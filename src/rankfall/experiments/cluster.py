"""Chunks on a Dask cluster. The data goes along with the work, so workers need rankfall and nothing else."""

from __future__ import annotations

from collections.abc import Generator
from importlib import import_module
from typing import Any

from rankfall import __version__
from rankfall.errors import FileError, ProblemError, RankfallError
from rankfall.experiments.chunks import read_chunk
from rankfall.experiments.local import Finished, timed
from rankfall.experiments.plan import Chunk, Plan

_PATIENCE = "30s"  # to reach the scheduler


def on_cluster(missing: list[Chunk], plan: Plan, address: str) -> Generator[Finished, None, None]:
    """Chunks as they are finished, each with the bytes of its file and the seconds it took.

    A chunk whose worker dies is given to another one. Left early, the chunks not yet done are taken back.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError as problem:
        raise ProblemError("a cluster needs more packages; get them with: pip install 'rankfall[cluster]'") from problem
    if not missing:
        return
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        raise ProblemError(f"no Dask scheduler answers at {address}: {problem}") from problem
    with client:
        # Computed, not scattered: the result of a task can be computed again when the worker that holds it dies.
        data = {
            key: client.submit(_as_it_is, plan.data[key], key=f"rankfall-data-{fingerprint}")
            for key, fingerprint in {pair for chunk in missing for pair in chunk.setup.data}
        }
        futures = {
            client.submit(
                _on_worker,
                chunk,
                {key: data[key] for key, _ in chunk.setup.data},
                __version__,
                key=f"rankfall-{chunk.key}",
            ): chunk
            for chunk in missing
        }
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                yield futures[future], *_result(futures[future], future)
                future.release()
        finally:
            client.cancel(list(futures))


def _result(chunk: Chunk, future: Any) -> tuple[bytes, float]:
    try:
        content, seconds = future.result()
        read_chunk(chunk, content)
    except FileError as problem:
        raise ProblemError(f"the cluster gave something else for {chunk}: {problem}") from problem
    except RankfallError:
        raise
    except Exception as problem:
        raise ProblemError(f"the cluster could not do {chunk}: {type(problem).__name__}: {problem}") from problem
    return content, seconds


def _as_it_is(value: Any) -> Any:
    return value


def _on_worker(chunk: Chunk, data: dict[str, Any], version: str) -> tuple[bytes, float]:
    """What a worker does, in one thread, as Dask gives it one."""
    if version != __version__:
        raise ProblemError(f"the workers have rankfall {__version__}, and this is {version}; both need the same")
    return timed(chunk, data)
