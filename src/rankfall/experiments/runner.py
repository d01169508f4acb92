"""Run a study: the chunks that are missing, here or on a cluster, and then the table of all runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl

from rankfall.arrays import whole
from rankfall.errors import ProblemError
from rankfall.experiments.cluster import on_cluster
from rankfall.experiments.folder import Folder
from rankfall.experiments.local import on_this_machine
from rankfall.experiments.plan import Chunk, Plan
from rankfall.experiments.simulation import cores


@dataclass(frozen=True)
class Status:
    """How far a study is: steps and chunks, done and in all, and the chunk finished last."""

    done: int
    total: int
    chunks_done: int
    chunks: int
    last: str


Watch: TypeAlias = Callable[[Status], None]


def run_study(
    plan: Plan,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    watch: Watch | None = None,
) -> pl.DataFrame:
    """Run what is missing of a plan in a folder, and give all its runs.

    Finished chunks are kept whatever happens; called again, it goes on from there, and ends with the same bytes.

    Parameters
    ----------
    workers : threads or processes; by default one for each core. It does not change the results.
    scheduler : address of a Dask cluster to run the chunks on.
    watch : told now and then how far it is; the first time with what was there already.
    """
    at_once = cores() if workers is None else whole("workers", workers, ProblemError, low=1)
    folder = Folder(out, plan)
    with folder.opened():
        missing = folder.missing()
        counter = _Counter(plan, missing, watch)
        if scheduler is not None:
            finished = on_cluster(missing, plan, scheduler)
        else:
            finished = on_this_machine(missing, plan, at_once, counter.steps)
        with closing(finished):  # at once, also when it is left early: a cluster takes its work back then
            for chunk, content, seconds in finished:
                folder.keep(chunk, content, seconds)
                counter.finished(chunk)
        return folder.assemble()


class _Counter:
    """Adds up what is done, for whoever watches."""

    def __init__(self, plan: Plan, missing: list[Chunk], watch: Watch | None) -> None:
        self._watch, self._lock = watch, threading.Lock()
        self._total, self._chunks = plan.steps, len(plan.chunks)
        self._kept = self._total - sum(chunk.steps for chunk in missing)
        self._seen = self._kept  # and what chunks under way have told of
        self._chunks_done = self._chunks - len(missing)
        self._last = ""
        self._tell()

    def steps(self, n: int) -> None:
        """So many steps were done in some chunk; called from any thread."""
        with self._lock:
            self._seen += n
            self._tell()

    def finished(self, chunk: Chunk) -> None:
        """A chunk was done and kept."""
        with self._lock:
            self._kept += chunk.steps
            self._seen = max(self._seen, self._kept)
            self._chunks_done += 1
            self._last = str(chunk)
            self._tell()

    def _tell(self) -> None:
        if self._watch is not None:
            self._watch(Status(self._seen, self._total, self._chunks_done, self._chunks, self._last))
