"""The benchmark of the service: a run that is broken off leaves its rows; processor time is that of all processes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
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


class Answers:
    """A client of a service that refuses a user the first time."""

    def __init__(self) -> None:
        self.refused = {"user 3"}
        self.learned: list[str] = []
        self.offered: set[int] = set()

    def get(self, _path: str, params: dict[str, int]) -> httpx.Response:
        return _answer({"items": [{"id": n} for n in range(params["limit"])]})

    def post(self, path: str, json: dict[str, Any]) -> httpx.Response:
        if path == "/v1/feedback":
            self.learned += [one["event_id"] for one in json["feedback"]]
            return _answer({})
        self.offered |= {len(request["candidates"]) for request in json["requests"]}
        results = [
            {"error": "busy"} if request["user"] in self.refused else {"event_id": request["user"]}
            for request in json["requests"]
        ]
        self.refused.clear()
        return _answer({"results": results})


def _answer(content: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json=content, request=httpx.Request("POST", "http://served"))


def test_every_user_gets_a_model_from_a_list_out_of_a_few_items() -> None:
    client = Answers()
    load.give_all_users_a_model(cast(Any, SimpleNamespace(client=client)), 7, batch=2)
    assert sorted(client.learned) == [f"user {n}" for n in range(7)]
    assert client.offered == {load.CANDIDATES}


def test_fewer_users_are_said_in_the_table() -> None:
    (setting,) = load.chosen(("100000 user 1w sqlite",), quick=False, users=2_000)
    assert setting.cells == ["100,000", "2,000", "1", "sqlite"]
    assert "2,000 users' models" in str(setting)


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
