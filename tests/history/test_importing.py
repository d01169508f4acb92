"""Click logs that a service learns from."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_policies import LINEAR
from logged import CATALOG, batch_state, clicks, running, same, state_of
from waiting import wait_until

from rankfall import generate
from rankfall.click_logs import read_click_log
from rankfall.errors import RankfallError
from rankfall.history.export import export
from rankfall.history.importing import import_clicks


@given(st.data(), st.sampled_from(sorted(LINEAR)))
@settings(max_examples=30)
def test_features_of_many_lists_are_those_of_one(data: st.DataObject, policy: str) -> None:
    seed = data.draw(st.integers(0, 2**20))
    catalog = generate(items=12, topics=3, features=2, seed=seed).catalog
    k = data.draw(st.integers(1, 8))
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(12)[:k] for _ in range(4)])
    made = LINEAR[policy](catalog)
    for found, given_rows in zip(LINEAR[policy](catalog).features_of(rows), rows.tolist(), strict=True):
        assert np.array_equal(found, made.rank(k, fixed=dict(enumerate(given_rows))).features)


@pytest.mark.stress
def test_an_import_is_learned_once_and_by_servers_that_run(place: str, tmp_path: Path) -> None:
    log = read_click_log(clicks(tmp_path / "clicks.parquet", 2_500))
    with running(place) as server, running(place) as engine:
        assert state_of(server)["counts"][0] == 0
        first = import_clicks(engine, "default", log.take(np.arange(1_700)))
        whole = import_clicks(engine, "default", log)
        again = import_clicks(engine, "default", log)
        assert (first.lists, whole.lists, whole.known, again.lists, again.known) == (1_700, 800, 1_700, 0, 2_500)
        wait_until(lambda: server.state.position >= engine.store.end())
        export(engine.store, tmp_path)
        assert same(batch_state(tmp_path), state_of(server))
        assert same(state_of(engine), state_of(server))
        policy = LINEAR["CascadeHybrid"](CATALOG)
        for one in log:
            rows = CATALOG.rows(one.items).tolist()
            policy.update(policy.rank(len(rows), fixed=dict(enumerate(rows))), one.clicked)
        assert same(policy.state(), state_of(server))
        assert server.state.model("default").history.counts.counts["imported"][0] == 2_500
        assert server.state.model("default").history.counts.history(720, engine.clock())[1] == [], "nothing was live"
    events = pl.read_parquet(tmp_path / "events.parquet")
    assert set(events["arm"]) == {"imported"}
    assert events["scores"].explode().null_count() == 2_500 * 5


@pytest.mark.stress
def test_two_imports_at_a_time(place: str, tmp_path: Path) -> None:
    log = read_click_log(clicks(tmp_path / "clicks.parquet", 3_000))
    with running(place) as one, running(place) as other, ThreadPoolExecutor(2) as threads:
        jobs = [threads.submit(import_clicks, one, "default", log)]
        jobs += [threads.submit(import_clicks, other, "default", log.take(np.arange(3_000)[::-1]))]
        done = [job.result() for job in jobs]
        assert sum(job.lists for job in done) == sum(job.known for job in done) == 3_000
        export(one.store, tmp_path)
        wait_until(lambda: one.state.position >= one.store.end())
        assert same(batch_state(tmp_path), state_of(one))


def test_lists_with_unknown_items_are_left_out_and_named(tmp_path: Path) -> None:
    path = clicks(tmp_path / "clicks.csv", 10)
    text = path.read_text().splitlines()
    text[8] = text[8].replace(f",{text[8].split(',')[2]},", ",987654,")
    path.write_text("\n".join(text) + "\n")
    with running(str(tmp_path / "data")) as engine:
        done = import_clicks(engine, "default", read_click_log(path))
    assert (done.lists, done.left_out) == (9, [("1", 987654)])


def test_users_segments_and_times_are_taken_over(tmp_path: Path) -> None:
    users, times = np.repeat(["b", "a"], 5), np.repeat([1_800_000_000, 1_700_000_000], 5)
    path = clicks(tmp_path / "clicks.parquet", 2, user=users, time=times, segment=users)
    log = read_click_log(path)
    assert [one.name for one in log.by_time()] == ["1", "0"]
    with running(str(tmp_path / "data"), scope="user") as engine:
        import_clicks(engine, "default", log)
        export(engine.store, tmp_path)
        assert same(batch_state(tmp_path, key="a"), state_of(engine, key="a"))
        assert state_of(engine, key="a")["counts"][0] == 1
        with pytest.raises(
            RankfallError, match=r"one state for each user, and list '0' has none.*Nothing was imported"
        ):
            import_clicks(engine, "default", read_click_log(clicks(tmp_path / "c.parquet", 2)))
    events = pl.read_parquet(tmp_path / "events.parquet").sort("created")
    assert events["user"].to_list() == events["segment"].to_list() == ["a", "b"]
    assert events["created"].dt.epoch("s").to_list() == [1_700_000_000, 1_800_000_000]
