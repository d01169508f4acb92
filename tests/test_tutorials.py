"""The tutorials: their files are written and their commands run, in order, as a reader would."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from needs import missing
from ports import ReservedPort
from waiting import PATIENCE, START_PATIENCE, wait_until

from rankfall.cli import app

DOCS = Path(__file__).parents[1] / "docs"
HOUR = r"The hour is worth ([+-][\d.]+) a list, 95 % interval ([+-][\d.]+) to ([+-][\d.]+)\."


def blocks(page: str) -> Iterator[tuple[str, str]]:
    yield from re.findall(r"^```(\w+)\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


def run(line: str) -> str:
    done = CliRunner().invoke(app, shlex.split(line)[1:])
    assert done.exit_code == 0, f"{line}\n{done.output}"
    return " ".join(done.output.split())


class Reader:
    """Writes the files of a tutorial and runs its commands; ``said`` has what they printed.

    ``rankfall serve`` is started as a process of its own, and whatever it prints goes to ``serve.log``. Addresses of
    the service are those of a port that nobody else has.
    """

    def __init__(self) -> None:
        self.said: list[str] = []
        self._port = ReservedPort()
        self._servers: list[subprocess.Popen[bytes]] = []

    def follow(self, tutorial: str) -> None:
        """All files and commands of a tutorial, in order."""
        for kind, text in blocks((DOCS / f"{tutorial}.md").read_text()):
            here = text.replace("8321", str(self._port.number))
            first = here.splitlines()[0]
            if kind in ("python", "py", "toml") and first.startswith("# "):
                Path(first.removeprefix("# ")).write_text(here)
            if kind == "console":
                self._block(here)

    def _block(self, text: str) -> None:
        waiting: list[str] = []  # for the shell, which takes them together: they share variables
        for line in text.replace("\\\n", " ").splitlines():
            if not line.startswith("rankfall "):
                waiting.append(line)
                continue
            self._shell(waiting)
            waiting = []
            if line.startswith("rankfall serve"):
                self._serve(line)
            else:
                self.said.append(run(line))
        self._shell(waiting)

    def _shell(self, lines: list[str]) -> None:
        if not lines:
            return
        script = "set -euo pipefail\n" + "\n".join(lines).replace("curl -s ", "curl -sSf ")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "no_proxy": "*"}
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        self.said.append(done.stdout)

    def _serve(self, line: str) -> None:
        options = [*shlex.split(line)[1:], "--port", str(self._port.number), "--rank-wait", str(PATIENCE)]
        with Path("serve.log").open("ab") as log:
            server = subprocess.Popen([sys.executable, "-m", "rankfall", *options], stdout=log, stderr=log)
        self._servers.append(server)

        def ready() -> bool:
            assert server.poll() is None, Path("serve.log").read_text()
            try:
                address = f"http://127.0.0.1:{self._port.number}/health/ready"
                return httpx.get(address, trust_env=False, timeout=PATIENCE).status_code == 200
            except httpx.TransportError:
                return False

        wait_until(ready, START_PATIENCE)

    def close(self) -> None:
        for server in self._servers:
            server.terminate()
            server.wait(PATIENCE)
        self._port.close()


@pytest.fixture
def reader(folder: Path) -> Iterator[Reader]:
    for program in ("bash", "awk", "curl"):
        if subprocess.run(["which", program], capture_output=True).returncode:
            missing(f"tutorials need {program}")
    one = Reader()
    try:
        yield one
    finally:
        one.close()


def own_tables() -> None:
    """Ratings and items that a reader of the research tutorial is to have."""
    rng = np.random.default_rng(3)
    rated = [(u, f"p{p}", 5 if rng.random() < 0.4 else 2) for u in range(40) for p in range(30) if rng.random() < 0.7]
    pl.DataFrame(rated, schema=["user", "product", "rating"], orient="row").write_csv("ratings.csv")
    topics = ["|".join(rng.choice(["red", "green", "blue"], size=2, replace=False)) for _ in range(30)]
    pl.DataFrame({"product": [f"p{p}" for p in range(30)], "topics": topics}).write_csv("items.csv")


def test_research(reader: Reader) -> None:
    own_tables()
    reader.follow("tutorial-research")
    inline = re.findall(r"`(rankfall run study[^`]*)`", (DOCS / "tutorial-research.md").read_text())
    inline = [line for line in inline if "--out" in line]
    for line in inline:
        run(line)
    assert len(reader.said) + len(inline) >= 5


def test_the_policy_of_the_tutorial_stands_beside_ours(folder: Path) -> None:
    page = (DOCS / "tutorial-research.md").read_text()
    for kind, text in blocks(page):
        first = text.splitlines()[0]
        if kind in ("python", "toml") and first.startswith("# "):
            (folder / first.removeprefix("# ")).write_text(text)
    said = run("rankfall run study.toml --out out")
    assert "had the lowest mean regret in" in said
    assert "Open out/report.html" in said
    runs = pl.read_parquet("out/runs.parquet")
    assert set(runs["case"]) == {"CascadeHybrid", "mmr:MMR"}
    assert (folder / "out" / "figure.pdf").stat().st_size > 1000
    again = CliRunner().invoke(app, ["run", "out/study.toml", "--out", "again"])
    assert again.exit_code == 0, again.output
    assert Path("again/runs.parquet").read_bytes() == Path("out/runs.parquet").read_bytes()
    text = Path("out/study.toml").read_text()
    mark = re.search(r'^ *"([0-9a-f]{24})"', text, flags=re.MULTILINE)
    assert mark is not None, text
    Path("other.toml").write_text(text.replace(mark[1], "0" * 24))
    refused = CliRunner().invoke(app, ["run", "other.toml", "--out", "elsewhere"])
    assert refused.exit_code == 1
    assert f"ran on data with the fingerprints {'0' * 24}, and this is {mark[1]}" in " ".join(refused.output.split())


def test_shop(reader: Reader) -> None:
    """It ends with a service whose learned lists beat the baseline. Nothing in it is left to chance but event ids."""
    reader.follow("tutorial-shop")
    said = "\n".join(reader.said)
    pattern = r"The gain is ([+-][\d.]+) points, 95 % interval ([+-][\d.]+) to ([+-][\d.]+)\."
    ((gain, low, _),) = re.findall(pattern, said)
    ((_, *told),) = re.findall(pattern, (DOCS / "tutorial-shop.md").read_text())
    assert float(low) > 0
    assert float(told[0]) <= float(gain) <= float(told[1])  # on another processor a rounding may turn a list
    ((worth, low, _),) = re.findall(HOUR, said)
    ((_, *told),) = re.findall(HOUR, (DOCS / "tutorial-shop.md").read_text())
    assert float(low) > 0
    assert float(told[0]) <= float(worth) <= float(told[1])
    assert said.count("at most 2 of a brand") == 2
    assert "1,680 lists imported into 'default'" in said
    assert "31 features" in said
    explained = json.loads(Path("list.json").read_text())
    assert {"log_price", "brand=cove"} <= set(explained["items"][0]["features"])
    assert "0 items to add, 1 to change, 1 to remove; 239 are the same. Nothing was changed" in said
    lists = pl.read_parquet("log/events.parquet").filter(model="default")
    shown = dict(lists.group_by("arm").len().iter_rows())
    assert shown["imported"] == 1680
    assert shown["policy"] + shown["control"] == 30 * 20 * 20 + 2
    best = lists.filter(arm="control")["items"].list.len().unique().to_list()
    assert best == [8]


def test_logs(reader: Reader) -> None:
    """Users who do care about diversity are told so; a test at random gives an estimate."""
    reader.follow("tutorial-logs")
    said = "\n".join(reader.said)
    page = " ".join((DOCS / "tutorial-logs.md").read_text().replace("\n> ", " ").split())
    for sentence in (
        "For diversity: people of this log care about what an item adds to the items above it.",
        "has the lowest regret: ",
        "Lowest mean regret after 2,000 steps: CascadeHybrid",
        "No estimate: no list with feedback is known to be chosen at random",
    ):
        assert sentence in said, sentence
    for told in re.findall(r"(gamma [\d.]+ has the lowest regret)", page):
        assert told in said
    estimate = json.loads(Path("estimate.json").read_text())["estimate"]
    assert estimate["self_normalised"]["low"] > estimate["logged"]
    assert Path("out/evidence/evidence.html").is_file()


TUTORIALS: dict[str, Callable[[Reader], None]] = {
    "tutorial-research": test_research,
    "tutorial-shop": test_shop,
    "tutorial-logs": test_logs,
}


def test_every_tutorial_is_followed() -> None:
    assert {page.stem for page in DOCS.glob("tutorial-*.md")} == set(TUTORIALS)
