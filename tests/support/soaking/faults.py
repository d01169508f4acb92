"""What can go wrong, one function each. A fault is over when its function returns: everything is up again.

`hold` says how long a fault lasts: in a soak for a while, by chance; in a test not at all, so that time plays no part.
"""

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from needs import fill
from served import Served
from waiting import wait_until

from soaking.site import Site, processes


@dataclass
class Chance:
    """What is left to chance: which server, for how long."""

    rng: random.Random
    longest: float = 0.0

    def hold(self) -> None:
        """Let a fault last."""
        if self.longest:
            time.sleep(self.rng.uniform(0, self.longest))

    def server(self, site: Site) -> Served:
        """Any server."""
        return self.rng.choice(site.servers)


Fault = Callable[[Site, Chance], None]


def kill_server(site: Site, chance: Chance) -> None:
    """SIGKILL to a server and its workers; now and then once more while it starts."""
    served = chance.server(site)
    served.kill()
    chance.hold()
    if chance.rng.random() < 0.2:
        served.spawn()
        if chance.rng.random() < 0.5:
            served.wait_listening()
        served.kill()
    served.start()


def kill_first_process(site: Site, chance: Chance) -> None:
    """SIGKILL to the first process of a server only: its workers must not outlive it."""
    served = chance.server(site)
    everyone = processes(served)
    everyone[0].kill()
    assert served.process is not None
    served.process.wait()
    wait_until(lambda: not any(_runs(process) for process in everyone))
    served.start()


def kill_worker(site: Site, chance: Chance) -> None:
    """SIGKILL to one worker, in place of which the server starts another."""
    served = chance.server(site)
    workers = workers_of(served)
    if len(workers) < 2:
        kill_server(site, chance)
        return
    gone = chance.rng.choice(workers)
    gone.kill()
    wait_until(lambda: len([one for one in workers_of(served) if one.pid != gone.pid]) >= len(workers))


def stop_server(site: Site, chance: Chance) -> None:
    """A server ends by itself, saves what it knows, and starts again."""
    served = chance.server(site)
    served.stop()
    chance.hold()
    served.start()


def freeze_server(site: Site, chance: Chance) -> None:
    """A server stands still, in the middle of whatever it does."""
    served = chance.server(site)
    with frozen(processes(served)):
        chance.hold()


def set_clock(site: Site, chance: Chance) -> None:
    """The clock of a server is wrong from now on; half of the time it starts with it."""
    n = chance.rng.randrange(len(site.servers))
    site.clocks[n].shift(chance.rng.choice([0.0, -3600.0, -25.0, 25.0, 3600.0]))
    if chance.rng.random() < 0.5:
        site.servers[n].stop()
        site.servers[n].start()


# PostgreSQL


def crash_database(site: Site, chance: Chance) -> None:
    """PostgreSQL crashes, and comes back."""
    assert site.cluster is not None
    site.cluster.stop("immediate")
    chance.hold()
    site.cluster.start()


def kill_backend(site: Site, chance: Chance) -> None:
    """SIGKILL to one process of PostgreSQL that serves us: it ends all connections and recovers."""
    assert site.cluster is not None
    pids = _backends(site)
    if pids:
        with suppress(ProcessLookupError):
            os.kill(chance.rng.choice(pids), signal.SIGKILL)
    wait_until(lambda: _answers(site))


def cut_connections(site: Site, _chance: Chance) -> None:
    """All connections to the database are cut."""
    assert site.cluster is not None
    site.cluster.cut(site.place)


def freeze_database(site: Site, chance: Chance) -> None:
    """All of PostgreSQL stands still."""
    assert site.cluster is not None
    first = psutil.Process(site.cluster.pid)
    with frozen([first, *first.children(recursive=True)]):
        chance.hold()


def freeze_backend(site: Site, chance: Chance) -> None:
    """One process of PostgreSQL that serves us stands still, with whatever locks it holds."""
    with suppress(psutil.NoSuchProcess), frozen([psutil.Process(pid) for pid in _backends(site)[:1]]):
        chance.hold()


def leave_transaction_open(site: Site, chance: Chance) -> None:
    """Strangers have open transactions that write, in our database and in another one."""
    assert site.cluster is not None
    with psycopg.connect(site.place) as ours, psycopg.connect(site.cluster.url()) as other:
        for connection in (ours, other):
            connection.execute("CREATE TEMPORARY TABLE stranger (n INTEGER)")
            connection.execute("INSERT INTO stranger VALUES (1)")
        with suppress(psycopg.OperationalError):
            chance.hold()
            ours.rollback()
            other.rollback()


# SQLite


def fill_disk(site: Site, chance: Chance) -> None:
    """The disk is full for a while."""
    assert site.disk is not None
    filler = site.disk / "filler"
    fill(filler)
    chance.hold()
    filler.unlink()


def lock_database(site: Site, chance: Chance) -> None:
    """Another program holds the database locked."""
    (path,) = Path(site.place).glob("*.sqlite")
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        chance.hold()
        connection.execute("ROLLBACK")


KILLS: dict[str, dict[str, Fault]] = {
    "postgresql": {
        "kill -9 of a server": kill_server,
        "kill -9 of a server's first process": kill_first_process,
        "kill -9 of a worker": kill_worker,
        "kill -9 of a backend of PostgreSQL": kill_backend,
        "crash of PostgreSQL": crash_database,
    },
    "sqlite": {"kill -9 of a server": kill_server},
}
OTHERS: dict[str, dict[str, Fault]] = {
    "postgresql": {
        "stop and start of a server": stop_server,
        "server frozen": freeze_server,
        "clock set": set_clock,
        "connections cut": cut_connections,
        "PostgreSQL frozen": freeze_database,
        "backend of PostgreSQL frozen": freeze_backend,
        "transaction left open by a stranger": leave_transaction_open,
    },
    "sqlite": {
        "stop and start of a server": stop_server,
        "server frozen": freeze_server,
        "clock set": set_clock,
        "disk full": fill_disk,
        "database locked": lock_database,
    },
}


def faults_of(site: Site) -> tuple[dict[str, Fault], dict[str, Fault]]:
    """The kills and the other faults that can be done to a site here."""
    others = {name: fault for name, fault in OTHERS[site.name].items() if fault is not fill_disk or site.disk}
    return KILLS[site.name], others


@contextmanager
def frozen(processes: list[psutil.Process]) -> Iterator[None]:
    """Have processes stand still while the block runs."""
    stopped = []
    try:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
                stopped.append(process)
        yield
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def workers_of(served: Served) -> list[psutil.Process]:
    """The processes of a server that serve, if it has several."""
    found = []
    for process in processes(served)[1:]:
        with suppress(psutil.NoSuchProcess):
            if any("spawn_main" in word for word in process.cmdline()):
                found.append(process)
    return found


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _backends(site: Site) -> list[int]:
    assert site.cluster is not None
    database = site.place.rpartition("/")[2]
    try:
        rows = site.cluster.ask("SELECT pid FROM pg_stat_activity WHERE datname = %s ORDER BY random()", database)
    except psycopg.OperationalError:
        return []
    return [pid for (pid,) in rows]


def _answers(site: Site) -> bool:
    assert site.cluster is not None
    try:
        return bool(site.cluster.ask("SELECT 1"))
    except psycopg.OperationalError:
        return False
