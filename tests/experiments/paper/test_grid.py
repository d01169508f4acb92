from pathlib import Path

import pytest

from rankfall import ProblemError
from rankfall.experiments.paper import SCALES, SWEEPS, paper_study


def test_the_grid_of_the_paper() -> None:
    study = paper_study("movielens-1m", scale="paper")
    assert (study.users, study.repeats, study.steps, study.k) == (500, 2, 50_000, 10)
    assert (study.user["topics"], study.user["tradeoff"]) == (20, 0.5)
    assert SWEEPS["tradeoff"].axes == {"user.tradeoff": tuple(i / 10 for i in range(11))}
    assert SWEEPS["topics"].axes == {"user.topics": (5, 10, 15, 20)}
    assert SWEEPS["positions"].axes == {"k": (5, 10, 15, 20)}
    assert study.paper
    assert list(SCALES) == ["quick", "standard", "paper"]
    with pytest.raises(ProblemError, match="no sweep 'nonsense'; choose from tradeoff"):
        paper_study("movielens-small", ["nonsense"])
    with pytest.raises(ProblemError, match="no scale 'nonsense'; choose from quick"):
        paper_study("movielens-small", scale="nonsense")


def test_the_scales_in_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "studies.md").read_text()
    for name, scale in SCALES.items():
        work = 17 * 5 * scale.users * scale.repeats * scale.steps
        row = f"| `{name}` | {scale.users} | {scale.repeats} | {scale.steps:,} | {work:,} |"
        assert row in page
