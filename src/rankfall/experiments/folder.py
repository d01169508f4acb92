"""Where a study keeps its results: files that appear whole, one for each cell, and nothing of another study."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from rankfall import __version__
from rankfall.errors import FileError, ProblemError
from rankfall.experiments.cells import parquet, read_cell
from rankfall.experiments.plan import Cell, Plan
from rankfall.experiments.study import Study
from rankfall.files import replacing

_LOG = logging.getLogger("rankfall")
_TIMED = {"policy", "steps", "seconds", "workers"}
_LIBRARIES = ("numpy", "numba", "scipy", "polars")


class Folder:
    """The results of one plan.

    ``study.toml`` and ``provenance.json`` come first; then ``cells/KEY.parquet``, each when it is done, and
    ``timings.json``; in the end ``runs.parquet``. Nothing but ``timings.json`` depends on when or how fast it ran.
    """

    def __init__(self, path: str | Path, plan: Plan) -> None:
        self.path, self.plan = Path(path), plan
        self.cells = self.path / "cells"
        self.runs = self.path / "runs.parquet"

    def check(self) -> None:
        """Refuse a folder with the results of something else."""
        study, said = self.path / "study.toml", self.path / "provenance.json"
        if not study.exists():
            if self.cells.exists() or self.runs.exists():
                raise FileError(f"{self.path} holds results without a study.toml; give another folder, or remove it")
            return
        try:
            other = Study.read(study)
        except ProblemError as problem:
            raise FileError(f"{problem}; give another folder, or remove it") from problem
        if other != self.plan.study:
            differ = [name for name in vars(other) if getattr(other, name) != getattr(self.plan.study, name)]
            raise FileError(
                f"{self.path} holds another study (it differs in {', '.join(differ)}); "
                "give another folder, or remove it"
            )
        if not said.exists():  # stopped between the two files: nothing was run yet
            return
        then, now = _json(said), self.provenance()
        for name, what in (("data", "data with the fingerprint"), ("rankfall", "version")):
            if then.get(name) != now[name]:
                raise FileError(
                    f"{self.path} was begun with {what} {then.get(name)}, and this is {now[name]}; "
                    "give another folder, or remove it"
                )
        for name in ("python", *_LIBRARIES):
            if then.get(name) != now[name]:
                _LOG.warning("%s was begun with %s %s, and this is %s", self.path, name, then.get(name), now[name])

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Check the folder, save the study, and keep others out until the block ends, however it ends."""
        self.check()
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FileError(f"cannot make the folder {self.path}: {problem.strerror}") from problem
        with _alone(self.path):
            for left in (*self.path.glob(".*.part"), *self.cells.glob(".*.part")):  # of a run that was killed
                left.unlink(missing_ok=True)
            for name, text in (
                ("study.toml", self.plan.study.to_toml()),
                ("provenance.json", json.dumps(self.provenance(), indent=1) + "\n"),
            ):
                if not (self.path / name).exists():
                    self._write(self.path / name, text.encode())
            yield

    def provenance(self) -> dict[str, Any]:
        """What the results depend on besides the study."""
        return {
            "rankfall": __version__,
            "seed": self.plan.study.seed,
            "dataset": self.plan.prepared.dataset,
            "data": self.plan.prepared.fingerprint,
            "notes": list(self.plan.notes),
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        }

    def missing(self) -> list[Cell]:
        """The cells still to do, in order; a damaged file or one of another cell counts as missing."""
        return [cell for cell in self.plan.cells if not self._has(cell)]

    def _has(self, cell: Cell) -> bool:
        path = self._path(cell)
        if not path.exists():
            return False
        try:
            read_cell(cell, path.read_bytes())
        except FileError as problem:
            _LOG.warning("%s; it is simulated again", problem)
            return False
        return True

    def keep(self, cell: Cell, content: bytes, seconds: float, workers: int) -> None:
        """Write a finished cell, and how long it took."""
        self._write(self._path(cell), content)
        timings = self.timings()
        timings[cell.key] = {
            "policy": cell.policy,
            "cell": str(cell),
            "steps": cell.interactions,
            "seconds": round(seconds, 3),
            "workers": workers,
        }
        self._write(self.path / "timings.json", (json.dumps(timings, indent=1) + "\n").encode())

    def timings(self) -> dict[str, dict[str, Any]]:
        """How long each cell took: for people and the report, never part of a result."""
        path = self.path / "timings.json"
        try:
            rows = _json(path) if path.exists() else {}
        except FileError:
            return {}
        return {key: row for key, row in rows.items() if isinstance(row, dict) and row.keys() >= _TIMED}

    def assemble(self) -> pl.DataFrame:
        """Put ``runs.parquet`` together, in the order of the grid, from all cells."""
        tables = {cell: read_cell(cell, self._path(cell).read_bytes()) for cell in self.plan.cells}
        runs = pl.concat(
            tables[cell].select(
                pl.lit(setting.study).alias("study"), pl.lit(setting.value, pl.Float64).alias("value"), pl.all()
            )
            for setting, cell in self.plan.rows
        )
        self._write(self.runs, parquet(runs))
        return runs

    def _path(self, cell: Cell) -> Path:
        return self.cells / f"{cell.key}.parquet"

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        with replacing(path) as temporary:
            temporary.write_bytes(content)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; it falls with the process, also by kill -9."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system; files are still whole or not there
        yield
        return
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(f"another process is at work in {folder}; wait for it, or give another folder") from None
        except OSError:  # a file system without locks
            _LOG.debug("no lock on %s", folder)
        yield


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {path}: {problem}; give another folder, or remove it") from problem
    if not isinstance(content, dict):
        raise FileError(f"{path} holds no table; give another folder, or remove it")
    return content
