"""How many pairs of rank and feedback the service handles a second, compared with a service that does nothing.

    python benchmarks/load.py --out load.md
    python benchmarks/load.py --quick
    python benchmarks/load.py --only "1000 global 1w sqlite" --seconds 30

Each list and each feedback is durable before its response is sent. For every setting, in turns on this machine: a
service of the same stack that does nothing, with the same bodies and workers; then ``rankfall serve`` at full load, and
at half of that, with requests at random moments. The callers run on the same machine and take their share of it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import click
import httpx
import psutil
from rich.console import Console
from rich.table import Table

sys.path.insert(
    0, str(Path(__file__).parents[1] / "tests" / "support")
)  # servers and databases are started as the tests do

from ports import ReservedPort
from postgres import Cluster, cluster, find_programs
from served import Served, make_catalog

HERE = Path(__file__).parent
USERS = 100_000


@dataclass(frozen=True)
class Setting:
    """One row: how many items, whose models, how many workers, which store."""

    items: int
    scope: str
    workers: int
    store: str

    @property
    def words(self) -> list[str]:
        """What --only selects by."""
        return [str(self.items), self.scope, f"{self.workers}w", self.store]

    def __str__(self) -> str:
        whose = "one model" if self.scope == "global" else f"{USERS:,} users' models"
        return f"{self.items:,} items, {whose}, {self.workers} worker{'s'[: self.workers - 1]}, {self.store}"


SETTINGS = [
    Setting(items, scope, workers, store)
    for items, scope, store, workers in product((1_000, 100_000), ("global", "user"), ("sqlite", "postgresql"), (1, 2))
]


def call(port: int, seconds: float, connections: int, **options: object) -> dict[str, Any]:
    """Load the server at this port from a process of its own."""
    options = {"port": port, "seconds": seconds, "connections": connections, "users": USERS, **options}
    arguments = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    command = [sys.executable, str(HERE / "load_caller.py"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


@contextmanager
def serving_nothing(answer: str, workers: int) -> Iterator[int]:
    """The port of a service that does nothing."""
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
        yield port
    finally:
        process.terminate()
        process.wait()
        reserved.close()


@contextmanager
def serving(setting: Setting, folder: Path, postgres: Cluster | None) -> Iterator[Served]:
    """`rankfall serve` as the setting says, with a store of its own."""
    catalog = folder / f"{setting.items}.parquet"
    if not catalog.exists():
        make_catalog(catalog, items=setting.items, topics=20, features=10)
    name = "-".join(setting.words)
    where: dict[str, Any] = {"data": folder / name} if postgres is None else {"store": postgres.fresh()}
    log = folder / f"{name}.log"
    with Served(log=log, catalog=catalog, scope=setting.scope, workers=setting.workers, **where) as served:
        yield served


def give_all_users_a_model(served: Served, batch: int = 100) -> None:
    """One list and one feedback for every user there is."""
    for start in range(0, USERS, batch):
        wanted = [{"model": "default", "user": f"user {n}", "k": 10} for n in range(start, start + batch)]
        lists = served.client.post("/v1/rank", json={"requests": wanted}).raise_for_status().json()["results"]
        clicks = [{"event_id": shown["event_id"], "clicked": 1 + n % 10} for n, shown in enumerate(lists)]
        served.client.post("/v1/feedback", json={"feedback": clicks}).raise_for_status()


def memory(served: Served) -> float:
    """MiB in use by the server and its workers."""
    assert served.process is not None
    server = psutil.Process(served.process.pid)
    return float(sum(process.memory_info().rss for process in (server, *server.children(recursive=True))) / 2**20)


def measure(setting: Setting, served: Served, rounds: int, seconds: float, connections: int) -> dict[str, Any]:
    """All figures of a row. Both services take turns, so that other work on this machine slows both down alike."""
    answer = served.client.post("/v1/models/default/rank", json={"user": "user 0", "k": 10}).raise_for_status().text
    with serving_nothing(answer, setting.workers) as port:
        call(served.port, 2.0, connections)  # compiled, cached, connected
        begin = memory(served)
        turns = [(call(port, seconds, connections), call(served.port, seconds, connections)) for _ in range(rounds)]
    nothing, full = (middle(list(found)) for found in zip(*turns, strict=True))
    half = call(served.port, rounds * seconds, connections, rate=max(1.0, full["pairs"] / 2))
    return {"nothing": nothing, "full": full, "half": half, "begin": begin, "end": memory(served)}


def middle(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The round that is neither the best nor the worst, with the failures of all."""
    chosen = sorted(found, key=lambda one: one["requests"])[len(found) // 2]
    failures = [one["failure"] for one in found if one["failed"]]
    return chosen | {"failed": sum(one["failed"] for one in found), "failure": "; ".join(failures)}


COLUMNS = [
    "items",
    "models",
    "workers",
    "store",
    "nothing, requests/s",
    "pairs/s",
    "requests/s",
    "of nothing",
    "rank p50 / p99 ms",
    "at half load",
    "memory MiB",
    "failed",
]


def row(setting: Setting, found: dict[str, Any]) -> list[str]:
    """The cells of a row."""
    full, half, nothing = found["full"], found["half"], found["nothing"]
    return [
        f"{setting.items:,}",
        "1" if setting.scope == "global" else f"{USERS:,}",
        str(setting.workers),
        setting.store,
        f"{nothing['requests']:,.0f}",
        f"{full['pairs']:,.0f}",
        f"{full['requests']:,.0f}",
        f"{full['requests'] / nothing['requests']:.0%}",
        f"{full['rank']['p50']:.1f} / {full['rank']['p99']:.1f}",
        f"{half['rank']['p50']:.1f} / {half['rank']['p99']:.1f}",
        f"{found['begin']:,.0f} → {found['end']:,.0f}",
        str(nothing["failed"] + full["failed"] + half["failed"]),
    ]


def markdown(rows: list[list[str]], note: str) -> str:
    """The table as a page keeps it."""
    lines = [COLUMNS, ["---:"] * len(COLUMNS), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{note}\n"


def chosen(only: tuple[str, ...], quick: bool) -> list[Setting]:
    """The settings that have all the words of one of these; without any, all or the quick ones."""
    if only:
        return [setting for setting in SETTINGS if any(set(words.split()) <= set(setting.words) for words in only)]
    return [setting for setting in SETTINGS if not quick or (setting.items == 1_000 and setting.workers == 1)]


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
@click.option("--only", multiple=True, help="Words of settings, such as '1000 global 1w sqlite'; may be repeated.")
@click.option("--quick", is_flag=True, help="1,000 items, one worker, a round of 3 seconds, users without models yet.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the table there, as Markdown.")
def main(seconds: float, rounds: int, connections: int, only: tuple[str, ...], quick: bool, out: Path | None) -> None:
    """Measure and print."""
    seconds, rounds = (3.0, 1) if quick else (seconds, rounds)
    settings = chosen(only, quick)
    if not settings:
        words = sorted({word for setting in SETTINGS for word in setting.words})
        raise click.ClickException(f"no setting has these words; there are {', '.join(words)}")
    console, rows = Console(), []
    table = Table(*COLUMNS)
    with stores(settings) as (folder, postgres):
        for setting in settings:
            console.print(f"{setting} ...", style="dim")
            try:
                with serving(setting, folder, postgres if setting.store == "postgresql" else None) as served:
                    if setting.scope == "user" and not quick:
                        give_all_users_a_model(served)
                    found = measure(setting, served, rounds, seconds, connections)
            except RuntimeError as problem:
                console.print(f"not served: {problem}", style="red", markup=False)
                continue
            rows.append(row(setting, found))
            table.add_row(*rows[-1])
            for part in ("nothing", "full", "half"):
                if found[part]["failed"]:
                    console.print(f"{part}: {found[part]['failure']}", style="red", markup=False)
    console.print(table)
    if out is not None:
        cores = psutil.cpu_count()
        note = f"The middle of {rounds} rounds of {seconds:g} s, {connections} connections; server, store and callers"
        out.write_text(markdown(rows, f"{note} share {cores} cores."))


if __name__ == "__main__":
    main()
