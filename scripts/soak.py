#!/usr/bin/env python3
"""Two servers on PostgreSQL and one on SQLite under load for an hour, while everything goes wrong.

    python scripts/soak.py
    python scripts/soak.py --minutes 5 --kills 40 --seed 7
    python scripts/soak.py --write docs/reliability.md

Faults come in an order that the seed decides. Callers remember every list and every feedback that was acknowledged.
Every few minutes they stop, and everything is compared: what they remember, what the servers say, what the store holds,
and what plain NumPy makes of an export. A difference ends the soak; then the folder with logs and stores stays.
"""

import json
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from postgres import cluster, find_programs
from soaking.site import Site, postgresql_site, sqlite_site
from soaking.soak import Soak

REST = 0.05
LONGEST = 12.0
"""Seconds that a fault lasts at most: some are longer than a request waits, some shorter."""
BEGIN, END = "<!-- soak: written by scripts/soak.py -->", "<!-- end of soak -->"


@dataclass
class Run:
    """One site, soaked by a thread of its own."""

    soak: Soak
    minutes: float
    kills: int
    every: float
    problem: str = ""
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        rounds = max(1, round(self.minutes / self.every))
        try:
            for n in range(1, rounds + 1):
                kills = self.kills * n // rounds - self.soak.told.kills
                self.soak.run(self.soak.steady(kills, 60 * self.minutes / rounds), between=50)
                found = f"{self.soak.told.kills} kills, {self.soak.told.compared}"
                click.echo(f"{moment()} {self.soak.site.name}: check {n} of {rounds} passed; {found}")
        except BaseException as problem:
            self.problem = "".join(traceback.format_exception(problem, limit=-6))
            click.echo(f"{moment()} {self.soak.site.name}: FAILED\n{self.problem}", err=True)
            self.soak.site.keep()

    def summary(self) -> dict[str, Any]:
        """What is to be told of it."""
        told, callers = self.soak.told, self.soak.callers
        return {
            "passed": not self.problem,
            "problem": self.problem,
            "seconds under load": round(told.seconds),
            "kills": told.kills,
            "faults": dict(sorted(told.faults.items())),
            "checks": told.checks,
            "acknowledged requests": callers.seen["acknowledged"],
            "lists acknowledged": len(callers.shown),
            "feedback acknowledged": sum(len(one.results) for one in callers.shown),
            "outcomes acknowledged": callers.seen["outcome"],
            "topics added": len(callers.expected.topics),
            "lists in a context": sum("context" in one.request for one in callers.shown),
            "lists under rules": sum(one.model == "ruled" for one in callers.shown),
            "priors learned": told.compared.get("priors", 0),
            "states compared with the journal at each check": told.compared.get("states", 0),
            "requests without an answer": callers.seen["cut"],
            "requests answered 503": callers.seen["503"],
            "lists that were the baseline": callers.seen["fallback"],
            "settings, items and models changed": callers.seen["changed"],
            "users forgotten": callers.seen["forgotten"],
            "feedback that came late, after time enough": callers.late_for_good_reason,
            "longest outage, seconds": round(told.longest_outage, 1),
            "largest process, MiB": round(max(told.memory, default=0.0)),
            "not done": self.soak.site.notes,
        }


def moment() -> str:
    """The time of day."""
    return time.strftime("%H:%M:%S")


def markdown(found: dict[str, dict[str, Any]], words: str) -> str:
    """The summaries as a table, a column for each site."""
    faults = sorted({name for one in found.values() for name in one["faults"]})
    names = [name for name in next(iter(found.values())) if name not in ("problem", "faults", "not done")]
    rows = [["", *found], ["---", *["---:"] * len(found)]]
    rows += [[name, *(_cell(one[name]) for one in found.values())] for name in names]
    rows += [[f"fault: {name}", *(_cell(one["faults"].get(name, 0)) for one in found.values())] for name in faults]
    notes = [f"\nNot done on {site}: {note}." for site, one in found.items() for note in one["not done"]]
    return "\n".join([words, "", *(f"| {' | '.join(row)} |" for row in rows), *notes])


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write_between_marks(path: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, mark, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise click.ClickException(f"{path} has no place for it: {BEGIN} ... {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


@click.command(help=__doc__)
@click.option("--minutes", type=float, default=60.0, show_default=True, help="How long.")
@click.option("--kills", type=int, default=500, show_default=True, help="How many kills, over both stores.")
@click.option("--seed", type=int, default=0, show_default=True, help="Decides which faults come when.")
@click.option("--check-every", type=float, default=6.0, show_default=True, help="Minutes between checks.")
@click.option("--only", type=click.Choice(["postgresql", "sqlite"]), help="One store only.")
@click.option("--write", type=click.Path(exists=True, path_type=Path), help="Page that gets the figures.")
@click.option("--verbose", is_flag=True, help="Say each fault.")
def main(
    minutes: float, kills: int, seed: int, check_every: float, only: str | None, write: Path | None, verbose: bool
) -> None:
    """Soak, print a summary, and end with 1 if anything was wrong."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # servers, databases and disks are cleared away in any case
        signal.signal(ending, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="rankfall-soak-"))
    click.echo(f"{moment()} {minutes:g} minutes, {kills} kills, seed {seed}; logs are in {folder}")
    with ExitStack() as stack:
        sites: list[Site] = []
        if only != "postgresql":
            sites.append(stack.enter_context(sqlite_site(folder)))
        if only != "sqlite":
            programs = find_programs()
            if programs is None:
                raise click.ClickException("PostgreSQL is not installed; leave it out: --only sqlite")
            sites.append(stack.enter_context(postgresql_site(folder, stack.enter_context(cluster(programs)))))

        def say(line: str) -> None:
            if verbose:
                click.echo(f"{moment()} {line}")

        runs = []
        for n, site in enumerate(sites):
            soak = Soak(site, folder / f"{site.name}-export", seed=seed, rest=REST, longest=LONGEST, say=say)
            runs.append(Run(soak, minutes, kills * (n + 1) // len(sites) - kills * n // len(sites), check_every))
        for run in runs:
            run.thread.join()
        found = {run.soak.site.name: run.summary() for run in runs}
    passed = all(one["passed"] for one in found.values())
    day = datetime.now(UTC).date().isoformat()
    store = "" if only is None else f" --only {only}"
    pace = f"--minutes {minutes:g} --kills {kills} --check-every {check_every:g}"
    words = f"`python scripts/soak.py {pace} --seed {seed}{store}`, on {day}:"
    click.echo(json.dumps(found, indent=2))
    text = markdown(found, words)
    click.echo(text)
    if write is not None:
        write_between_marks(write, text)
    if passed:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
