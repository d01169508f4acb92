"""``rankfall reproduce`` and ``rankfall run``, as people and machines call them, and as machines end them."""

import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from ending import run_until

from rankfall.cli import app
from rankfall.experiments import Case, Study, Sweep
from rankfall.experiments.paper import PAPER
from rankfall.users import PerItem, PositionBased, User
from rankfall.users.fitting import Fitted, draw_log

FEW = ["--users", "2", "--steps", "30", "--policies", "CascadeLinUCB,CascadeLSB"]
STUDY = Study(
    "to be killed",
    {
        "dataset": "movielens-small",
        "topics": 5,
        "preparation": {"users": 200, "items": 150, "threshold": 4.0, "rank": 5},
    },
    policies=("CascadeHybrid", "CascadeLSB"),
    sweeps=(Sweep({"user.tradeoff": tuple(i / 4 for i in range(5))}),),
    k=5,
    users=3,
    steps=1500,
    checkpoints=5,
)
IN_PROCESSES = Study(
    "to be killed, in plain Python",
    {"attraction": [0.5, 0.4, 0.3, 0.2, 0.1, 0.1]},
    policies=("CascadeUCB1", "CascadeKLUCB", "CascadeTS", "TopRank"),
    cases=(
        Case("CascadeSWUCB", user={"drift": [{"from": 100, "attraction": [0.1, 0.1, 0.2, 0.3, 0.4, 0.5]}]}),
        Case("PDGD", user={"attraction": "hybrid", "generate": {"items": 20, "seed": [1, 2]}}),
    ),
    sweeps=(Sweep({"k": (1, 2)}),),
    users=1,
    repeats=2,
    steps=200,
    checkpoints=5,
)
STUDIES = {"threads": STUDY, "processes": IN_PROCESSES}
UNITS = {"s": 1, "minutes": 60, "hours": 3600}
TIME = r"([\d.]+) (s|minutes|hours)"  # how much depends on the machine


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_reproduce_names_the_files_it_wrote(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    result = call("reproduce", "movielens-small", "--sweep", "topics", *FEW, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert f"Open {out / 'report.html'}; figure, tables and all runs are beside it." in result.stdout
    assert all((out / name).is_file() for name in ("report.html", "figure.png", "summary.csv", "runs.parquet"))
    said = " ".join(result.stdout.split())
    assert "had the lowest mean regret in" in said
    assert "of 4 numbers of topics" in said
    assert "Of the 10 claims of the paper: " in said
    assert "had the lowest mean regret in" in (out / "report.html").read_text()
    assert "Note: 20 topics asked for, 19 there are: all are taken." in result.stdout
    runs = pl.read_parquet(out / "runs.parquet")
    assert runs["sweep"].unique().to_list() == ["topics"]
    assert runs["topics"].unique().sort().to_list() == [5, 10, 15, 20]
    assert "Claims of section 4.3" in (out / "report.html").read_text()
    assert runs["policy"].unique().sort().to_list() == ["CascadeLSB", "CascadeLinUCB"]
    again = call("run", str(out / "study.toml"), "--out", str(tmp_path / "again"), "--workers", "1")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again" / "runs.parquet").read_bytes() == (out / "runs.parquet").read_bytes()


def test_options_reach_the_study(tmp_path: Path) -> None:
    asked = ["--sweep", "positions", "--gamma", "0.5", "--seed", "3", "--repeats", "2", *FEW]
    flags = ["--unit-preferences", "--one-topic", "--perfect-coverage"]
    result = call("reproduce", "movielens-small", *asked, *flags, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    study = Study.read(tmp_path / "study.toml")
    assert (study.settings, study.seed, study.repeats, study.users, study.steps) == ({"gamma": 0.5}, 3, 2, 2, 30)
    assert study.user["preparation"] == {"unit_preferences": True, "one_topic": True}
    assert study.user["perfect_coverage"] is True
    assert study.paper


def test_a_table_of_ratings_alone_is_told_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("user,item,rating\nu,a,5\nv,b,5\n")
    alone = call("reproduce", str(tmp_path / "ratings.csv"), "--out", str(tmp_path / "out"))
    assert alone.exit_code == 1
    assert "ratings.csv is a table; give the table of its items too, with --items-table" in alone.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "nonsense"], "nonsense is neither a folder"),
        (["reproduce", "movielens-small", "--sweep", "nonsense"], "'nonsense' is not one of 'tradeoff'"),
        (["reproduce", "movielens-small", "--scale", "huge"], "'huge' is not one of 'quick', 'standard', 'paper'"),
        (["reproduce", "movielens-small", "--policies", "X"], "no policy 'X'; choose from BatchRank"),
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
    asked = ["reproduce", "movielens-small", "--sweep", "topics", *FEW, "--out", str(tmp_path)]
    assert call(*asked).exit_code == 0
    for more in ([], ["--dry-run"]):
        result = call(*asked, "--seed", "7", *more)
        assert result.exit_code == 1
        assert "holds another study (it differs in seed); give another folder, or remove it" in result.output


def test_a_dry_run_measures_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["rankfall.experiments.forecast"], "_SECONDS", 0.02)
    result = call("reproduce", "movielens-small", "--scale", "paper", "--out", str(tmp_path / "out"), "--dry-run")
    assert result.exit_code == 0, result.output
    assert "5 cases, 19 points of sweeps: 85 to simulate, as 10 coincide with others" in result.output
    assert f"{85 * 314 * 2 * 50_000:,} steps: for each case 314 users x 2 repeats x 50,000 steps" in result.output
    assert f"{85 * 126:,} chunks, 0 of them done" in result.output
    assert "500 test users asked for, 314 there are" in result.output
    for policy in PAPER:
        assert re.search(rf"{policy} +│ +\d+ │ +\d+\.\d", result.output)
    assert "both data sets: 8,500,000,000 steps, " in result.output
    assert "This assumes that" in result.output
    this, both = (float(n) * UNITS[unit] for n, unit in re.findall(rf"{TIME} with", result.output))
    assert both == pytest.approx(this * 2 * 500 / 314, rel=0.2)  # both are rounded
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_a_study_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STUDY.to_toml())
    result = call("run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"), "--dry-run", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "10 chunks, 0 of them done" in result.output
    assert "45,000 steps" in result.output
    assert re.search(rf"Expected time: {TIME} with 1 worker$", result.output, flags=re.MULTILINE)
    assert "the paper's" not in result.output


def test_several_studies_each_in_a_folder_of_its_name(tmp_path: Path) -> None:
    files = [tmp_path / "one.toml", tmp_path / "other.toml"]
    for file, steps in zip(files, (20, 30), strict=True):
        file.write_text(f'name = "{file.stem}"\npolicies = ["CascadeUCB1"]\nk = 1\nsteps = {steps}\nusers = 2\n'
                        "[user]\nattraction = [0.5, 0.1]\n")  # fmt: skip
    result = call("run", *map(str, files), "--out", str(tmp_path / "out"), "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "CascadeUCB1" in result.output
    for file in files:
        assert (tmp_path / "out" / file.stem / "table.md").exists()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "one.toml").write_text(files[0].read_text())
    same = call("run", str(files[0]), str(tmp_path / "more" / "one.toml"), "--out", str(tmp_path / "out"))
    assert "two files are called one" in same.output


def test_from_a_click_log_to_a_report(tmp_path: Path) -> None:
    """From a log through two commands to a table, with the user that the fit found."""
    true = User(PerItem([0.6, 0.1, 0.3, 0.2, 0.5]), PositionBased([1.0, 0.6, 0.3]))
    shown = np.random.default_rng(0).permuted(np.tile(np.arange(5), (3000, 1)), axis=1)[:, :3]
    log = draw_log(true, shown).with_columns(pl.col("item").replace_strict(range(5), list("abcde")))
    log.write_parquet(tmp_path / "clicks.parquet")
    (tmp_path / "fits").mkdir()
    study, model, out = tmp_path / "study.toml", tmp_path / "fits" / "model.parquet", tmp_path / "out"
    study.write_text(
        'name = "Which policy suits my users?"\nsteps = 300\nusers = 1\nrepeats = 2\nk = 3\n'
        'policies = ["CascadeKLUCB", "CascadeLinUCB", "TopRank"]\n'
        '[user]\nfitted = "fits/model.parquet"\nreward = "any"\n'
    )
    for words in (
        ("fit", tmp_path / "clicks.parquet", "--model", "position_based", "--out", model),
        ("run", study, "--out", out, "--workers", 1),
    ):
        done = call(*map(str, words))
        assert done.exit_code == 0, done.output
    runs = pl.read_parquet(out / "runs.parquet")
    assert runs["best"].unique().to_list() == [Fitted.read_parquet(model).user(3, "any").reward([0, 4, 2])]
    assert "| TopRank |" in (out / "table.md").read_text()


def chunks(out: Path) -> int:
    return len(list(out.glob("chunks/*.parquet")))


@pytest.fixture(scope="module", params=STUDIES)
def uninterrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "study.toml").write_text(STUDIES[request.param].to_toml())
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
        assert chunks(out) == done
    last = call(*command)
    assert last.exit_code == 0, last.output
    assert "report.html" in last.output
    for name in ("runs.parquet", "study.toml", "provenance.json"):
        assert (out / name).read_bytes() == (uninterrupted / "whole" / name).read_bytes()
    for chunk in (uninterrupted / "whole" / "chunks").iterdir():
        assert (out / "chunks" / chunk.name).read_bytes() == chunk.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
@pytest.mark.stress
def test_ctrl_c_keeps_what_is_done(uninterrupted: Path) -> None:
    out = uninterrupted / "stopped"
    total = chunks(uninterrupted / "whole")
    ended = run_until("interrupt", 2, "run", str(uninterrupted / "study.toml"), "--out", str(out))
    assert ended.returncode == 130
    kept = rf"{chunks(out)} of {total} chunks are done and kept in .*stopped\. Give the same command again to con"
    assert re.search(kept, ended.stderr)
    assert "Traceback" not in ended.stderr
    assert 2 <= chunks(out) < total
