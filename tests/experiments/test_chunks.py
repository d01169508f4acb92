from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small_studies import OF_MANY_KINDS, ON_DATA

from rankfall import POLICIES, CascadeUser, FileError, Prepared, prepare, simulate_many
from rankfall.data import find
from rankfall.experiments import Plan, plan
from rankfall.experiments.chunks import SCHEMA, checkpoints, parquet, read_chunk, simulate_chunk
from rankfall.experiments.plan import Chunk
from rankfall.experiments.simulation import run_seed, simulate


@pytest.fixture(scope="module")
def laid() -> Plan:
    return plan(ON_DATA)


def test_results_are_those_of_simulate_many(laid: Plan) -> None:
    data = prepare(find("movielens-small"), users=100, items=60, threshold=4.0, rank=3, topics=5)
    users = [CascadeUser(data.user_coverage, data.relevance, data.theta[u], data.beta[u], 0.5) for u in range(3)]
    expected = simulate_many(POLICIES["CascadeLSB"](data.catalog()), users, 60, 4, repeats=2, checkpoints=[60])
    (chunk,) = next(setup for entry, setup in laid.rows if entry.point == 1 and setup.policy == "CascadeLSB").chunks
    runs = read_chunk(chunk, simulate_chunk(chunk, laid.data)).filter(step=60)
    assert runs["user"].to_list() == [0, 0, 1, 1, 2, 2]
    assert runs["repeat"].to_list() == [0, 1] * 3
    assert runs["regret"].to_list() == [run.regret[-1] for run in expected]
    assert runs["clicks"].to_list() == [run.clicks[-1] for run in expected]
    assert runs["best"].to_list() == [run.best for run in expected]


def test_a_run_does_not_depend_on_the_chunk_it_is_in() -> None:
    of_many = plan(OF_MANY_KINDS)
    for setup in of_many.setups:
        (whole,) = setup.chunks
        table = read_chunk(whole, simulate_chunk(whole, {}))
        for run in range(setup.runs):
            alone = Chunk(setup, run, run + 1)
            assert read_chunk(alone, simulate_chunk(alone, {})).equals(table.filter(repeat=run))
        world = setup.world(0, 2, {})
        expected = simulate(setup.make(world), world[1], 60, 2, run_seed(0, 0, 2))
        assert table.filter(repeat=2)["regret"][-1] == expected.regret[-1]


def test_the_same_chunk_gives_the_same_bytes(laid: Plan, tmp_path: Path) -> None:
    chunk = laid.chunks[-1]
    ((key, prepared),) = laid.data.items()
    prepared.save(tmp_path / "data.npz")
    again = {key: Prepared.load(tmp_path / "data.npz")}
    assert len({simulate_chunk(chunk, data) for data in (laid.data, laid.data, again)}) == 1


def test_perfect_coverage_changes_the_results(laid: Plan) -> None:
    from dataclasses import replace

    perfect = plan(replace(ON_DATA, user={**ON_DATA.user, "perfect_coverage": True}), laid.data)
    tables = [read_chunk(each.chunks[0], simulate_chunk(each.chunks[0], laid.data)) for each in (laid, perfect)]
    assert not tables[0]["regret"].equals(tables[1]["regret"])


def test_a_file_of_another_chunk_or_with_other_numbers_is_refused(laid: Plan) -> None:
    one, other = laid.chunks[:2]
    content = simulate_chunk(one, laid.data)
    assert read_chunk(one, content).schema == SCHEMA
    with pytest.raises(FileError, match="holds another one"):
        read_chunk(other, content)
    changed = read_chunk(one, content).with_columns(pl.col("regret") + 1)
    import io

    said = pl.read_parquet_metadata(io.BytesIO(content))
    with pytest.raises(FileError, match="its numbers are not those that were written"):
        read_chunk(one, parquet(changed, **said))
    with pytest.raises(FileError, match="is damaged"):
        read_chunk(one, content[:-30])


def test_checkpoints_include_the_last_step() -> None:
    for steps in (1, 2, 7, 1000):
        marks = checkpoints(steps, 50, 40)
        assert marks == sorted(set(marks))
        assert (marks[0], marks[-1]) == (1, steps)
    assert checkpoints(1000, 4, 0) == [250, 500, 750, 1000]
    assert np.diff(np.log(checkpoints(10**6, 1, 7))) == pytest.approx(np.log(10), rel=0.02)
