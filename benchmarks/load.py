"""How many pairs of rank and feedback the service handles a second, compared with a service that does nothing.

    python benchmarks/load.py --out load.md
    python benchmarks/load.py --quick
    python benchmarks/load.py --only "1000 global 1w sqlite" --seconds 30
    python benchmarks/load.py --before ../rankfall-before --only "1000 global 1w"

Each list and each feedback is durable before its response is sent. For every setting, in turns on this machine: a
service of the same stack that does nothing, with the same bodies and workers; then ``rankfall serve`` at full load, and
at half of that, with requests at random moments. The callers run on the same machine and take their share of it, so
processor time is counted too, for each pair, by process: the server with its workers, the processes of PostgreSQL, the
callers. Each row is written when it is measured.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import click
import httpx
import psutil
from load_table import Table, cells_of

sys.path.insert(
    0, str(Path(__file__).parents[1] / "tests" / "support")
)  # servers and databases are started as the tests do

from ports import ReservedPort
from postgres import Cluster, cluster, find_programs
from served import Served, make_catalog

HERE = Path(__file__).parent
CANDIDATES = 100
"""Items that the first list of each user is made out of."""


@dataclass(frozen=True)
class Setting:
    """One row: how many items, whose models, how many workers, which store."""

    items: int
    scope: str
    workers: int
    store: str
    users: int = 100_000

    @property
    def words(self) -> list[str]:
        """What --only selects by."""
        return [str(self.items), self.scope, f"{self.workers}w", self.store]

    @property
    def cells(self) -> list[str]:
        """How the table says it."""
        models = "1" if self.scope == "global" else f"{self.users:,}"
        return [f"{self.items:,}", models, str(self.workers), self.store]

    def __str__(self) -> str:
        whose = "one model" if self.scope == "global" else f"{self.users:,} users' models"
        return f"{self.items:,} items, {whose}, {self.workers} worker{'s'[: self.workers - 1]}, {self.store}"


SETTINGS = [
    Setting(items, scope, workers, store)
    for items, scope, store, workers in product((1_000, 100_000), ("global", "user"), ("sqlite", "postgresql"), (1, 2))
]


def call(
    port: int, seconds: float, connections: int, watch: dict[str, int] | None = None, **options: object
) -> dict[str, Any]:
    """Load the server at this port from a process of its own; ``watch`` has processes whose time is counted."""
    options = {**options, "port": port, "seconds": seconds, "connections": connections}
    arguments = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    arguments += [text for name, pid in (watch or {}).items() for text in ("--watch", f"{name}={pid}")]
    command = [sys.executable, str(HERE / "load_caller.py"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


@contextmanager
def serving_nothing(answer: str, workers: int) -> Iterator[tuple[int, int]]:
    """The port and the process of a service that does nothing."""
    reserved = ReservedPort()
    port = reserved.number
    options = ["--loop", "uvloop", "--http", "httptools", "--log-level", "warning", "--no-access-log"]
    place = ["--app-dir", str(HERE), "--port", str(port), "--workers", str(workers)]
    command = [sys.executable, "-m", "uvicorn", "do_nothing_service:app", *place, *options]
    process = subprocess.Popen(command, env={**os.environ, "RANKED": answer})
    try:
        while process.poll() is None:
            try:
                httpx.get(f"http://127.0.0.1:{port}/health/ready", trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()
        reserved.close()


def catalog_in(folder: Path, items: int) -> Path:
    """A file with so many items."""
    path = folder / f"{items}.parquet"
    return path if path.exists() else make_catalog(path, items=items, topics=20, features=10)


@contextmanager
def serving(
    setting: Setting, folder: Path, postgres: Cluster | None, code: str = "now", source: Path | None = None
) -> Iterator[Served]:
    """`rankfall serve` as the setting says, with a store of its own; ``source`` is the code to run, if not this."""
    catalog = catalog_in(folder, setting.items)
    name = "-".join([code, *setting.words])
    where: dict[str, Any] = {"data": folder / name} if postgres is None else {"store": postgres.fresh()}
    log = folder / f"{name}.log"
    environment = {} if source is None else {"PYTHONPATH": str(source / "src")}
    options = {"scope": setting.scope, "workers": setting.workers, **where}
    with Served(log=log, catalog=catalog, environment=environment, rank_wait=None, **options) as served:
        yield served


def give_all_users_a_model(served: Served, users: int, batch: int = 50) -> None:
    """One list and one feedback for every user there is; what is not served in time is asked for again.

    The lists are made out of a few items: a state is as large whatever its lists were chosen from, and all is served
    from all items later.
    """
    answer = served.client.get("/v1/catalog/items", params={"limit": CANDIDATES}).raise_for_status().json()
    few = [item["id"] for item in answer["items"]]
    waiting = [f"user {n}" for n in range(users)]
    while waiting:
        names, waiting = waiting[:batch], waiting[batch:]
        wanted = [{"model": "default", "user": name, "k": 10, "candidates": few} for name in names]
        lists = served.client.post("/v1/rank", json={"requests": wanted}).raise_for_status().json()["results"]
        waiting += [name for name, shown in zip(names, lists, strict=True) if "error" in shown]
        shown = [one["event_id"] for one in lists if "error" not in one]
        clicks = [{"event_id": event_id, "clicked": 1 + n % 10} for n, event_id in enumerate(shown)]
        if clicks:
            served.client.post("/v1/feedback", json={"feedback": clicks}).raise_for_status()


def memory(served: Served) -> float:
    """MiB in use by the server and its workers."""
    assert served.process is not None
    server = psutil.Process(served.process.pid)
    return float(sum(process.memory_info().rss for process in (server, *server.children(recursive=True))) / 2**20)


def measure(
    setting: Setting, codes: dict[str, Served], store: int | None, rounds: int, seconds: float, connections: int
) -> dict[str, dict[str, Any]]:
    """All figures of a setting, for each code. All take turns, so that other work on this machine slows all down."""
    some = next(iter(codes.values()))
    answer = some.client.post("/v1/models/default/rank", json={"user": "user 0", "k": 10}).raise_for_status().text

    def load(served: Served, seconds: float, **options: object) -> dict[str, Any]:
        assert served.process is not None
        watch = {"server": served.process.pid} | ({} if store is None else {"store": store})
        return call(served.port, seconds, connections, watch, users=setting.users, **options)

    found: dict[str, dict[str, Any]] = {code: {} for code in codes}
    turns: dict[str, list[dict[str, Any]]] = {code: [] for code in ("nothing", *codes)}
    with serving_nothing(answer, setting.workers) as (port, pid):
        for code, served in codes.items():
            load(served, 2.0)  # compiled, cached, connected
            found[code]["begin"] = memory(served)
        for _ in range(rounds):
            turns["nothing"].append(call(port, seconds, connections, {"server": pid}, users=setting.users))
            for code, served in codes.items():
                turns[code].append(load(served, seconds))
    for code, served in codes.items():
        full = middle(turns[code])
        half = load(served, rounds * seconds, rate=max(1.0, full["pairs"] / 2))
        found[code] |= {"nothing": middle(turns["nothing"]), "full": full, "half": half, "end": memory(served)}
    return found


def middle(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The round that is neither the best nor the worst, with the failures of all."""
    chosen = sorted(found, key=lambda one: one["requests"])[len(found) // 2]
    failures = [one["failure"] for one in found if one["failed"]]
    return chosen | {"failed": sum(one["failed"] for one in found), "failure": "; ".join(failures)}


def chosen(only: tuple[str, ...], quick: bool, users: int) -> list[Setting]:
    """The settings that have all the words of one of these; without any, all or the quick ones."""
    settings = [replace(setting, users=users) for setting in SETTINGS]
    if only:
        return [setting for setting in settings if any(set(words.split()) <= set(setting.words) for words in only)]
    return [setting for setting in settings if not quick or (setting.items == 1_000 and setting.workers == 1)]


@contextmanager
def stores(settings: list[Setting]) -> Iterator[tuple[Path, Cluster | None]]:
    """A folder, and PostgreSQL if it is wanted; both gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rankfall-load-")))
        postgres = None
        if any(setting.store == "postgresql" for setting in settings):
            programs = find_programs()
            if programs is None:
                raise click.ClickException("PostgreSQL is not installed; leave it out: --only sqlite")
            postgres = stack.enter_context(cluster(programs))
        yield folder, postgres


@click.command(help=__doc__)
@click.option("--seconds", type=float, default=8.0, show_default=True, help="How long a round takes.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="The middle one counts.")
@click.option("--connections", type=int, default=16, show_default=True)
@click.option("--users", type=click.IntRange(1), default=100_000, show_default=True, help="Number of users.")
@click.option("--only", multiple=True, help="Words of settings, such as '1000 global 1w sqlite'; may be repeated.")
@click.option("--quick", is_flag=True, help="1,000 items, one worker, a round of 3 seconds, users without models yet.")
@click.option(
    "--before",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with another version of the source: it takes its turns beside this one.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the table there, as Markdown.")
def main(
    seconds: float,
    rounds: int,
    connections: int,
    users: int,
    only: tuple[str, ...],
    quick: bool,
    before: Path | None,
    out: Path | None,
) -> None:
    """Measure and print."""
    seconds, rounds = (3.0, 1) if quick else (seconds, rounds)
    settings = chosen(only, quick, users)
    if not settings:
        words = sorted({word for setting in SETTINGS for word in setting.words})
        raise click.ClickException(f"no setting has these words; there are {', '.join(words)}")
    note = f"The middle of {rounds} rounds of {seconds:g} s, {connections} connections; server, store and callers"
    table = Table(f"{note} share {psutil.cpu_count()} cores.", click.echo, out)
    versions = {"now": None} if before is None else {"before": before, "now": None}
    with stores(settings) as (folder, postgres):
        for setting in settings:
            click.secho(f"{setting} ...", dim=True, err=True)
            database = postgres if setting.store == "postgresql" else None
            try:
                with ExitStack() as stack:
                    codes = {
                        code: stack.enter_context(serving(setting, folder, database, code, source))
                        for code, source in versions.items()
                    }
                    if setting.scope == "user" and not quick:
                        for served in codes.values():
                            give_all_users_a_model(served, setting.users)
                    store = None if database is None else database.pid
                    found = measure(setting, codes, store, rounds, seconds, connections)
            except RuntimeError as problem:
                click.secho(f"not served: {problem}", fg="red", err=True)
                continue
            for code, figures in found.items():
                table.add(cells_of(code, setting.cells, figures))
                for part in ("nothing", "full", "half"):
                    if figures[part]["failed"]:
                        click.secho(f"{part}: {figures[part]['failure']}", fg="red", err=True)


if __name__ == "__main__":
    main()
