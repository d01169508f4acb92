"""What is soaked: two servers on PostgreSQL, or one on SQLite; each with a clock that can be set."""

import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from needs import small_disk
from postgres import Cluster
from served import Served, make_catalog
from waiting import wait_until

from rankfall.wire.rules import rule_to_json
from soaking.situations import CONTEXT, FEATURES, RULES, attributes_of

CLOCKS = Path(__file__).parent / "shifted_clock"
A_DAY = 86_400
BRIEF = 15.0
"""Seconds that the model `brief` waits for feedback."""
REWARDS = {"click": 1, "purchase": 4}
MODELS: dict[str, dict[str, Any]] = {
    "default": {"feedback_wait": A_DAY},
    "own": {"feedback_wait": A_DAY, "scope": "user", "across_users": True},
    "brief": {"feedback_wait": BRIEF},
    "changing": {"feedback_wait": A_DAY},
    "earning": {"feedback_wait": A_DAY, "rewards": REWARDS},
    "in_context": {"feedback_wait": A_DAY, "rewards": REWARDS, "context": CONTEXT, "request_features": FEATURES},
    "ruled": {
        "feedback_wait": A_DAY,
        "rules": [rule_to_json(rule) for rule in RULES],
        "control": 0.1,
        "randomize": 0.1,
    },
}


class ShiftedClock:
    """A file that the processes of a server look into: by how many seconds their clock is wrong."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(struct.pack("d", 0.0))
        self.environment = {
            "SHIFTED_CLOCK": str(path),
            "PYTHONPATH": os.pathsep.join([str(CLOCKS), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)

    def shift(self, seconds: float) -> None:
        """Set how wrong the clock is from now on."""
        self._shared[:] = struct.pack("d", seconds)


@dataclass
class Site:
    """Servers on one store, with what faults are done to."""

    name: str
    folder: Path
    place: str
    servers: list[Served]
    clocks: list[ShiftedClock]
    cluster: Cluster | None = None
    disk: Path | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        """Where the servers are."""
        return [served.url for served in self.servers]

    def export(self, out: Path) -> None:
        """Write the log of the store to a folder, as anybody can."""
        where = ["--data" if self.cluster is None else "--store", self.place]
        command = [sys.executable, "-m", "rankfall", "export", *where, "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr

    def keep(self) -> None:
        """Leave a copy of the store in the folder, to look into."""
        if self.cluster is None:
            shutil.copytree(self.place, self.folder / f"{self.name}-store", dirs_exist_ok=True)
        else:
            dump = [str(self.cluster.programs / "pg_dump"), "--file", str(self.folder / f"{self.name}.sql"), self.place]
            subprocess.run(dump, check=False, stdin=subprocess.DEVNULL)

    def make_models(self) -> None:
        """Make the models, and wait until all servers know them."""
        first = self.servers[0]
        first.patch("/v1/models/default", **MODELS["default"])
        for name, settings in MODELS.items():
            if name != "default":
                first.client.put(f"/v1/models/{name}", json=settings).raise_for_status()
        for served in self.servers:
            wait_until(lambda served=served: {one["name"] for one in served.get("/v1/models")["models"]} == set(MODELS))  # type: ignore[misc]

    def wait_ready(self) -> None:
        """Wait until all servers are ready."""
        for served in self.servers:
            served.wait_ready()

    def memory(self) -> list[float]:
        """MiB of each process of the servers."""
        found = []
        for served in self.servers:
            for process in processes(served):
                try:
                    found.append(process.memory_info().rss / 2**20)
                except psutil.NoSuchProcess:
                    continue
        return found


def processes(served: Served) -> list[psutil.Process]:
    """The processes of a server that are there, its first one and its workers."""
    try:
        first = psutil.Process(served.process.pid) if served.process is not None else None
        return [] if first is None else [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


@contextmanager
def postgresql_site(folder: Path, cluster: Cluster, workers: tuple[int, ...] = (2, 2)) -> Iterator[Site]:
    """Servers with so many workers each, on a database of their own."""
    url = cluster.fresh()
    with _site("postgresql", folder, url, {"store": url}, workers) as site:
        site.cluster = cluster
        yield site


@contextmanager
def sqlite_site(folder: Path, megabytes: int = 2048) -> Iterator[Site]:
    """One server, its file on a disk that can be filled, where one can be mounted."""
    with ExitStack() as stack:
        disk = None
        try:
            disk = stack.enter_context(small_disk(folder / "disk", megabytes))
        except pytest.skip.Exception as why:
            note = f"no full disks: {why}"
        data = (disk or folder) / "data"
        site = stack.enter_context(_site("sqlite", folder, str(data), {"data": data}, (1,)))
        site.disk = disk
        site.notes += [] if disk else [note]
        yield site


@contextmanager
def _site(name: str, folder: Path, place: str, where: dict[str, Any], workers: tuple[int, ...]) -> Iterator[Site]:
    catalog = make_catalog(folder / f"{name}.parquet", attributes=attributes_of)
    with ExitStack() as stack:
        servers, clocks = [], []
        for n, count in enumerate(workers):
            clock = ShiftedClock(folder / f"{name}-{n}.clock")
            options = {"workers": count, "in_memory": 100, **where}
            log = folder / f"{name}-{n}.log"
            served = Served(log=log, catalog=catalog, environment=clock.environment, rank_wait=None, **options)
            servers.append(stack.enter_context(served))
            clocks.append(clock)
        site = Site(name, folder, place, servers, clocks)
        site.make_models()
        yield site
