"""The benchmark measures what it says; no test asserts a time."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rankfall.cli import app
from rankfall.experiments.bench import measure as bench
from rankfall.experiments.paper import PAPER

WORLD = bench.World.generated(topics=6, features=4, items=60)


def test_a_larger_world_begins_with_the_old_one() -> None:
    larger = WORLD.enlarged(150)
    assert len(larger.catalog) == 150
    np.testing.assert_allclose(larger.coverage[:60], WORLD.coverage)
    np.testing.assert_allclose(larger.relevance[:60], WORLD.relevance, atol=1e-12)
    assert not np.allclose(larger.relevance[60:120], WORLD.relevance)
    lengths = np.linalg.norm(larger.relevance, axis=1)
    np.testing.assert_allclose(lengths, 1.0)
    assert ((larger.coverage > 0) == (WORLD.coverage > 0)[np.arange(150) % 60]).all()


@pytest.mark.parametrize("name", list(PAPER))
def test_speed_counts_the_items_really_scored(name: str) -> None:
    row = bench.speed(WORLD, name, steps=300, k=5, users=2, numpy_steps=20)
    assert row.policy == name
    assert 5 <= row.scored <= 60 * 5
    assert row.ratio == row.numpy / row.ours > 0


def test_growth_varies_one_thing_at_a_time() -> None:
    rows = list(bench.growth(WORLD, ["CascadeLSB"], steps=20, largest=1000))
    assert {row.varied: [r.value for r in rows if r.varied == row.varied] for row in rows} == {
        "items": [1000],
        "positions": [5, 10, 15, 20],
        "topics": [5, 10, 20, 40],
        "features": [5, 10, 20, 40],
    }


def test_the_command_prints_a_table_or_json(tmp_path: Path) -> None:
    options = [
        "bench",
        "--steps",
        "100",
        "--users",
        "1",
        "--numpy-steps",
        "50",
        "--largest",
        "1000",
        "--out",
        str(tmp_path),
    ]
    tables = CliRunner().invoke(app, [*options, "--no-growth"])
    assert tables.exit_code == 0, tables.output
    for word in (*PAPER, "plain NumPy", "ratio", "items scored", "cores against one", "bench.json"):
        assert word in tables.output
    plain = CliRunner().invoke(app, [*options, "--json", "--no-growth"])
    figures = json.loads(plain.stdout)
    assert [row["policy"] for row in figures["speed"]] == list(PAPER)
    assert figures == json.loads((tmp_path / "bench.json").read_text())


def test_the_command_says_what_is_wrong() -> None:
    result = CliRunner().invoke(app, ["bench", "--data", "no-such-data"])
    assert result.exit_code == 1
    assert "no-such-data" in result.output
