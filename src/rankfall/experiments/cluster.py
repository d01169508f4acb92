"""Cells on a Dask cluster. The data goes along with the work, so workers need rankfall and nothing else."""

from __future__ import annotations

import time
from collections.abc import Generator
from importlib import import_module
from typing import Any

from rankfall import __version__
from rankfall.data.preparation import Prepared
from rankfall.errors import FileError, ProblemError, RankfallError
from rankfall.experiments.cells import read_cell, simulate_cell
from rankfall.experiments.plan import Cell

_PATIENCE = "30s"  # to reach the scheduler


def on_cluster(
    missing: list[Cell], prepared: Prepared, address: str
) -> Generator[tuple[Cell, bytes, float], None, None]:
    """Cells as they are finished, each with the bytes of its file and the seconds it took.

    A cell whose worker dies is given to another one. Left early, the cells not yet done are taken back.
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
        # Computed, not scattered: what a task gave can be had again when the worker that holds it dies.
        data = client.submit(_as_it_is, prepared, key=f"rankfall-data-{prepared.fingerprint}")
        futures = {client.submit(_there, cell, data, __version__, key=f"rankfall-{cell.key}"): cell for cell in missing}
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                yield futures[future], *_answer(futures[future], future)
                future.release()
        finally:
            client.cancel(list(futures))


def _answer(cell: Cell, future: Any) -> tuple[bytes, float]:
    try:
        content, seconds = future.result()
        read_cell(cell, content)
    except FileError as problem:
        raise ProblemError(f"the cluster gave something else for {cell}: {problem}") from problem
    except RankfallError:
        raise
    except Exception as problem:
        raise ProblemError(f"the cluster could not do {cell}: {type(problem).__name__}: {problem}") from problem
    return content, seconds


def _as_it_is(prepared: Prepared) -> Prepared:
    return prepared


def _there(cell: Cell, prepared: Prepared, version: str) -> tuple[bytes, float]:
    """What a worker does: one thread, as Dask gives it one."""
    if version != __version__:
        raise ProblemError(f"the workers have rankfall {__version__}, and this is {version}; both need the same")
    began = time.perf_counter()
    content = simulate_cell(cell, prepared, workers=1)
    return content, time.perf_counter() - began
