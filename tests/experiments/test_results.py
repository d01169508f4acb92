import numpy as np
import polars as pl
import pytest

from rankfall import Run
from rankfall.experiments.results import summary


def run(regret: list[float], clicks: list[int]) -> Run:
    return Run(
        np.array([10, 20]), np.array(regret), np.array(clicks), np.array([3.0, 5.0]), np.array([1.0, 2.0]), best=0.75
    )


def test_frame_has_a_row_for_each_checkpoint_with_labels() -> None:
    frame = run([1.0, 1.5], [4, 9]).frame(policy="p", user=3)
    assert frame.rows() == [("p", 3, 10, 1.0, 4, 3.0, 1.0, 0.75), ("p", 3, 20, 1.5, 9, 5.0, 2.0, 0.75)]


def test_summary_gives_means_and_standard_errors() -> None:
    frame = pl.concat([run([r, 2 * r], [4, 8]).frame(policy="p", user=i) for i, r in enumerate([1.0, 2.0, 6.0])])
    last = summary(frame).row(-1, named=True)
    assert (last["policy"], last["step"], last["runs"], last["regret"]) == ("p", 20, 3, 6.0)
    assert last["regret_error"] == pytest.approx(np.std([2, 4, 12], ddof=1) / np.sqrt(3))
    assert last["click_rate"] == pytest.approx(0.4)
    assert last["click_rate_error"] == 0


def test_a_single_run_has_no_standard_error() -> None:
    assert summary(run([1.0, 2.0], [1, 2]).frame(policy="p"))["regret_error"].to_list() == [None, None]
