"""The benchmark of the service: a run that is broken off leaves its rows; processor time is that of all processes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # last: names of tests/support come first

import load
from processor_time import processor_time

FIGURES: dict[str, Any] = {
    "pairs": 500.0,
    "requests": 1_000.0,
    "rank": {"p50": 5.0, "p99": 9.0},
    "processor": {"server": 1.5, "callers": 0.5},
    "failed": 0,
}
FOUND = {"begin": 250.0, "end": 251.0, "nothing": FIGURES, "full": FIGURES, "half": FIGURES}


def test_a_run_that_is_broken_off_leaves_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def nothing(*_: object) -> Iterator[Any]:
        yield tmp_path, None

    measured = iter([{"now": FOUND}])

    def measure(*_: object) -> dict[str, dict[str, Any]]:
        return next(measured)  # the second time is one too many

    monkeypatch.setattr(load, "stores", nothing)
    monkeypatch.setattr(load, "serving", nothing)
    monkeypatch.setattr(load, "measure", measure)
    out = tmp_path / "load.md"
    done = CliRunner().invoke(load.main, ["--only", "1000 global sqlite", "--out", str(out)])
    assert isinstance(done.exception, StopIteration)
    *_, head, _line, row = out.read_text().splitlines()
    cells = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert (cells["pairs/s"], cells["server"], cells["of nothing"]) == ("500", "1.50", "100%")
    assert row in done.output


BUSY = """
import os, subprocess, sys, time
def work(seconds):
    while time.process_time() < seconds:
        sum(range(1000))
if len(sys.argv) > 1:
    work(0.3)
    print("done", flush=True)
    sys.stdin.read() if sys.argv[1] == "stay" else None
else:
    subprocess.run([sys.executable, __file__, "end"], stdout=subprocess.DEVNULL)
    child = subprocess.Popen([sys.executable, __file__, "stay"], stdout=subprocess.PIPE)
    child.stdout.readline()
    print("done", flush=True)
    sys.stdin.read()
"""


def test_processor_time_is_that_of_children_too_also_of_those_that_ended(tmp_path: Path) -> None:
    program = tmp_path / "busy.py"
    program.write_text(BUSY)
    with subprocess.Popen([sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert processor_time(process.pid) >= 0.55  # two times 0.3, less what a clock tick may hide
        process.communicate()
