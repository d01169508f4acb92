"""The tutorials: their files are written and their commands run, in order, as a reader would."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankfall.cli import app

DOCS = Path(__file__).parents[1] / "docs"


def research_tables(folder: Path) -> None:
    rng = np.random.default_rng(3)
    rated = [(u, f"p{p}", 5 if rng.random() < 0.4 else 2) for u in range(40) for p in range(30) if rng.random() < 0.7]
    pl.DataFrame(rated, schema=["user", "product", "rating"], orient="row").write_csv(folder / "ratings.csv")
    topics = ["|".join(rng.choice(["red", "green", "blue"], size=2, replace=False)) for _ in range(30)]
    pl.DataFrame({"product": [f"p{p}" for p in range(30)], "topics": topics}).write_csv(folder / "items.csv")


TUTORIALS: dict[str, Callable[[Path], None]] = {"tutorial-research": research_tables}


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


@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_every_file_and_command_of_a_tutorial(tutorial: str, folder: Path) -> None:
    page = (DOCS / f"{tutorial}.md").read_text()
    TUTORIALS[tutorial](folder)
    commands = 0
    for kind, text in blocks(page):
        first = text.splitlines()[0]
        if kind in ("python", "toml") and first.startswith("# "):
            (folder / first.removeprefix("# ")).write_text(text)
        if kind == "console":
            for line in text.replace("\\\n", " ").splitlines():
                run(line)
                commands += 1
    inline = [line for line in re.findall(r"`(rankfall run study[^`]*)`", page) if "--out" in line]
    for line in inline:
        run(line)
    assert commands + len(inline) >= 5


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
