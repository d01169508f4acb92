"""How long it takes from the start of a process to its first list, on a new machine and once everything is compiled.

    python benchmarks/start.py
    python benchmarks/start.py --before path/to/another/checkout     # the same of another version, in turns
    python benchmarks/start.py --by-function                         # and where compiling spends its time

A new machine is an empty folder for compiled code (NUMBA_CACHE_DIR). Seconds are counted from when the process is
started; processor seconds are those of that process until then, and say more where the machine is busy.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import click
import psutil

ITEMS = """
import numpy as np
from rankfall import Catalog
rng = np.random.default_rng(0)
x, z = rng.random((1000, 18)) * (rng.random((1000, 18)) < 0.12), rng.normal(size=(1000, 10))
catalog = Catalog(coverage=x, relevance=z / np.linalg.norm(z, axis=1)[:, None])
"""
RANK = f"{ITEMS}\nfrom rankfall import CascadeHybrid\nCascadeHybrid(catalog).rank(10)\nprint('done', flush=True)"
BY_FUNCTION = """
import json, time
from numba.core import event
class Clock(event.Listener):
    running, spent = [], {}
    def on_start(self, event):
        self.running.append([time.process_time(), 0.0])
    def on_end(self, event):
        began, inside = self.running.pop()
        took = time.process_time() - began
        if self.running:
            self.running[-1][1] += took
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__name__}"
        forms, before = self.spent.get(name, (0, 0.0))
        self.spent[name] = forms + 1, before + took - inside
event.register("numba:compile", Clock())
"""


class Took(NamedTuple):
    """What a start took."""

    seconds: float
    processor: float


class Version:
    """A version of Rankfall, run from its sources, with a folder for compiled code of its own."""

    def __init__(self, name: str, root: Path, folder: Path) -> None:
        self.name = name
        self._code = folder / "code"
        self._folder = folder
        self._code.mkdir(parents=True)
        self._environment = {**os.environ, "PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": str(self._code)}
        self._catalog = folder / "items.parquet"
        script = f"{ITEMS}\ncatalog.write_parquet({str(self._catalog)!r})"
        subprocess.run([sys.executable, "-c", script], env=self._environment, check=True)

    def new_machine(self) -> None:
        """Forget all compiled code."""
        self._code = Path(tempfile.mkdtemp(dir=self._folder))
        self._environment["NUMBA_CACHE_DIR"] = str(self._code)

    def run(self, *arguments: str) -> str:
        """What Python prints."""
        command = [sys.executable, *arguments]
        return subprocess.run(command, env=self._environment, check=True, capture_output=True, text=True).stdout

    def until(self, line: str, *arguments: str) -> Took:
        """Run Python until it prints a line that begins so, or until its end."""
        began = time.perf_counter()
        command = [sys.executable, *arguments]
        with subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            watched = psutil.Process(process.pid)
            for said in process.stdout:
                if said.startswith(line):
                    took = _took(began, watched)
                    process.stdout.read()
                    return took
        raise click.ClickException(f"{command} did not print {line!r}")

    def serve(self) -> Took:
        """Start a server on a new store and ask it for a list."""
        with tempfile.TemporaryDirectory(dir=self._folder) as data:
            began = time.perf_counter()
            options = ["--catalog", str(self._catalog), "--data", data, "--port", "0"]
            process = subprocess.Popen(
                [sys.executable, "-m", "rankfall", "serve", *options],
                env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            try:
                assert process.stdout is not None
                address = next(found[0] for said in process.stdout if (found := re.search(r"http://[\d.]+:\d+", said)))
                while not _ranks(address):
                    time.sleep(0.02)
                return _took(began, psutil.Process(process.pid))
            finally:
                process.kill()
                process.wait()


def _took(began: float, process: psutil.Process) -> Took:
    spent = process.cpu_times()
    return Took(time.perf_counter() - began, spent.user + spent.system)


def _ranks(address: str) -> bool:
    request = urllib.request.Request(
        f"{address}/v1/models/default/rank", b'{"k": 10}', {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return bool(answer.status == 200)
    except (ConnectionError, urllib.error.URLError):
        return False


def by_function(version: Version) -> list[tuple[str, int, float]]:
    """Functions that are compiled for a list and its feedback: forms, and processor seconds without those they call."""
    version.new_machine()
    ranks = RANK.replace(
        "CascadeHybrid(catalog).rank(10)", "p = CascadeHybrid(catalog)\nr = p.rank(10)\np.update(r, 0)"
    )
    printed = version.run(
        "-c", f"{BY_FUNCTION}\n{ranks}\nfor _ in range(9): p.rank(10)\nprint(json.dumps(Clock.spent))"
    )
    spent = json.loads(printed.splitlines()[-1])
    return sorted(((name, forms, took) for name, (forms, took) in spent.items()), key=lambda row: -row[2])


@click.command(help=__doc__)
@click.option("--before", type=click.Path(exists=True, path_type=Path), help="Checkout of another version.")
@click.option("--turns", default=1, show_default=True, type=click.IntRange(1), help="Times everything is measured.")
@click.option("--by-function", "functions", is_flag=True, help="Show where compiling spends its time.")
def main(before: Path | None, turns: int, functions: bool) -> None:
    """Measure in turns and print the medians."""
    found: dict[str, dict[str, list[Took]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory() as folder:
        versions = [Version("this", Path(__file__).parents[1], Path(folder) / "this")]
        if before is not None:
            versions.append(Version("before", before, Path(folder) / "before"))
        for _ in range(turns):
            for job in ("rank", "serve"):
                for version in versions:
                    version.new_machine()
                for what in (f"new machine: first list, {job}", f"compiled: first list, {job}"):
                    for version in versions:
                        took = version.until("done", "-c", RANK) if job == "rank" else version.serve()
                        found[what][version.name].append(took)
                        click.echo(f"{what} ({version.name}): {took.seconds:.1f} s", err=True)
                    if job == "serve" and "new" in what:
                        for version in versions:  # what a server compiles after its first list is for later ones
                            version.run("-c", f"{RANK}\np = CascadeHybrid(catalog)\np.update(p.rank(10), 0)")
            for version in versions:
                found["import rankfall"][version.name].append(
                    version.until("done", "-c", "import rankfall; print('done', flush=True)")
                )
                found["rankfall --help"][version.name].append(version.until("Usage", "-m", "rankfall", "--help"))
        click.echo(f"\n| {'':34} | {' | '.join(f'{v.name}: s, processor s' for v in versions)} |")
        click.echo("|---|" + "---|" * len(versions))
        for what, by_version in found.items():
            cells = [
                f"{statistics.median(t.seconds for t in took):.2f}, {statistics.median(t.processor for t in took):.2f}"
                for took in by_version.values()
            ]
            click.echo(f"| {what:34} | {' | '.join(cells)} |")
        click.echo(f"\nload of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for version in versions if functions else ():
            click.echo(f"\nCompiling in {version.name}, processor seconds without functions called:")
            for name, forms, took in by_function(version):
                click.echo(f"{took:7.2f}  {name}" + (f"  ({forms} forms)" if forms > 1 else ""))


if __name__ == "__main__":
    main()
