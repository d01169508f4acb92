import itertools
import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from linear_policies import LINEAR
from logged import CATALOG, batch_state, clicks, drive, running, same, state_of
from waiting import wait_until

from rankfall import Catalog, load
from rankfall.click_logs import read_click_log
from rankfall.errors import FileError, RankfallError
from rankfall.history.estimate import off_policy
from rankfall.history.export import export
from rankfall.history.exported import Log
from rankfall.history.importing import import_clicks
from rankfall.history.replay import replay
from rankfall.journal.catalogs import encode_catalog, shape_of
from rankfall.policies.forgetting import Discount, Forgetting, Window
from rankfall.service.commands import ChangeSettings, CreateModel, PatchItem, PutItems, Reset, Restore, TakeSnapshot
from rankfall.service.engine import Engine
from rankfall.service.items import catalog_of
from rankfall.service.prior_refresh import refreshed
from rankfall.service.setup import prepare
from rankfall.stores import open_store
from rankfall.wire import ItemBody, ItemPatch, ModelSettings

# Export


@pytest.mark.parametrize("scope", ["global", "user"])
def test_the_state_can_be_computed_from_the_files_alone(place: str, tmp_path: Path, scope: str) -> None:
    with running(place, scope=scope) as engine:
        drive(engine, 60)
        done = export(engine.store, tmp_path)
        for key in [""] if scope == "global" else ["u0", "u1", "u2", "u3"]:
            assert same(batch_state(tmp_path, key=key), state_of(engine, key=key))
        assert done.lists == 60
        assert 40 < done.with_feedback < 60


def test_names_of_features_are_in_the_export_and_in_a_replay(tmp_path: Path) -> None:
    features = ["constant", "log_price", "2021"]  # a number is a name, too
    named = Catalog(CATALOG.coverage, CATALOG.relevance, ids=CATALOG.ids, topics=CATALOG.topics, features=features)
    with running(str(tmp_path / "data"), named) as engine:
        drive(engine, 20)
        engine.write(CreateModel("plain", ModelSettings(policy="CascadeLinUCB")))
        export(engine.store, tmp_path)
    assert "relevance:log_price" in pl.read_parquet_schema(tmp_path / "catalog.parquet")
    columns = json.loads(pl.read_parquet_metadata(tmp_path / "events.parquet")["rankfall.columns"])
    assert columns == {"default": [*CATALOG.topics, *features], "plain": features}
    log = Log(tmp_path, "default")
    version = int(log.events()["catalog_version"][0])
    assert log.catalog(version) == named
    assert list(replay(log, "CascadeHybrid", 0.5).weights) == columns["default"]


@pytest.mark.stress
def test_an_export_beside_servers_is_of_one_moment(place: str, tmp_path: Path) -> None:
    enough = threading.Event()

    def work(engine: Engine, seed: int) -> None:
        for turn in itertools.count():
            drive(engine, 10, seed=2 * turn + seed)
            if enough.is_set():
                return

    with running(place) as one, running(place) as other, ThreadPoolExecutor(2) as threads:
        working = [threads.submit(work, engine, seed) for seed, engine in enumerate((one, other))]
        cut = one.store.end()
        try:
            for _ in range(4):
                wait_until(lambda cut=cut: one.store.end() > cut or any(job.done() for job in working))
                done = export(other.store, tmp_path)
                assert done.cut > cut
                cut = done.cut
                if done.with_feedback:
                    one.save_policy(one.state.model("default"), "", tmp_path / "state", done.cut)
                    assert same(batch_state(tmp_path), load(tmp_path / "state").state())
        finally:
            enough.set()
        for job in working:
            job.result()


def test_the_documentation_says_how(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
    words: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], words)
    with running(str(tmp_path / "data"), scope="user") as engine:
        drive(engine, 40)
        export(engine.store, tmp_path)
        assert same(words["learned"](tmp_path, owner="u1"), state_of(engine, key="u1"))
    for name in ("events", "decisions", "outcomes"):
        for column in pl.read_parquet_schema(tmp_path / f"{name}.parquet"):
            assert f"`{column}`" in page, column


def test_resets_and_restores_are_in_the_log(place: str, tmp_path: Path) -> None:
    with running(place) as engine:
        model = engine.state.model("default")
        drive(engine, 20)
        state_of(engine)
        snapshot = engine.write(TakeSnapshot(model.name, "before"))
        drive(engine, 20, seed=1)
        engine.write(Reset(model.name))
        drive(engine, 10, seed=2)
        export(engine.store, tmp_path)
        assert same(batch_state(tmp_path), state_of(engine))
        engine.write(Restore(snapshot))
        drive(engine, 10, seed=3)
        export(engine.store, tmp_path)
        assert same(batch_state(tmp_path), state_of(engine))
    kinds = pl.read_parquet(tmp_path / "decisions.parquet")["kind"].to_list()
    assert kinds == ["catalog", "create", "reset", "restore"]


def test_silence_is_in_the_log(place: str, tmp_path: Path) -> None:
    asked = {"candidates": list(CATALOG.ids[:9]), "exclude": [CATALOG.ids[2]]}
    with running(place, mode="apprentice") as engine:
        drive(engine, 8, **asked)
        engine.write(ChangeSettings("default", {"feedback_wait": 0.01}))
        drive(engine, 1, **asked)
        engine.serve()
        counts = engine.state.model("default").history.counts
        wait_until(lambda: any(expired for _, _, expired in counts.counts.values()))
        export(engine.store, tmp_path)
        assert same(batch_state(tmp_path), state_of(engine))
    events = pl.read_parquet(tmp_path / "events.parquet")
    assert set(events["result"]) == {"feedback", "expired", None}
    assert events.filter(result="expired")["clicked"].to_list() == [[]]
    assert events["candidates"].to_list() == [list(CATALOG.ids[:9])] * 9
    assert events["exclude"].to_list() == [[CATALOG.ids[2]]] * 9
    assert set(events["arm"]) == {"baseline"}
    assert events["propensity"].null_count() == 9


def test_the_catalog_at_any_list_can_be_rebuilt(place: str, tmp_path: Path) -> None:
    with running(place) as engine:
        ids, seen, shape = CATALOG.ids, {}, shape_of(CATALOG)

        def remember() -> None:
            catalog, version = engine.state.items.current_version()
            seen[version] = catalog

        remember()
        body = ItemBody(coverage={CATALOG.topics[0]: 0.25}, relevance=[1.0, 2.0, 3.0])
        changes = [
            PatchItem(ids[3], ItemPatch(coverage={CATALOG.topics[1]: 0.5, CATALOG.topics[0]: 0.0})),
            PutItems(None, (ids[5], ids[6], 10_000)),
            PutItems(encode_catalog(catalog_of([(ids[5], body), (ids[0], body), (77, body)], shape))),
            PutItems(encode_catalog(catalog_of([(78, body)], shape)), (78, 77)),
            PatchItem(ids[6], ItemPatch(relevance=[0.0, 0.0, 0.0])),  # gone already: nothing happens
        ]
        for change in changes:
            engine.write(change)
            remember()
            drive(engine, 2)
        export(engine.store, tmp_path)
    log = Log(tmp_path)
    versions = log.events()["catalog_version"].to_list()
    assert len(set(versions)) >= len(changes)
    for version in [*versions, *reversed(versions)]:
        assert _same_items(log.catalog(version) or CATALOG, seen[version])
    assert log.catalog(123_456) is None


def _same_items(one: Catalog, other: Catalog) -> bool:
    return one == other


def test_an_export_is_of_one_model_if_asked_and_names_those_there_are(place: str, tmp_path: Path) -> None:
    with running(place) as engine:
        engine.write(CreateModel("other", engine.state.model("default").settings))
        drive(engine, 3)
        drive(engine, 4, model="other")
        assert export(engine.store, tmp_path / "all").lists == 7
        assert export(engine.store, tmp_path / "one", "other").lists == 4
        with pytest.raises(RankfallError, match="no model 'mine'; there is: default, other"):
            export(engine.store, tmp_path / "none", "mine")
    with pytest.raises(RankfallError, match="2 models; say which with --model: default, other"):
        Log(tmp_path / "all")
    assert Log(tmp_path / "all", "other").events().height == 4
    assert Log(tmp_path / "one").model == "other"


def test_files_of_two_exports_are_not_mixed(tmp_path: Path) -> None:
    with running(str(tmp_path / "data")) as engine:
        drive(engine, 2)
        export(engine.store, tmp_path / "one")
        export(engine.store, tmp_path / "two")
    (tmp_path / "one" / "catalog.parquet").rename(tmp_path / "two" / "catalog.parquet")
    with pytest.raises(FileError, match="different exports"):
        Log(tmp_path / "two")
    with pytest.raises(FileError, match="does not exist; give a folder that rankfall export wrote"):
        Log(tmp_path / "one")


# Replay


def test_the_same_policy_learns_the_same_from_the_log(place: str, tmp_path: Path) -> None:
    with running(place, gamma=0.5) as engine:
        drive(engine, 30)
        engine.write(PutItems(None, CATALOG.ids[:5]))
        drive(engine, 30, seed=1, exclude=[CATALOG.ids[9]])
        export(engine.store, tmp_path)
        found = replay(Log(tmp_path), "CascadeHybrid", 0.5)
        assert same(found.policies[""].state(), state_of(engine))
    assert found.counts.lists == found.counts.ranked == 60
    assert found.counts.same_list > 50  # a list asked for while feedback was folded may be one answer ahead
    assert found.estimate is None
    assert '"randomize"' in (found.why or "")


@pytest.mark.parametrize("forgetting", [None, Discount(0.9), Window(5)], ids=str)
def test_a_replay_starts_users_from_the_priors_of_the_log(
    tmp_path: Path, forgetting: Forgetting | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankfall.service.prior_refresh.FIRST_USERS", 4)
    setting = {Discount: {"discount": 0.9}, Window: {"window": 5}}.get(type(forgetting))
    with running(str(tmp_path / "data"), scope="user", forgetting=setting) as engine:
        for seed in (0, 1):
            drive(engine, 40, seed=seed)
            keep = refreshed(engine.reader, engine.state.model("default"), engine.state.mark)
            assert keep is not None
            assert engine.write(keep)
        drive(engine, 20, seed=2)
        export(engine.store, tmp_path)
        found = replay(Log(tmp_path), "CascadeHybrid", 0.5, forgetting=forgetting)
        for user in ("u0", "u1", "u2", "u3"):
            assert same(found.policies[user].state(), state_of(engine, key=user))
            assert same(batch_state(tmp_path, key=user, forgetting=forgetting), state_of(engine, key=user))
    assert not found.notes
    for policy in ("CascadeLSB", "CascadeTS"):
        assert f"here from nothing: {policy} has other weights" in str(replay(Log(tmp_path), policy, 1.0).notes)
    shared = replay(Log(tmp_path), "CascadeHybrid", 0.5, "global")
    assert not shared.notes


@pytest.mark.parametrize(
    ("setting", "forgetting"), [({"discount": 0.9}, Discount(0.9)), ({"window": 5}, Window(5))], ids=str
)
def test_forgetting_too(tmp_path: Path, setting: dict[str, float], forgetting: Forgetting) -> None:
    with running(str(tmp_path / "data"), forgetting=setting) as engine:
        drive(engine, 40)
        export(engine.store, tmp_path)
        assert same(batch_state(tmp_path, forgetting=forgetting), state_of(engine))
        found = replay(Log(tmp_path), "CascadeHybrid", 1.0, forgetting=forgetting)
        assert same(found.policies[""].state(), state_of(engine))


@pytest.mark.parametrize(
    ("policy", "setting", "forgetting"),
    [("CascadeKLUCB", None, None), ("CascadeTS", None, None), ("CascadeSWUCB", {"window": 5}, Window(5))],
)
def test_policies_that_count_items_too(
    tmp_path: Path, policy: str, setting: dict[str, int] | None, forgetting: Forgetting | None
) -> None:
    log = read_click_log(clicks(tmp_path / "clicks.parquet", 300))
    with running(str(tmp_path / "data"), policy=policy, forgetting=setting) as engine:
        drive(engine, 30)
        engine.write(PutItems(None, CATALOG.ids[:5]))
        drive(engine, 30, seed=1)
        engine.write(PutItems(encode_catalog(CATALOG)))
        assert import_clicks(engine, "default", log).lists == 300
        export(engine.store, tmp_path)
        found = replay(Log(tmp_path), policy, 1.0, forgetting=forgetting)
        assert same(found.policies[""].state(), state_of(engine))
    assert found.counts.learned > 300
    events = pl.read_parquet(tmp_path / "events.parquet")
    assert events["features"].null_count() == len(events)  # there are none
    assert events["learn"].all()


@pytest.mark.parametrize(
    ("catalog", "policy"),
    [
        (Catalog(ids=["a", "b", "c", "d", "e"]), "CascadeKLUCB"),
        (Catalog(coverage=np.eye(5)), "CascadeLSB"),
        (Catalog(relevance=np.eye(5)), "CascadeLinUCB"),
    ],
    ids=str,
)
def test_catalogs_without_topics_or_features(tmp_path: Path, catalog: Catalog, policy: str) -> None:
    place = str(tmp_path / "data")
    prepare(place, lambda: catalog, {"policy": policy})
    engine = Engine(open_store(place))
    drive(engine, 20)
    export(engine.store, tmp_path)
    found = replay(Log(tmp_path), policy, 1.0)
    assert same(found.policies[""].state(), state_of(engine))
    engine.close()


def test_feedback_of_the_replay_may_differ(tmp_path: Path) -> None:
    with running(str(tmp_path / "data"), feedback="last_click") as engine:
        drive(engine, 40)
        export(engine.store, tmp_path)
        found = replay(Log(tmp_path), "CascadeHybrid", 1.0, feedback="last_click")
        assert same(found.policies[""].state(), state_of(engine))
        assert not same(replay(Log(tmp_path), "CascadeHybrid", 1.0).policies[""].state(), state_of(engine))


@pytest.mark.parametrize("policy", list(LINEAR))
def test_another_policy_learns_from_the_log(tmp_path: Path, policy: str) -> None:
    with running(str(tmp_path / "data"), control=0.9) as engine:
        drive(engine, 40)
        export(engine.store, tmp_path)
    found = replay(Log(tmp_path), policy, 1.0, "user")
    every = replay(Log(tmp_path), policy, 1.0, "user", every_list=True)
    counts = found.counts
    assert counts.learned + counts.not_for_learning + counts.without_feedback == counts.lists == 40
    assert every.counts.learned == counts.learned + counts.not_for_learning > counts.learned
    assert set(every.policies) == {"u0", "u1", "u2", "u3"}
    width = (LINEAR[policy].coverage != "absent") * 4 + (LINEAR[policy].relevance != "absent") * 3
    assert len(found.weights) == width
    json.dumps(found.plain())


def test_pinned_and_blocked_items_are_so_in_the_replay(tmp_path: Path) -> None:
    ids = list(CATALOG.ids)
    with running(str(tmp_path / "data"), pinned=[{"id": ids[4], "position": 2}], blocked=ids[10:20]) as engine:
        drive(engine, 30)
        export(engine.store, tmp_path)
    found = replay(Log(tmp_path), "CascadeHybrid", 0.5)
    assert found.counts.same_list > 25


def test_an_estimate_from_a_service_that_draws_at_random(tmp_path: Path) -> None:
    few = list(CATALOG.ids[:4])
    with running(str(tmp_path / "data"), randomize=1.0, k=2) as engine:
        drive(engine, 150, candidates=few, k=2)
        export(engine.store, tmp_path)
    found = replay(Log(tmp_path), "CascadeLinUCB", 0.0)
    assert found.support == 1.0
    assert found.estimate is not None
    assert found.estimate.self_normalised is not None
    assert found.estimate.lists == found.counts.lists - found.counts.without_feedback
    assert found.estimate.matched / found.estimate.lists == pytest.approx(1 / 12, abs=0.07)
    plain = found.plain()["estimate"]["ips"]
    assert plain["low"] < plain["value"] < plain["high"]


# Off-policy estimates


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_estimates_meet_the_true_value(share: float) -> None:
    """Lists of 2 out of 4 with attraction alpha, shown by a greedy policy that draws at random now and then."""
    alpha = np.array([0.1, 0.5, 0.3, 0.7])
    lists = list(permutations(range(4), 2))
    reward = np.array([1 - (1 - alpha[a]) * (1 - alpha[b]) for a, b in lists])
    greedy, wanted = lists.index((0, 2)), lists.index((3, 1))
    chance = np.full(len(lists), share / len(lists))
    chance[greedy] += 1 - share
    assert chance.sum() == pytest.approx(1)
    rng = np.random.default_rng(7)
    errors, covered = [], 0
    for _ in range(400):
        shown = rng.choice(len(lists), size=500, p=chance)
        clicked = rng.random(500) < reward[shown]
        found = off_policy(chance[shown], clicked, shown == wanted)
        assert found is not None
        assert found.self_normalised is not None
        errors.append((found.ips.value - reward[wanted], found.self_normalised.value - reward[wanted]))
        covered += found.ips.low <= reward[wanted] <= found.ips.high
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0) / math.sqrt(len(errors))
    assert (np.abs(mean) < 4 * spread).all()
    assert spread[1] < spread[0]
    assert 0.90 < covered / 400 < 0.99


def test_an_estimate_of_the_logging_policy_itself_is_the_mean() -> None:
    found = off_policy([1.0, 1.0, 1.0], [1, 0, 1], [True] * 3)
    assert found is not None
    assert found.ips.value == pytest.approx(2 / 3)
    assert found.self_normalised is not None
    assert found.self_normalised.value == pytest.approx(2 / 3)
    assert found.effective == pytest.approx(3)
    nothing = off_policy([0.5, 0.5], [1, 1], [False, False])
    assert nothing is not None
    assert nothing.self_normalised is None
    assert nothing.effective == 0
    assert off_policy([0.5], [1], [True]) is None
