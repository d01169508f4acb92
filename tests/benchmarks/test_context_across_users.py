"""The study of priors in a context, small."""

import sys
from pathlib import Path

import numpy as np

from rankfall import prepare
from rankfall.data import find

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import context_across_users as study

SIZES = study.Sizes(earlier=4, new=2, before=30, lists=40, topics=3)


def test_the_table_has_every_world_and_way() -> None:
    data = prepare(find("movielens-small"), items=60).with_topics(SIZES.topics)
    lines = list(study.table(data, SIZES))
    assert [line.split("|")[1:3] for line in lines[2:]] == [
        [f" {world} ", f" first {lists} "] for world in study.WORLDS for lists in (30, 40)
    ]
    assert "nan" not in "\n".join(lines)


def test_tastes_move_alike_apart_or_not_at_all() -> None:
    data = prepare(find("movielens-small"), items=60).with_topics(SIZES.topics)
    moved = {world: np.array([study.tastes(data, world, person) for person in (1, 2)]) for world in study.WORLDS}
    shifts = moved["moves alike"] - moved["does not move"]
    np.testing.assert_allclose(shifts[0], shifts[1], atol=1e-12)
    assert not np.allclose(*(moved["moves apart"] - moved["does not move"]))
    assert np.ptp(moved["does not move"], axis=1).max() == 0.0
