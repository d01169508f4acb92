"""A PostgreSQL cluster of the tests' own: real, durable, on a port of its own, and gone when they are done."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, LiteralString

import psutil
import psycopg
from ports import ReservedPort
from psycopg import sql
from waiting import START_PATIENCE, wait_until

NEWER = "RANKFALL_NEWER_POSTGRES"
"""The environment variable with the folder of the programs to upgrade to."""
OWNER = "postgres"  # PostgreSQL refuses to run as root: then it runs as this user, which its packages make

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{folder}'
port = {port}
max_connections = 200
fsync = on
synchronous_commit = on
full_page_writes = on
wal_level = logical
"""


class Cluster:
    """Databases in a temporary folder. `stop("immediate")` is a crash, `start()` the recovery, at the same address."""

    def __init__(self, programs: Path, source: "Cluster | None" = None) -> None:
        """A new and empty one, or a copy of another that runs."""
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="rankfall-pg-"))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self._names = (f"test_{n}" for n in count(1))
        if os.geteuid() == 0:
            shutil.chown(self.folder, OWNER)
        if source is None:
            options = ("--username", OWNER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
            self._run("initdb", "--pgdata", str(self.data), *options)
            if self.version >= 18:  # from here on pages have checksums, and pg_upgrade wants old and new ones alike
                self._run("pg_checksums", "--disable", "--pgdata", str(self.data))
        else:
            options = ("--dbname", source.url(), "--checkpoint", "fast", "--no-sync")
            self._run("pg_basebackup", "--pgdata", str(self.data), *options)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(folder=self.folder, port=self.port))

    @property
    def version(self) -> int:
        """Its major version."""
        return int((self.data / "PG_VERSION").read_text())

    def start(self) -> None:
        self._control("start", "--log", str(self.log))

    def stop(self, mode: str = "fast") -> None:
        self._control("stop", "--mode", mode)

    def upgrade(self, old: "Cluster") -> None:
        """Take over all databases of another one, as an upgrade to a new major version does; both are stopped."""
        programs = ("--old-bindir", str(old.programs), "--new-bindir", str(self.programs))
        data = ("--old-datadir", str(old.data), "--new-datadir", str(self.data))
        ports = ("--old-port", str(old.port), "--new-port", str(self.port))
        self._run("pg_upgrade", *programs, *data, *ports, "--username", OWNER, "--socketdir", str(self.folder))

    def promote(self) -> None:
        """Start a copy as a standby that hears nothing of the other, and make it a primary with its own timeline."""
        (self.data / "standby.signal").touch()
        self.start()
        self._control("promote")

    @property
    def running(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    @property
    def pid(self) -> int:
        """The process whose children are all the others."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def remove(self) -> None:
        try:
            if self.running:
                self.stop("immediate")
        finally:
            shutil.rmtree(self.folder)
            self._reserved.close()

    def url(self, database: str = OWNER) -> str:
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def fresh(self) -> str:
        """The address of a database that is new and empty."""
        name = next(self._names)
        self.ask(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def drop(self, url: str) -> None:
        name = sql.Identifier(url.rpartition("/")[2])
        self.ask(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))

    def cut(self, url: str) -> int:
        """End every connection to a database, and return how many there were, once they are gone."""
        name = url.rpartition("/")[2]
        gone = self.ask("SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", name)
        pids = [pid for pid, _ in gone]
        wait_until(lambda: not self.ask("SELECT pid FROM pg_stat_activity WHERE pid = ANY(%s)", pids))
        return len(pids)

    @contextmanager
    def hung(self) -> Iterator[None]:
        """A database that neither answers nor goes away: all its processes stand still (SIGSTOP)."""
        first = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        stopped = [first]
        first.suspend()  # it starts no others from here on
        try:
            for process in first.children(recursive=True):
                process.suspend()
                stopped.append(process)
            yield
        finally:
            for process in reversed(stopped):
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def wait_for_blocked(self, url: str, connections: int = 1) -> None:
        """Wait until so many connections to a database wait for a lock that another one holds."""
        name = url.rpartition("/")[2]
        blocked = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
        wait_until(lambda: len(self.ask(blocked, name)) >= connections)

    def ask(self, query: LiteralString | sql.Composed, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def _control(self, what: str, *options: str) -> None:
        """Run pg_ctl and wait until it is done."""
        patience = ("--wait", "--timeout", f"{START_PATIENCE:.0f}")
        self._run("pg_ctl", what, *patience, "--silent", "--pgdata", str(self.data), *options)

    def _run(self, program: str, *arguments: str) -> None:
        user = ["runuser", "-u", OWNER, "--"] if os.geteuid() == 0 else []
        command = [*user, str(self.programs / program), *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.folder)
        if done.returncode:
            log = self.log.read_text() if self.log.exists() else ""
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}{log}")


@contextmanager
def cluster(programs: Path) -> Iterator[Cluster]:
    made = Cluster(programs)
    try:
        made.start()
        yield made
    finally:
        made.remove()


@contextmanager
def stopped(programs: Path, source: Cluster | None = None) -> Iterator[Cluster]:
    """A cluster that is not started: a new one, or a copy of another as it is now."""
    made = Cluster(programs, source)
    try:
        yield made
    finally:
        made.remove()


def newest_programs(programs: Path) -> Path:
    """Where the programs of a newer PostgreSQL are, if the environment says so; these, if not."""
    return Path(os.environ.get(NEWER, programs))


def find_programs() -> Path | None:
    """The newest initdb and pg_ctl: Debian keeps them out of PATH, by version."""
    packaged = Path("/usr/lib/postgresql").glob("*/bin")
    folders = sorted(packaged, key=lambda path: int("0" + "".join(filter(str.isdigit, path.parent.name))), reverse=True)
    found = shutil.which("initdb")
    if found:
        folders.append(Path(found).parent)
    return next((path for path in folders if (path / "initdb").exists() and (path / "pg_ctl").exists()), None)
