"""The study across users, small: it writes its table, and goes on where it was stopped."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankfall import prepare
from rankfall.data import find

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import across_users

SIZES = across_users.Sizes(tradeoffs=(0.5,), earlier=6, new=4, draws=1, long=1)


def test_the_study_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = prepare(find("movielens-small"), items=60)
    lines = list(across_users.table(tmp_path, data, SIZES))
    assert sum(line.startswith("| 0.5 |") for line in lines) == 3
    assert "NaN" not in "\n".join(lines)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr(across_users, "simulate_users", never)
    assert list(across_users.table(tmp_path, data, SIZES)) == lines
    with pytest.raises(AssertionError, match="simulated again"):
        list(across_users.table(tmp_path, data, replace(SIZES, new=5)))


def test_the_share_of_the_distance() -> None:
    rng = np.random.default_rng(1)
    independent = 10.0 + rng.normal(size=50)
    found = {"independent 30": independent, "learned 30": independent - 4.5, "oracle 30": independent - 5.0}
    share, low, high = across_users.share(found, "30")
    assert (share, low, high) == pytest.approx((0.9, 0.9, 0.9))
    assert across_users.shown(np.array([1.0, 2.0, 3.0, np.nan])) == "2.00 ± 2.48"
