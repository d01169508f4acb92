"""``rankfall reproduce`` and ``rankfall run``, as people and machines call them, and as machines end them."""

import os
import re
import signal
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from ending import run_until

from rankfall.cli import app
from rankfall.experiments import Preparation, Setting, Study
from rankfall.policies import PAPER

FEW = ["--users", "2", "--steps", "30", "--policies", "CascadeLinUCB,CascadeLSB"]
STUDY = Study(
    "to be killed",
    "movielens-small",
    tuple(Setting("tradeoff", i / 4, tradeoff=i / 4, topics=5, k=5) for i in range(5)),
    policies=("CascadeHybrid", "CascadeLSB"),
    users=3,
    steps=1500,
    checkpoints=5,
    preparation=Preparation(users=200, items=150, threshold=4.0, rank=5),
)
UNITS = {"s": 1, "minutes": 60, "hours": 3600}
TIME = r"([\d.]+) (s|minutes|hours)"  # how much depends on the machine


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_reproduce_names_the_files_it_wrote(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    result = call("reproduce", "movielens-small", "--study", "topics", *FEW, "--out", str(out))
    assert result.exit_code == 0, result.output
    named = [Path(line.strip()) for line in result.stdout.partition("Look at:\n")[2].splitlines()]
    assert out / "runs.parquet" in named
    assert all(path.is_file() for path in named)
    assert "Note: 20 topics asked for, 19 there are: all are taken." in result.stdout
    runs = pl.read_parquet(out / "runs.parquet")
    assert runs["study"].unique().to_list() == ["topics"]
    assert runs["value"].unique().sort().to_list() == [5, 10, 15, 20]
    assert runs["topics"].unique().sort().to_list() == [5, 10, 15, 19]
    assert runs["policy"].unique().sort().to_list() == ["CascadeLSB", "CascadeLinUCB"]
    again = call("run", str(out / "study.toml"), "--out", str(tmp_path / "again"), "--workers", "1")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again" / "runs.parquet").read_bytes() == (out / "runs.parquet").read_bytes()


def test_options_reach_the_study(tmp_path: Path) -> None:
    asked = ["--study", "positions", "--gamma", "0.5", "--seed", "3", "--repeats", "2", *FEW]
    flags = ["--unit-preferences", "--perfect-coverage"]
    result = call("reproduce", "movielens-small", *asked, *flags, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    study = Study.read(tmp_path / "study.toml")
    assert (study.gamma, study.seed, study.repeats, study.users, study.steps) == (0.5, 3, 2, 2, 30)
    assert study.preparation == Preparation(unit_preferences=True, perfect_coverage=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "nonsense"], "nonsense is neither a folder"),
        (["reproduce", "movielens-small", "--study", "nonsense"], "'nonsense' is not one of 'tradeoff'"),
        (["reproduce", "movielens-small", "--scale", "huge"], "'huge' is not one of 'quick', 'standard', 'paper'"),
        (["reproduce", "movielens-small", "--policies", "X"], "no policy 'X'; choose from CascadeHybrid"),
        (["reproduce", "movielens-small", "--steps", "0"], "0 is not in the range x>=1"),
        (["run", "nothing.toml"], "nothing.toml does not exist"),
    ],
)
def test_nonsense_is_answered_in_words(tmp_path: Path, arguments: list[str], said: str) -> None:
    result = call(*arguments, "--out", str(tmp_path / "out"))
    assert result.exit_code != 0
    assert said in result.output
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    asked = ["reproduce", "movielens-small", "--study", "topics", *FEW, "--out", str(tmp_path)]
    assert call(*asked).exit_code == 0
    for more in ([], ["--dry-run"]):
        result = call(*asked, "--seed", "7", *more)
        assert result.exit_code == 1
        assert "holds another study (it differs in seed); give another folder, or remove it" in result.output


def test_a_dry_run_measures_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["rankfall.experiments.forecast"], "_SECONDS", 0.02)
    result = call("reproduce", "movielens-small", "--scale", "paper", "--out", str(tmp_path / "out"), "--dry-run")
    assert result.exit_code == 0, result.output
    assert "85 cells (10 more are shared), 0 of them done" in result.output
    assert f"{85 * 314 * 2 * 50_000:,} interactions: in each cell 314 users x 2 repeats x 50,000 steps" in result.output
    assert "500 test users asked for, 314 there are" in result.output
    for policy in PAPER:
        assert re.search(rf"{policy} +│ +\d+ │ +\d+\.\d", result.output)
    assert "both data sets: 8,500,000,000 interactions, " in result.output
    assert "This assumes that" in result.output
    this, both = (float(n) * UNITS[unit] for n, unit in re.findall(rf"{TIME} with", result.output))
    assert both == pytest.approx(this * 2 * 500 / 314, rel=0.2)  # both are rounded
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_a_study_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STUDY.to_toml())
    result = call("run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"), "--dry-run", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "10 cells, 0 of them done" in result.output
    assert "45,000 interactions" in result.output
    assert re.search(rf"Expected time: {TIME} with 1 worker$", result.output, flags=re.MULTILINE)
    assert "the paper's" not in result.output


def cells(out: Path) -> int:
    return len(list(out.glob("cells/*.parquet")))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "study.toml").write_text(STUDY.to_toml())
    result = call("run", str(folder / "study.toml"), "--out", str(folder / "whole"))
    assert result.exit_code == 0, result.output
    return folder


@pytest.mark.stress
def test_killed_again_and_again_it_ends_with_the_same_bytes(uninterrupted: Path) -> None:
    out = uninterrupted / "out"
    command = ["run", str(uninterrupted / "study.toml"), "--out", str(out)]
    done = 0
    for more in (1, 2, 4):
        assert run_until("file", more, *command).returncode == -signal.SIGKILL
        done += more - 1  # the last one did not get its name
        assert cells(out) == done
    last = call(*command)
    assert last.exit_code == 0, last.output
    assert "runs.parquet" in last.output
    for name in ("runs.parquet", "study.toml", "provenance.json"):
        assert (out / name).read_bytes() == (uninterrupted / "whole" / name).read_bytes()
    for cell in (uninterrupted / "whole" / "cells").iterdir():
        assert (out / "cells" / cell.name).read_bytes() == cell.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
@pytest.mark.stress
def test_ctrl_c_keeps_what_is_done(uninterrupted: Path) -> None:
    out = uninterrupted / "stopped"
    ended = run_until("interrupt", 2, "run", str(uninterrupted / "study.toml"), "--out", str(out))
    assert ended.returncode == 130
    kept = rf"{cells(out)} of 10 cells are done and kept in .*stopped\. Give the same command again to go on\."
    assert re.search(kept, ended.stderr)
    assert "Traceback" not in ended.stderr
    assert 2 <= cells(out) < 10
