"""The study of estimates, small: its chances are right, and it writes table and figure."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from plackett_luce import PlackettLuce

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import estimates as study


def test_chances_of_drawn_lists_are_those_of_all_lists_added_up() -> None:
    scores = np.empty(study.ITEMS)
    scores[study.SHOWN] = 2.0 ** (-0.5 * np.arange(study.ITEMS))
    every = PlackettLuce(scores.tolist(), 3)
    lists, chances = study.EveryListDrawn(3).log(50, np.random.default_rng(0))
    expected = every.chances(lists)
    assert chances.down_to == pytest.approx(expected.down_to)
    assert chances.at_position == pytest.approx(expected.at_position)


def test_chances_where_a_fifth_is_random() -> None:
    lists, chances = study.FifthAtRandom(2).log(4_000, np.random.default_rng(0))
    usual = (lists == study.SHOWN[:2]).all(axis=1)
    assert chances.down_to[usual][0] == pytest.approx([0.8 + 0.2 / 10, 0.8 + 0.2 / 90])
    assert usual.mean() == pytest.approx(0.8022, abs=4 * np.sqrt(0.16 / 4_000))
    assert chances.down_to[~usual, -1].min() == pytest.approx(0.2 / 90)


def test_table_and_figure(tmp_path: Path) -> None:
    found = study.study(3, (5,), (200, 400))
    assert found.height == 2 * 2 * 3 * 8
    right = found.filter(pl.col("people") == "cascade", pl.col("estimator") == "direct")
    assert right["rmse"].max() < 0.15
    lines = study.markdown(found.filter(pl.col("lists") == 400)).splitlines()
    assert len(lines) == 2 + 6
    assert study.save(study.figure(found), tmp_path / "figure", ("png",))[0].exists()


def test_the_likeliest_users_are_right_for_people_that_a_cascade_is_wrong_for() -> None:
    plain, chosen = (study.study(2, (3,), (4_000,), likeliest) for likeliest in (False, True))
    wrong = (pl.col("people") != "cascade") & (pl.col("estimator") == "direct")
    drawn = wrong & (pl.col("logging") == "every list drawn")
    assert plain.filter(drawn)["bias"].max() < -0.08
    assert chosen.filter(drawn)["bias"].abs().max() < 0.05
