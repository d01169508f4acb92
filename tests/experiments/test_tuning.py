"""The best value of a setting."""

import numpy as np
import polars as pl
import pytest

from rankfall import ProblemError
from rankfall.experiments.tuning import best_value


def runs(regrets: dict[float, list[float]]) -> pl.DataFrame:
    rows = [
        {"sweep": "gamma", "point": point, "case": "A", "policy": "A", "gamma": gamma, "user": user, "repeat": 0,
         "step": step, "regret": regret * step / 10, "clicks": 1, "touched": 1.0, "covered": 1.0, "best": 0.5}
        for point, (gamma, each) in enumerate(regrets.items()) for user, regret in enumerate(each) for step in (5, 10)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_the_lowest_mean_wins_and_what_cannot_be_told_apart_is_named() -> None:
    base = np.array([10.0, 20.0, 30.0, 40.0])
    near, wild = np.array([3.0, -2.0, 3.0, -2.0]), np.array([40.0, 0.0, 90.0, 2.0])
    found = best_value(runs({1.0: [*base + 5], 0.1: [*base], 0.3: [*base + near], 0.0: [*base + wild]}), "gamma")
    assert (found.value, found.regret, found.steps, found.units) == (0.1, 25.0, 10, 4)
    assert found.close == (0.0, 0.3)  # 1.0 is worse by 5 for every user
    assert found.low < 25.0 < found.high
    assert found.sentence.startswith("gamma 0.1 has the lowest regret: 25.0 (")
    assert found.sentence.endswith("after 10 lists, in 4 runs. Not told apart from it: 0, 0.3.")


def test_runs_of_several_cases_are_refused() -> None:
    two = pl.concat([runs({0.1: [1.0, 2.0]}), runs({0.1: [1.0, 2.0]}).with_columns(case=pl.lit("B"))])
    with pytest.raises(ProblemError, match="one case, in one sweep of gamma"):
        best_value(two, "gamma")
