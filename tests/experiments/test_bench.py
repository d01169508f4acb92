"""The benchmark measures what it says; no test asserts a time."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rankfall.cli import app
from rankfall.experiments.bench import lists as bench_lists
from rankfall.experiments.bench.figure import growth_figure
from rankfall.experiments.bench.growth import FIRST, Growth, growth
from rankfall.experiments.bench.lists import lists
from rankfall.experiments.bench.record import Record
from rankfall.experiments.bench.steps import THOMPSON, Cores, drawn, horizons_up_to, side_by_side, speed
from rankfall.experiments.bench.world import World, linear_policy, timeline
from rankfall.experiments.paper import PAPER
from rankfall.experiments.simulation import simulate

WORLD = World.generated(topics=6, features=4, items=60)


def test_a_larger_world_begins_with_the_old_one() -> None:
    larger = WORLD.enlarged(150)
    assert len(larger.catalog) == 150
    np.testing.assert_allclose(larger.coverage[:60], WORLD.coverage)
    np.testing.assert_allclose(larger.relevance[:60], WORLD.relevance, atol=1e-12)
    assert not np.allclose(larger.relevance[60:120], WORLD.relevance)
    lengths = np.linalg.norm(larger.relevance, axis=1)
    np.testing.assert_allclose(lengths, 1.0)
    assert ((larger.coverage > 0) == (WORLD.coverage > 0)[np.arange(150) % 60]).all()
    np.testing.assert_array_equal(larger.some(7).relevance, larger.relevance[:7])


@pytest.mark.parametrize("name", [*PAPER, *THOMPSON])
def test_a_timeline_is_the_simulation_of_the_same_seed(name: str) -> None:
    ours, simulated = (linear_policy(name, WORLD.catalog) for _ in range(2))
    marks = list(timeline(ours, WORLD.user(1), [10, 30, 70], 5, seed=3))
    simulate(simulated, WORLD.user(1), 70, 5, seed=3)
    np.testing.assert_array_equal(ours.weights, simulated.weights)
    steps, seconds, scored = zip(*marks, strict=True)
    assert steps == (10, 30, 70)
    assert list(seconds) == sorted(seconds)
    assert scored[-1] == simulated.scored > scored[0]


def test_a_timeline_waits_for_whoever_asks() -> None:
    policy = linear_policy("CascadeLSB", WORLD.catalog)
    marks = timeline(policy, WORLD.user(0), [10, 30], 5)
    next(marks)
    assert policy.n_updates == 10


def test_horizons_end_with_the_longest_run() -> None:
    assert horizons_up_to(50_000) == [100, 1_000, 10_000, 50_000]
    assert horizons_up_to(500) == [100, 500]
    assert horizons_up_to(100) == [100]


@pytest.mark.parametrize("name", list(PAPER))
def test_speed_counts_the_items_really_scored(name: str) -> None:
    rows = speed("made up", WORLD, name, steps=300, k=5, users=2, numpy_steps=20)
    assert [(row.data, row.policy, row.steps) for row in rows] == [("made up", name, 100), ("made up", name, 300)]
    for row in rows:
        assert 5 <= row.scored <= 60 * 5
        assert row.ratio == row.numpy / row.ours > 0


def test_thompson_is_compared_with_bounds_on_the_same_columns() -> None:
    for name, other in THOMPSON.items():
        with_draws, with_bounds = (linear_policy(one, WORLD.catalog) for one in (name, other))
        assert (with_draws.coverage, with_draws.relevance) == (with_bounds.coverage, with_bounds.relevance)
    row = drawn(WORLD, "CascadeLinTS", steps=50, k=5, users=2)
    assert row.ratio == row.ours / row.bounds > 0


def test_cores_are_compared_on_the_same_runs() -> None:
    assert side_by_side(WORLD, "CascadeLSB", 20, 5, workers=2).workers == 2


def test_lists_are_made_in_every_way_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for calls in ("_CALLS", "_NUMPY_CALLS", "_LEARNED_FROM"):
        monkeypatch.setattr(bench_lists, calls, {1_000: 3})
    rows = list(lists(WORLD, 1_000))
    assert len({row.asked for row in rows}) == len(rows) == 7
    for row in rows:
        assert row.items == 1_000
        assert 0 < row.ours <= row.slowest
        assert row.ratio == row.numpy / row.ours


def test_growth_varies_one_thing_at_a_time() -> None:
    rows = list(growth(WORLD, ["CascadeLSB"], steps=20, largest=1000))
    assert all((new.model, learned.model) == ("new", "learned") for new, learned in rows)
    assert all(new.value == learned.value and new.steps == min(FIRST, 20) for new, learned in rows)
    varied = [new.varied for new, _ in rows]
    assert {name: [new.value for new, _ in rows if new.varied == name] for name in varied} == {
        "items": [1000],
        "positions": [5, 10, 15, 20],
        "topics": [5, 10, 20, 40],
        "features": [5, 10, 20, 40],
    }


def test_the_figure_has_a_line_for_new_models_and_one_for_learned_ones() -> None:
    rows = [
        Growth(name, "items", value, model, 100, value / 10)  # type: ignore[arg-type]
        for name in ("CascadeHybrid", "CascadeLSB")
        for model in ("new", "learned")
        for value in (1_000, 10_000)
    ]
    figure = growth_figure(rows)
    assert Counter(line.get_marker() for line in figure.axes[0].get_lines()) == {"o": 2, "^": 2}
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == ["CascadeHybrid", "CascadeLSB"]
    assert [label for label in labels if "new model" in label]


def test_rows_are_in_the_file_as_soon_as_they_are_measured(tmp_path: Path) -> None:
    record = Record(tmp_path / "deep" / "bench.json", data="made up")
    for workers in (1, 2):
        record.add("cores", Cores(workers, 1.5))
        found = json.loads(record.path.read_text())
        assert found == {"data": "made up", "cores": [{"workers": n + 1, "ratio": 1.5} for n in range(workers)]}


def test_the_command_prints_tables_or_json(tmp_path: Path) -> None:
    sizes = ["--steps", "100", "--users", "1", "--numpy-steps", "50", "--largest", "1000"]
    options = ["bench", *sizes, "--no-growth", "--no-grid", "--out", str(tmp_path)]
    tables = CliRunner().invoke(app, options)
    assert tables.exit_code == 0, tables.output
    for word in (*PAPER, *THOMPSON, "plain NumPy", "items scored", "500 candidates", "cores against one", "bench.json"):
        assert word in tables.output
    assert "grid" not in tables.output
    plain = CliRunner().invoke(app, [*options, "--json"])
    figures = json.loads(plain.stdout)
    assert [row["policy"] for row in figures["speed"]] == [*PAPER, *PAPER]  # the data given, and sparse data
    assert {"speed", "rank", "thompson", "cores"} < figures.keys()
    assert figures == json.loads((tmp_path / "bench.json").read_text())


def test_the_command_says_what_is_wrong() -> None:
    result = CliRunner().invoke(app, ["bench", "--data", "no-such-data"])
    assert result.exit_code == 1
    assert "no-such-data" in result.output
