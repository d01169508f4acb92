"""The study of context, small: it writes its table and figure, and goes on where it was stopped."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rankfall import prepare
from rankfall.data import find

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import context

SIZES = context.Sizes(people=2, lists=120, points=12)


def test_the_study_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = prepare(find("movielens-small"), items=60)
    found = {world: context.kept(tmp_path, data, world, SIZES) for world in context.WORLDS}
    for ways in found.values():
        assert set(ways) == set(context.WAYS)
        for regret in ways.values():
            assert regret.shape == (2, 12)
            assert (np.diff(regret, axis=1) >= -1e-9).all()
    lines = list(context.table(found, SIZES))
    assert sum(line.startswith("| matters |") for line in lines) == 2
    assert context.figure(found, SIZES, tmp_path / "figure").exists()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr(context, "simulate_users", never)
    assert list(context.table({w: context.kept(tmp_path, data, w, SIZES) for w in context.WORLDS}, SIZES)) == lines


def test_the_worlds_are_what_they_say() -> None:
    data = prepare(find("movielens-small"), items=60)
    segments = [context.segment_of(number) for number in range(len(context.SITUATIONS))]
    assert len(set(segments)) == 12
    by_world = {world: context.tastes(data, world, 1) for world in context.WORLDS}
    assert np.ptp(by_world["does not matter"], axis=0).max() == 0.0
    assert len(np.unique(by_world["not additive"], axis=0)) == 12
    whole, half = by_world["matters"], by_world["matters half"]
    np.testing.assert_allclose(half - half[0], (whole - whole[0]) / 2, atol=1e-12)
