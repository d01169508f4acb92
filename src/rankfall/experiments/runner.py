"""Carry out a study: the cells that are missing, here or on a cluster, and then the table of all runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl

from rankfall.arrays import whole
from rankfall.errors import ProblemError
from rankfall.experiments.cells import simulate_cell
from rankfall.experiments.cluster import on_cluster
from rankfall.experiments.folder import Folder
from rankfall.experiments.plan import Cell, Plan
from rankfall.experiments.simulation import cores


@dataclass(frozen=True)
class Status:
    """How far a study is: interactions and cells done and in all, and the cell at work."""

    done: int
    total: int
    cells_done: int
    cells: int
    at: str


Watch: TypeAlias = Callable[[Status], None]
Finished: TypeAlias = tuple[Cell, bytes, float]
"""A cell, its file, and the seconds it took."""


def carry_out(
    plan: Plan,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    watch: Watch | None = None,
) -> pl.DataFrame:
    """Run what is missing of a plan in a folder, and give all its runs.

    Finished cells are kept whatever happens; called again, it goes on from there, and ends with the same bytes.

    Parameters
    ----------
    workers : threads; by default one for each core. It does not change the results.
    scheduler : address of a Dask cluster to run the cells on.
    watch : told now and then how far it is; the first time with what was there already.
    """
    threads = cores() if workers is None else whole("workers", workers, ProblemError, low=1)
    folder = Folder(out, plan)
    with folder.opened():
        missing = folder.missing()
        follow = _Follow(plan, missing, watch)
        if scheduler is not None:
            finished, threads = on_cluster(missing, plan.prepared, scheduler), 1
        else:
            finished = _here(missing, plan, threads, follow)
        with closing(finished):  # at once, also when it is left early: a cluster takes its work back then
            for cell, content, seconds in finished:
                folder.keep(cell, content, seconds, threads)
                follow.finished(cell)
        return folder.assemble()


def _here(missing: list[Cell], plan: Plan, workers: int, follow: _Follow) -> Generator[Finished, None, None]:
    for cell in missing:
        follow.begins(cell)
        began = time.perf_counter()
        content = simulate_cell(cell, plan.prepared, workers=workers, progress=follow.steps)
        yield cell, content, time.perf_counter() - began


class _Follow:
    """Adds up what is done, for whoever watches."""

    def __init__(self, plan: Plan, missing: list[Cell], watch: Watch | None) -> None:
        self._watch = watch
        self._total, self._cells = plan.interactions, len(plan.cells)
        self._whole = self._total - sum(cell.interactions for cell in missing)  # in finished cells
        self._part = 0  # in the cell at work
        self._cells_done = self._cells - len(missing)
        self._at = ""
        self._tell()

    def begins(self, cell: Cell) -> None:
        self._at = str(cell)
        self._tell()

    def steps(self, n: int) -> None:
        self._part += n
        self._tell()

    def finished(self, cell: Cell) -> None:
        self._whole += cell.interactions
        self._part = 0
        self._cells_done += 1
        self._at = str(cell)
        self._tell()

    def _tell(self) -> None:
        if self._watch is not None:
            self._watch(Status(self._whole + self._part, self._total, self._cells_done, self._cells, self._at))
