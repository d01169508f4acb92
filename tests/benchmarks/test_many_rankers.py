"""The study of many rankers, on a few comparisons."""

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from many_rankers import RANKERS, made_up, main


def test_one_ranker_is_preferred_to_every_other_one_and_others_go_in_circles() -> None:
    preferences = made_up(0)
    assert preferences + preferences.T == pytest.approx(np.ones((RANKERS, RANKERS)))
    assert (preferences[0, 1:] > 0.5).all()
    better = (preferences > 0.5).astype(int)
    assert np.trace(better @ better @ better) > 0  # i over j over k over i


def test_a_table_and_a_figure(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "preferences.txt", made_up(0)[:8, :8])
    matrix = ["--matrix", str(tmp_path / "preferences.txt"), "--figure", str(tmp_path / "regret")]
    done = CliRunner().invoke(main, ["--steps", "20000", "--repeats", "2", "--method", "DoubleThompson", *matrix])
    assert done.exit_code == 0, done.output
    assert "| | 10,000 | 20,000 | best shown in the end |" in done.output
    assert "| DoubleThompson | " in done.output
    assert "| pairs at random | " in done.output
    assert (tmp_path / "regret.png").stat().st_size > 10_000
