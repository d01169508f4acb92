"""Models that know the context of a request, and features that candidates have in it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import FakeClock, Quiet, arrays, make_model, open_engine

from rankfall.click_logs import read_click_log
from rankfall.errors import ConflictError, InvalidError, ProblemError, RankError
from rankfall.history.export import CONTEXT_COLUMNS, export
from rankfall.history.exported import Log
from rankfall.history.importing import import_clicks
from rankfall.history.replay import replay
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.linear.hybrid import CascadeHybrid
from rankfall.service.commands import AddTopics, CreateModel
from rankfall.service.events import digest_of
from rankfall.service.template import new_settings, policy_of
from rankfall.stores import Event
from rankfall.wire import BatchedRankRequest, Candidate, RankRequest, convert

CONTEXT = {"hour": {"kind": "hour"}, "device": {"kind": "category", "levels": ["tv", "phone"]}}
FEATURES = {"match": {"scale": 2.0}}
DECLARED: dict[str, Any] = {"context": CONTEXT, "request_features": FEATURES}


def ids_of(event: Event) -> list[str]:
    return [item["id"] for item in json.loads(event.response)["items"]]


def visits(engine: Quiet, lists: int, model: str = "default", **more: Any) -> list[Event]:
    """Lists in all kinds of contexts, each clicked somewhere or nowhere."""
    made = []
    for n in range(lists):
        assert isinstance(engine.clock, FakeClock)
        engine.clock.now += 1.0
        said: dict[str, Any] = {"context": {"hour": n % 24, "device": ("tv", "phone", "fridge")[n % 3]}}
        if n % 2:
            said["candidates"] = [Candidate(f"i{i}", {"match": float((i + n) % 4)}) for i in range(6)]
        event = engine.rank_now(model, **({} if n % 5 == 0 else said), **more)
        engine.feed_now((event.id, n % 3 + 1 if n % 4 else None))
        made.append(event)
    return made


def learned_by_hand(engine: Quiet, events: list[Event]) -> CascadeHybrid:
    """What the library learns from the same lists, ranked for the same requests."""
    policy = CascadeHybrid(engine.catalog, context=CONTEXT, request_features=FEATURES)
    for n, event in enumerate(events):
        said = json.loads(event.request or "{}")
        named = said.get("candidates", [])
        rows = engine.catalog.rows(ids_of(event)).tolist()
        features = {one["id"]: one["features"] for one in named} or None
        ranking = policy.rank(len(rows), fixed=dict(enumerate(rows)), context=said.get("context"), features=features)
        assert policy.record(ranking) == event.features
        policy.update(ranking, n % 3 if n % 4 else None)
    return policy


def test_a_model_learns_in_context_what_the_library_learns(engine: Quiet, place: str) -> None:
    make_model(engine, **DECLARED)
    events = visits(engine, 40)
    policy = learned_by_hand(engine, events)
    assert arrays(engine) == {name: array.tobytes() for name, array in policy.state().items()}
    assert policy.state()["cross_scales"].tolist() != [1.0, 0.25, 0.25]  # they were chosen
    other = open_engine(place)  # from the journal alone
    try:
        assert arrays(other) == arrays(engine)
    finally:
        other.crash()


def test_each_context_has_its_own_list(engine: Quiet) -> None:
    """A list that is kept until something is learned is not shown in another context."""
    make_model(engine, gamma=0.0, **DECLARED)
    for device, liked in (("tv", "i0"), ("phone", "i5")) * 20:
        event = engine.rank_now(context={"device": device}, candidates=["i0", "i5"])
        engine.feed_now((event.id, ids_of(event).index(liked) + 1))
    for _ in range(2):
        tv, phone, nobody = (
            ids_of(engine.rank_now(k=8, **said))
            for said in ({"context": {"device": "tv"}}, {"context": {"device": "phone"}}, {})
        )
        assert tv.index("i0") < tv.index("i5")
        assert phone.index("i5") < phone.index("i0")
        assert ids_of(engine.rank_now(k=8, context={"device": "fridge"})) == nobody


def test_responses_explain_the_list_of_their_context(engine: Quiet) -> None:
    make_model(engine, **DECLARED)
    visits(engine, 20)
    candidates = [Candidate("i1", {"match": 3.0}), "i2", "nothing"]
    event = engine.rank_now(context={"hour": 8, "device": "tv"}, candidates=candidates, explain=True)
    response = json.loads(event.response)
    assert response["unknown"] == ["nothing"]
    for item in response["items"]:
        parts = item["relevance"] + sum(item.get("coverage", {}).values()) + item["bonus"]
        assert item["score"] == pytest.approx(parts)
    by_id = {item["id"]: item["features"] for item in response["items"]}
    assert by_id["i2"]["match"] == 0.0
    weights = engine.view_now().policy.rank(1, context={"hour": 8, "device": "tv"}).weights
    assert by_id["i1"]["match"] == pytest.approx(1.5 * weights[-1])


@pytest.mark.parametrize("mode", ["online", "apprentice", "logging_only"])
def test_wrong_contexts_are_refused_whoever_is_shown_what(engine: Quiet, mode: str) -> None:
    make_model(engine, mode=mode, control=0.5, **DECLARED)
    make_model(engine, "plain", mode=mode)
    for said, why in [
        ({"context": {"weather": "rain"}}, "the context has no factor 'weather'; it has hour, device"),
        ({"context": {"hour": 25}}, "'hour' of the context: hour must be from 0 to 24, got 25"),
        ({"context": {"hour": "8am"}}, "'hour' of the context"),
        ({"candidates": [Candidate("i1", {"bm25": 1.0})]}, "no feature of candidates 'bm25'; it has match"),
    ]:
        with pytest.raises(RankError, match=why):
            engine.rank_now(**said)  # type: ignore[arg-type]
    with pytest.raises(RankError, match="takes no context"):
        engine.rank_now("plain", context={"hour": 8})
    with pytest.raises(RankError, match="takes no features of candidates"):
        engine.rank_now("plain", candidates=[Candidate("i1", {"match": 1.0})])
    assert len(ids_of(engine.rank_now("plain", candidates=[Candidate("i1"), "i2"]))) == 2


@pytest.mark.parametrize("more", [{}, {"scope": "user", "policy": "CascadeHybridTS"}, {"randomize": 0.5}], ids=str)
def test_a_log_says_all_of_it(engine: Quiet, tmp_path: Path, more: dict[str, Any]) -> None:
    """Replayed with the same settings, the log gives the state that the service has, to the bit."""
    make_model(engine, **DECLARED, **more)
    visits(engine, 36, user="anna")
    export(engine.store, tmp_path)
    lists = pl.read_parquet(tmp_path / "events.parquet").sort("created")
    said = lists.row(1, named=True)
    assert json.loads(said["context"]) == {"hour": 1, "device": "phone"}
    np.testing.assert_array_equal(said["context_numbers"], Context(CONTEXT).encode({"hour": 1, "device": "phone"}))
    assert {one["id"]: one["features"] for one in json.loads(said["candidate_features"])}["i2"] == {"match": 3.0}
    assert said["candidates"] == [f"i{i}" for i in range(6)]
    assert said["columns"] == 5
    assert lists.row(0, named=True)["context"] is None
    metadata = pl.read_parquet_metadata(tmp_path / "events.parquet")
    assert json.loads(metadata[CONTEXT_COLUMNS])["default"] == list(Context(CONTEXT).columns)
    assert json.loads(metadata["rankfall.columns"])["default"][-1] == "match"
    log = Log(tmp_path)
    assert log.declared == (Context(CONTEXT), RequestFeatures(FEATURES))
    found = replay(log, more.get("policy", "CascadeHybrid"), gamma=1.0)
    owner = "anna" if more.get("scope") else ""
    state = found.policies[owner].state()
    assert {name: array.tobytes() for name, array in state.items()} == arrays(engine, owner=owner)
    if not more:
        assert found.counts.same_list == found.counts.ranked == 36
    assert replay(log, "CascadeUCB1", gamma=1.0).counts.learned == 36  # a policy that knows no context


def test_lists_of_the_control_group_can_be_learned_from_a_log(engine: Quiet, tmp_path: Path) -> None:
    make_model(engine, control=1.0, **DECLARED)
    visits(engine, 20, user="anna", baseline=["i3", "i1", "i2"])
    export(engine.store, tmp_path)
    found = replay(Log(tmp_path), "CascadeHybrid", gamma=1.0, every_list=True)
    lists = pl.read_parquet(tmp_path / "events.parquet").sort("created")
    assert lists["context_numbers"].null_count() == 20
    hand = CascadeHybrid(engine.catalog, context=CONTEXT, request_features=FEATURES)
    for n, event in enumerate(lists.iter_rows(named=True)):
        rows = engine.catalog.rows(event["items"]).tolist()
        features = {one["id"]: one["features"] for one in json.loads(event["candidate_features"] or "[]")}
        context = None if event["context"] is None else json.loads(event["context"])
        shown = hand.rank(len(rows), fixed=dict(enumerate(rows)), context=context, features=features)
        hand.update(shown, n % 3 if n % 4 else None)
    for name, array in hand.state().items():
        assert found.policies[""].state()[name].tobytes() == array.tobytes(), name


def test_a_log_with_context_is_imported(engine: Quiet, tmp_path: Path) -> None:
    make_model(engine, **DECLARED)
    visits(engine, 24)
    export(engine.store, tmp_path)
    make_model(engine, "again", **DECLARED)
    make_model(engine, "plain")
    log = read_click_log(tmp_path, model="default")
    for name in ("again", "plain"):
        assert import_clicks(engine, name, log).lists == 24
    assert arrays(engine, "again") == arrays(engine)
    export(engine.store, tmp_path / "second", "again")
    found = replay(Log(tmp_path / "second"), "CascadeHybrid", gamma=1.0)
    assert {name: one.tobytes() for name, one in found.policies[""].state().items()} == arrays(engine)


def test_new_topics_in_the_middle(engine: Quiet, place: str) -> None:
    make_model(engine, **DECLARED)
    early = visits(engine, 20)
    engine.checkpoint()
    engine.write(AddTopics(("z",)))
    late = visits(engine, 20)
    assert len(engine.view_now().policy.rank(3).features[0]) == 6
    policy = CascadeHybrid(engine.catalog, context=CONTEXT, request_features=FEATURES)
    for n, event in enumerate([*early, *late]):
        assert event.features is not None
        clicked = n % 20 % 3 if n % 20 % 4 else None
        policy.learn_record(event.features, clicked, topics=2 if n < 20 else 3)
    assert arrays(engine) == {name: array.tobytes() for name, array in policy.state().items()}
    other = open_engine(place)
    try:
        assert arrays(other) == arrays(engine)
    finally:
        other.crash()


def test_declarations_stay_as_they_are(engine: Quiet) -> None:
    catalog = engine.catalog
    make_model(engine, **DECLARED)
    settings = engine.model().settings
    assert not engine.write(CreateModel("default", settings))  # there already, with the same
    other = convert(type(settings), {"k": 3, "context": {"hour": {"kind": "hour"}}})
    with pytest.raises(ConflictError, match="context, request_features never changes: make another model"):
        engine.write(CreateModel("default", other))
    for given, where, said in [
        ({"policy": "CascadeUCB1", "context": CONTEXT}, "body.context", "CascadeUCB1 takes no context"),
        (
            {"policy": "CascadeKLUCB", "request_features": FEATURES},
            "body.request_features",
            "takes no request_features",
        ),
        ({"context": {"hour": {"kind": "minute"}}}, None, "expected one of number, category, hour, weekday"),
        ({"context": {"a": {"kind": "category", "levels": ["x", "x"]}}}, None, "each level may stand there once"),
        ({"context": {"a": {"kind": "number", "scale": 0}}}, None, "> 0"),
        ({"context": {}}, None, "length >= 1"),
        ({"context": {"a\n": {"kind": "hour"}}}, None, "printable"),
        (
            {"context": {str(n): {"kind": "category", "levels": [str(i) for i in range(60)]} for n in range(2)}},
            "body.context",
            "121 columns, 100 at most",
        ),
    ]:
        with pytest.raises(InvalidError, match=said) as caught:
            policy_of(new_settings(given), catalog)
        assert where is None or caught.value.where == where
    with pytest.raises(ProblemError, match="CascadeLSBFull has no request_features: all that it knows of items"):
        policy_of(new_settings({"policy": "CascadeLSBFull", "request_features": FEATURES}), catalog)


def test_the_fingerprint_of_a_request() -> None:
    """Stored since 0.1.0: a request without context and features of candidates keeps the one it had."""
    plain = RankRequest(user="anna", k=3, request_id="r1", candidates=["a", "b"])
    assert digest_of(plain) == "21fd8100c6bfccfd87058ceb67e0450f"
    told = RankRequest(user="anna", k=3, request_id="r1", candidates=["a", "b"], context={"hour": 8})
    named = RankRequest(user="anna", k=3, request_id="r1", candidates=[Candidate("a", {"match": 1.0}), "b"])
    assert len({digest_of(one) for one in (plain, told, named)}) == 3
    batched = BatchedRankRequest(
        model="m", user="anna", k=3, request_id="r1", candidates=["a", "b"], context={"hour": 8}
    )
    assert digest_of(batched) == digest_of(told)


def test_a_retry_in_the_same_context_gets_the_same_list(engine: Quiet) -> None:
    make_model(engine, **DECLARED)
    first = engine.rank_now(request_id="r", context={"hour": 8})
    assert engine.rank_now(request_id="r", context={"hour": 8}).id == first.id
    with pytest.raises(ConflictError):
        engine.rank_now(request_id="r", context={"hour": 9})
