import errno
import subprocess
import sys
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result

from rankfall import __version__
from rankfall.cli import COMMANDS, app
from rankfall.experiments.paper import PAPER

SMALL = ["--items", "20", "--topics", "3", "--features", "2", "--k", "3", "--steps", "60", "--users", "2"]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_simulate_writes_what_it_names(tmp_path: Path) -> None:
    result = call("simulate", *SMALL, "--out", str(tmp_path / "new" / "folder"))
    assert result.exit_code == 0, result.output
    for name in ("regret.png", "regret.svg", "runs.parquet"):
        assert (tmp_path / "new" / "folder" / name).stat().st_size > 0
        assert name in result.output
    for policy in PAPER:
        assert policy in result.output
    runs = pl.read_parquet(tmp_path / "new" / "folder" / "runs.parquet")
    assert runs.columns == ["policy", "user", "step", "regret", "clicks", "touched", "covered", "best"]
    assert runs.group_by("policy", "user").len().height == 5 * 2
    assert runs["step"].max() == 60


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    """A path below a file, and a name that no file may have."""
    (tmp_path / "file").touch()
    below, long = str(tmp_path / "file" / "below"), str(tmp_path / ("x" * 300))
    for path in (below, long):
        for command in (["fit", path], ["replay", path, "--policy", "CascadeLSB"], ["export", "--data", path]):
            result = call(*command, *(["--out", str(tmp_path / "out")] if command[0] == "export" else []))
            assert result.exit_code == 1, result.output
            assert isinstance(result.exception, SystemExit)
            assert path in result.output
            assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["fit", "none.csv", "--out", "/no/folder/x"], "the folder /no/folder does not exist"),
        (["fit", "none.csv", "--report", "/dev/null/x"], "cannot make the folder /dev/null/x"),
        (["replay", "none.csv", "--policy", "CascadeLSB", "--out", "/no/folder/x"], "the folder /no/folder does not"),
    ],
)
def test_where_results_cannot_be_written_is_said_before_the_work(options: list[str], said: str) -> None:
    result = call(*options)
    assert result.exit_code == 1
    assert said in result.output


def test_a_problem_of_the_system_is_said_if_it_names_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [OSError(errno.EACCES, "Permission denied", "/some/file"), OSError(errno.ENOSPC, "No space left")]
    monkeypatch.setattr("rankfall.cli.policies.command.callback", lambda **_: (_ for _ in ()).throw(problems.pop(0)))
    named, other = call("policies"), call("policies")
    assert (named.exit_code, named.output) == (1, "Error: /some/file: Permission denied\n")
    assert isinstance(other.exception, OSError)


def test_simulate_is_reproducible(tmp_path: Path) -> None:
    frames = []
    for seed in ("4", "4", "5"):
        call("simulate", *SMALL, "--seed", seed, "--policies", "CascadeLSB,CascadeHybrid", "--out", str(tmp_path))
        frames.append(pl.read_parquet(tmp_path / "runs.parquet"))
    assert frames[0].equals(frames[1])
    assert not frames[0].equals(frames[2])
    assert frames[0]["policy"].unique().sort().to_list() == ["CascadeHybrid", "CascadeLSB"]


def test_a_policy_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in a module in the current folder, which is not on the path of an installed program."""
    text = "from rankfall import CascadeHybrid\nclass Mine(CascadeHybrid):\n    'Of my own.'\n"
    (tmp_path / "simulated_module.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", str(tmp_path))])
    result = call("simulate", *SMALL, "--policies", "simulated_module:Mine,CascadeHybrid,CascadeUCB1")
    assert result.exit_code == 0, result.output
    runs = pl.read_parquet(tmp_path / "out" / "simulate" / "runs.parquet")
    mine, known = (runs.filter(policy=name).drop("policy") for name in ("simulated_module:Mine", "CascadeHybrid"))
    assert len(mine)
    assert mine.equals(known)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policies", "CascadeHybird"], "no policy 'CascadeHybird'; choose from BatchRank,"),
        (["--policies", ","], "choose from BatchRank,"),
        (["--policies", "no_such_module:Mine"], "cannot import the policy 'no_such_module:Mine'"),
        (["--policies", "builtins:repr"], "builtins:repr makes no policy of a catalog: a str has no n_items, rank and"),
        (["--items", "1" + "0" * 15], "not enough memory: Unable to allocate"),
        (["--k", "21"], "--k is 21 and there are 20 --items"),
        (["--tradeoff", "1.5"], "1.5 is not in the range 0<=x<=1"),
        (["--gamma", "nan"], "gamma must be a number in [0, inf), got nan"),
        (["--gamma", "inf"], "gamma must be a number in [0, inf), got inf"),
        (["--topics", "0", "--features", "0"], "topics and features are both 0"),
        (["--topics", "0", "--policies", "CascadeLSB"], "CascadeLSB needs topics"),
        (["--out", "/dev/null/x"], "cannot make the folder /dev/null/x"),
    ],
)
def test_simulate_says_what_is_wrong(tmp_path: Path, options: list[str], said: str) -> None:
    result = call("simulate", *SMALL, "--out", str(tmp_path), *options)
    assert result.exit_code != 0
    assert said in result.output
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_simulate_asks_all_policies_for_what_they_need_before_the_first_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankfall.cli.simulate.simulate_many", lambda *_, **__: pytest.fail("it ran"))
    result = call("simulate", *SMALL, "--topics", "0", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "CascadeLSB needs topics" in result.output


def test_every_command_is_listed_with_its_help() -> None:
    listing = call("--help").output
    for name, line in COMMANDS.items():
        assert name in listing
        assert line in listing
        command = app.get_command(click.Context(app), name)
        assert isinstance(command, click.Command)
        assert call(name, "--help").exit_code == 0


def test_an_unknown_command_names_the_known_ones() -> None:
    result = call("frobnicate")
    assert result.exit_code == 2
    assert "there is no command 'frobnicate'; there is: demo, simulate" in result.output


def test_installed_and_as_a_module() -> None:
    for command in (["-m", "rankfall"], ["-c", "import rankfall.cli; rankfall.cli.main()"]):
        done = subprocess.run([sys.executable, *command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"rankfall, version {__version__}\n"
    wrong = subprocess.run([sys.executable, "-m", "rankfall", "simulate", "--k", "0"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr


def test_help_needs_none_of_the_heavy_imports() -> None:
    look = "import sys, rankfall.cli; print({'numba', 'polars', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
