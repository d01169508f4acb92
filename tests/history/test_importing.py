"""Click logs that a service learns from."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_policies import LINEAR
from logged import CATALOG, batch_state, clicks, drive, running, same, state_of
from waiting import wait_until

from rankfall import Rewards, generate
from rankfall.click_logs import ClickLog, read_click_log
from rankfall.errors import RankfallError
from rankfall.history.export import export
from rankfall.history.exported import Log
from rankfall.history.importing import event_id_of, import_clicks
from rankfall.history.judged_lists import moment_after
from rankfall.history.replay import replay
from rankfall.history.replayable import ClickLogToReplay
from rankfall.service.commands import GiveFeedback
from rankfall.service.engine import Engine
from rankfall.wire import FeedbackRequest, Outcome


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


REWARDS = {"click": 1.0, "cart": 2.0, "purchase": 5.0}


def told(engine: Engine, events: list[str], kind: str, value: float) -> None:
    """Something comes of an item of each list."""
    for n, event in enumerate(events):
        outcome = Outcome(position=n % 3 + 1, type=kind, value=value)
        (fed,) = engine.write(GiveFeedback((FeedbackRequest(event, outcomes=[outcome]),)))
        assert fed.result == "accepted"


def test_outcomes_of_an_export_are_imported_once_each(tmp_path: Path) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    with running(str(tmp_path / "shown"), rewards=REWARDS) as engine:
        made = drive(engine, 30)
        told(engine, made[:10], "cart", 1.0)
        export(engine.store, first)
        told(engine, made[5:20], "purchase", 0.5)
        export(engine.store, later)
    logs = [read_click_log(folder) for folder in (first, later)]
    lists = {one.name: one for one in logs[1].by_time()}
    assert sum(len(one.outcomes) for one in logs[0]) <= 10
    with running(str(tmp_path / "taught"), rewards=REWARDS) as engine:
        done = [import_clicks(engine, "default", log) for log in (*logs, logs[0], logs[1])]
        assert [one.lists for one in done] == [logs[0].lists, 0, 0, 0]
        early = sum(len(one.outcomes) for one in logs[0])
        every = sum(len(one.outcomes) for one in lists.values())
        assert [one.outcomes for one in done] == [early, every - early, 0, 0]
        assert not any(one.unpaid for one in done)
        policy, worth = LINEAR["CascadeHybrid"](CATALOG), Rewards(REWARDS)
        rankings = {}
        for one in logs[0].by_time():
            rows = CATALOG.rows(one.items).tolist()
            rankings[one.name] = policy.rank(len(rows), fixed=dict(enumerate(rows)))
            clicked = {position: worth.earned("click") for position in one.clicked}
            policy.update(rankings[one.name], one.clicked, rewards=clicked)
        for log, before in zip(logs, ({}, {one.name: len(one.outcomes) for one in logs[0]}), strict=True):
            for one in log.by_time():
                for position, kind, value in one.outcomes[before.get(one.name, 0) :]:
                    policy.add_outcome(rankings[one.name], one.clicked, position, worth.earned(kind, value))
        assert same(policy.state(), state_of(engine))
        export(engine.store, tmp_path)
        assert same(replay(Log(tmp_path), "CascadeHybrid", 0.5).policies[""].state(), state_of(engine))


def test_outcomes_count_at_the_time_of_their_list_if_they_were_imported_with_it(tmp_path: Path) -> None:
    """Lists are an hour apart, and two things come of each; later a caller tells of another of the first."""
    times, bought = np.repeat(1_700_000_000 + 3_600 * np.arange(8), 5), np.tile([0, 0, 1, 0, 0], 8)
    path = clicks(tmp_path / "clicks.parquet", 8, time=times)
    pl.read_parquet(path).sort("list", "position").with_columns(
        pl.Series("outcome:purchase", bought), pl.Series("outcome:cart", np.tile([1, 0, 0, 0, 0], 8))
    ).write_parquet(path)
    log = read_click_log(path)
    with running(str(tmp_path / "data"), rewards=REWARDS) as engine:
        import_clicks(engine, "default", log)
        (fed,) = engine.write(
            GiveFeedback(
                (FeedbackRequest(event_id_of("default", "0"), outcomes=[Outcome(position=2, type="purchase")]),)
            )
        )
        assert fed.result == "accepted"
        export(engine.store, tmp_path)
    exported = Log(tmp_path)
    shown = {one["event_id"]: one["created"] for one in exported.events().to_dicts()}
    *imported, told = exported.outcomes().to_dicts()
    assert len(imported) == 16
    assert all(one["at"] == shown[one["event_id"]] for one in imported)
    assert (told["event_id"], told["position"]) == (event_id_of("default", "0"), 1)
    (at,) = pl.read_parquet(tmp_path / "outcomes.parquet").filter(pl.col("seq") == told["seq"])["at"]
    assert told["at"] == at > max(shown.values())
    plain = ClickLogToReplay("plain", log, CATALOG)
    one, other = (
        replay(each, "CascadeHybrid", 0.5, rewards=Rewards(REWARDS), until=moment_after(each, 0.5))
        for each in (plain, exported)
    )
    assert one.outcomes == other.outcomes == 8
    assert one.weights == pytest.approx(other.weights)
    assert replay(exported, "CascadeHybrid", 0.5).outcomes == 17


def test_a_list_of_a_known_name_with_other_items_is_refused(place: str, tmp_path: Path) -> None:
    """With all of its batch, so that what came of it is not credited to the items of the other."""
    ids = list(CATALOG.ids)

    def log(lists: dict[str, list[int | str]]) -> ClickLog:
        rows = [(name, n, item, 0, 1) for name, items in lists.items() for n, item in enumerate(items, 1)]
        names = ("list", "position", "item", "click", "outcome:purchase")
        return read_click_log(pl.DataFrame(rows, schema=names, orient="row"))

    with running(place, rewards=REWARDS) as engine:
        import_clicks(engine, "default", log({"a": ids[:3], "b": ids[3:5]}))
        before = state_of(engine)
        for items, position, here, there in (
            ([ids[0], ids[2], ids[1]], 2, f"item {ids[2]!r}", f"item {ids[1]!r}"),
            (ids[:2], 3, "nothing", f"item {ids[2]!r}"),
            (ids[:4], 4, f"item {ids[3]!r}", "nothing"),
        ):
            with pytest.raises(RankfallError) as refused:
                import_clicks(engine, "default", log({"new": ids[:2], "a": items, "b": ids[3:5]}))
            assert str(refused.value).startswith(
                f"list 'a' has {here} at position {position}, and a list of this name that was imported before has "
                f"{there} there; "
            )
            assert str(refused.value).endswith(
                "0 lists were imported before that and stay; the same command then goes on"
            )
        assert engine.store.ranked("default") == 2
        assert same(state_of(engine), before)
        export(engine.store, tmp_path)
        assert len(Log(tmp_path).outcomes()) == 5
        again = import_clicks(engine, "default", log({"new": ids[:2], "a": ids[:3]}))
        assert (again.lists, again.known, again.outcomes) == (1, 1, 2)


def test_outcomes_that_a_model_has_no_reward_for_are_counted(tmp_path: Path) -> None:
    with running(str(tmp_path / "shown"), rewards=REWARDS) as engine:
        made = drive(engine, 12)
        told(engine, made[:6], "cart", 1.0)
        told(engine, made[:4], "purchase", 1.0)
        export(engine.store, tmp_path / "log")
    log = read_click_log(tmp_path / "log")
    kinds = Counter(kind for one in log for _, kind, _ in one.outcomes)
    with running(str(tmp_path / "taught"), rewards={"click": 1, "cart": 2}) as engine:
        done = import_clicks(engine, "default", log)
        assert (done.outcomes, done.unpaid) == (kinds["cart"], Counter(purchase=kinds["purchase"]))
    with running(str(tmp_path / "plain")) as engine:
        done = import_clicks(engine, "default", log)
        assert (done.outcomes, done.unpaid) == (0, kinds)
