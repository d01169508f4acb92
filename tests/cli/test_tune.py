"""``rankfall tune``."""

import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hybrid_logs import CATALOG, DIVERSE, log_of

from rankfall.cli import app
from rankfall.experiments import Study
from rankfall.experiments.tuning import best_value
from rankfall.users.fitting import fit_hybrid


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    path = tmp_path / "user.parquet"
    fit_hybrid(log_of(DIVERSE, 500), CATALOG, ridge=10.0).write_parquet(path)
    return path


def test_gamma_is_chosen_on_the_fitted_user(fitted: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["tune", str(fitted), "--gammas", "0.3,0.1", "--k", "3", "--steps", "60", "--runs", "3"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(out), "--workers", "1"])
    assert result.exit_code == 0, result.output
    best = best_value(pl.read_parquet(out / "runs.parquet"), "gamma")
    assert result.output.strip().endswith(best.sentence)
    study = Study.read(out / "study.toml")  # rankfall run runs it again
    assert study.sweeps[0].axes["settings.gamma"] == (0.1, 0.3)
    assert (out / "report.html").is_file()


def test_a_policy_of_ones_own_in_the_current_folder(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from rankfall import CascadeHybrid\nclass Mine(CascadeHybrid):\n    'Of my own.'\n"
    (tmp_path / "tuned_module.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", str(tmp_path))])
    arguments = ["tune", str(fitted), "--policy", "tuned_module:Mine", "--k", "3", "--steps", "20", "--runs", "2"]
    result = CliRunner().invoke(app, [*arguments, "--gammas", "0.1,0.3", "--out", "out", "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "tuned_module:Mine" in result.output


@pytest.mark.parametrize("gammas", ["1", "a,b", "-1,2", "1,inf"])
def test_gammas_must_be_numbers(fitted: Path, tmp_path: Path, gammas: str) -> None:
    result = CliRunner().invoke(app, ["tune", str(fitted), "--gammas", gammas, "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "two or more numbers from 0 on" in " ".join(result.output.split())
