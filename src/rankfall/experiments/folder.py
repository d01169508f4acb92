"""Where a study keeps its results: files that appear whole, one for each chunk, and nothing of another study."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import filelock
import polars as pl

from rankfall import __version__
from rankfall.errors import FileError, ProblemError
from rankfall.experiments.chunks import parquet, read_chunk
from rankfall.experiments.plan import Chunk, Plan
from rankfall.experiments.result_table import runs_table
from rankfall.experiments.study import Study
from rankfall.files import make_folder, replacing

_LOG = logging.getLogger("rankfall")
_TIMED = {"chunk", "policy", "steps", "seconds"}
_LIBRARIES = ("numpy", "numba", "scipy", "polars")


class Folder:
    """The results of one plan.

    ``study.toml`` and ``provenance.json`` come first; then ``chunks/KEY.parquet``, each when it is done, with a line in
    ``timings.jsonl``; in the end ``runs.parquet``. Nothing but the timings depends on when or how fast it ran.
    """

    def __init__(self, path: str | Path, plan: Plan) -> None:
        self.path, self.plan = Path(path), plan
        self.chunks = self.path / "chunks"
        self.runs = self.path / "runs.parquet"

    def check(self) -> None:
        """Refuse a folder with the results of something else."""
        study, said = self.path / "study.toml", self.path / "provenance.json"
        if not study.exists():
            if self.chunks.exists() or self.runs.exists():
                raise FileError(f"{self.path} holds results without a study.toml; give another folder, or remove it")
            return
        try:
            other = Study.read(study)
        except ProblemError as problem:
            raise FileError(f"{problem}; give another folder, or remove it") from problem
        ours = vars(self.plan.study)
        differ = [name for name in vars(other) if name != "data" and getattr(other, name) != ours[name]]
        if differ:
            raise FileError(
                f"{self.path} holds another study (it differs in {', '.join(differ)}); "
                "give another folder, or remove it"
            )
        if not said.exists():  # stopped between the two files: nothing was run yet
            return
        then, now = _json(said), self.provenance()
        for name, what in (("data", "data"), ("policies", "policies of your own"), ("rankfall", "version")):
            if then.get(name) != now[name]:
                raise FileError(
                    f"{self.path} was begun with {what} {_shown(then.get(name))}, and this is {_shown(now[name])}; "
                    "give another folder, or remove it"
                )
        for name in ("python", *_LIBRARIES):
            if then.get(name) != now[name]:
                _LOG.warning("%s was begun with %s %s, and this is %s", self.path, name, then.get(name), now[name])

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Check the folder, save the study, and keep others out until the block ends, however it ends."""
        self.check()
        make_folder(self.chunks)
        with self._locked():
            for left in (*self.path.glob(".*.part"), *self.chunks.glob(".*.part")):  # of a run that was killed
                left.unlink(missing_ok=True)
            for name, text in (
                ("study.toml", self.plan.known_data.to_toml()),
                ("provenance.json", json.dumps(self.provenance(), indent=1) + "\n"),
            ):
                if not (self.path / name).exists():
                    self._write(self.path / name, text.encode())
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock; the system releases it when the process ends, also by kill -9."""
        lock = filelock.FileLock(self.path / ".lock")
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise FileError(f"another process is at work in {self.path}; wait for it, or give another folder") from None
        except (NotImplementedError, OSError):  # a file system without locks; files are still whole or not there
            _LOG.debug("no lock on %s", self.path)
        try:
            yield
        finally:
            lock.release()

    def provenance(self) -> dict[str, Any]:
        """What the results depend on besides the study."""
        setups = self.plan.setups
        return {
            "rankfall": __version__,
            "seed": self.plan.study.seed,
            "data": dict(sorted({pair for setup in setups for pair in setup.data})),
            "policies": {setup.policy: setup.source for setup in setups if setup.source is not None},
            "notes": list(self.plan.notes),
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        }

    def missing(self) -> list[Chunk]:
        """The chunks still to do, in order; a damaged file or one of another chunk counts as missing."""
        return [chunk for chunk in self.plan.chunks if not self._has(chunk)]

    def _has(self, chunk: Chunk) -> bool:
        path = self._path(chunk)
        if not path.exists():
            return False
        try:
            read_chunk(chunk, path.read_bytes())
        except FileError as problem:
            _LOG.warning("%s; it is simulated again", problem)
            return False
        return True

    def keep(self, chunk: Chunk, content: bytes, seconds: float) -> None:
        """Write a finished chunk, and how long it took."""
        self._write(self._path(chunk), content)
        line = {
            "chunk": chunk.key,
            "policy": chunk.setup.name,
            "steps": chunk.steps,
            "seconds": round(seconds, 3),
        }
        with (self.path / "timings.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def timings(self) -> list[dict[str, Any]]:
        """How long each chunk took: for people and the report, never part of a result."""
        found = {}
        path = self.path / "timings.jsonl"
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:  # the last line of a run that was killed
                continue
            if isinstance(row, dict) and row.keys() >= _TIMED:
                found[row["chunk"]] = row
        return list(found.values())

    def assemble(self) -> pl.DataFrame:
        """Put ``runs.parquet`` together from all chunks, in the order of the study."""
        tables = {
            setup: pl.concat([read_chunk(chunk, self._path(chunk).read_bytes()) for chunk in setup.chunks])
            for setup in self.plan.setups
        }
        runs = runs_table(self.plan, tables)
        self._write(self.runs, parquet(runs))
        return runs

    def _path(self, chunk: Chunk) -> Path:
        return self.chunks / f"{chunk.key}.parquet"

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        with replacing(path) as temporary:
            temporary.write_bytes(content)


def _shown(value: object) -> str:
    return ", ".join(f"{name}: {item}" for name, item in value.items()) if isinstance(value, dict) else str(value)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {path}: {problem}; give another folder, or remove it") from problem
    if not isinstance(content, dict):
        raise FileError(f"{path} holds no table; give another folder, or remove it")
    return content
