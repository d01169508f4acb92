"""What the engine of the service does with requests, feedback, the catalog, models, users and other servers."""

import json
import math
import threading
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from engines import (
    START,
    Doing,
    FakeClock,
    Quiet,
    answer,
    arrays,
    batch,
    items_of,
    make_model,
    open_engine,
    small_catalog,
)
from postgres import Cluster
from waiting import PATIENCE

from rankfall import CascadeHybrid, Catalog, CatalogError, RankError
from rankfall.errors import ConflictError, NotFoundError, StoreError
from rankfall.journal.catalogs import encode_catalog
from rankfall.service import setup
from rankfall.service.clock import Moment
from rankfall.service.commands import (
    CreateModel,
    ForgetUser,
    GiveFeedback,
    LoadOwner,
    PutItems,
    Reset,
    SeedCatalog,
    TakeSnapshot,
)
from rankfall.service.engine import Engine
from rankfall.service.writer import Job
from rankfall.stores import Transaction, open_store
from rankfall.wire import FeedbackRequest, RankRequest


def test_the_service_ranks_and_learns_as_the_library(engine: Quiet) -> None:
    make_model(engine, gamma=0.7)
    policy = CascadeHybrid(small_catalog(), gamma=0.7)
    for turn in range(12):
        event = engine.rank_now(k=4)
        ranking = policy.rank(4)
        assert items_of(event) == list(ranking.ids)
        assert event.features == ranking.features.tobytes()
        click = None if turn % 3 == 0 else turn % 4
        assert answer(engine, event, None if click is None else click + 1) == "accepted"
        policy.update(ranking, click)
    assert arrays(engine) == {name: array.tobytes() for name, array in policy.state().items()}


@pytest.mark.parametrize("forgetting", [{"window": 3}, {"discount": 0.5}])
def test_forgetting_survives_a_restart(place: str, forgetting: dict[str, float]) -> None:
    engine = open_engine(place)
    make_model(engine, forgetting=forgetting)
    for turn in range(7):
        answer(engine, engine.rank_now(), turn % 3 + 1)
        if turn == 4:
            engine.checkpoint()
    before = arrays(engine)
    engine.crash()
    again = open_engine(place)
    try:
        assert arrays(again) == before
        answer(again, again.rank_now(), 1)
        assert arrays(again) != before
    finally:
        again.stop()


def test_two_engines_on_one_store_agree(place: str, clock: FakeClock) -> None:
    first, second = open_engine(place, clock), open_engine(place, clock)
    try:
        make_model(first)
        make_model(first, "own", scope="user")
        second.fold()
        for turn in range(10):
            one, other = (first, second) if turn % 2 else (second, first)
            event = one.rank_now(["default", "own"][turn % 3 % 2], user="anna")
            assert answer(other, event, turn % 3 + 1) == "accepted"
            assert answer(one, event, 1) == "duplicate"
        first.fold()
        second.fold()
        assert arrays(first) == arrays(second)
        assert arrays(first, "own", "anna") == arrays(second, "own", "anna")
        assert arrays(first)["counts"] != batch([])["counts"]
        assert first.model("default").history.counts.plain() == second.model("default").history.counts.plain()
    finally:
        first.stop()
        second.stop()


def test_feedback_in_many_forms(engine: Quiet) -> None:
    make_model(engine)
    event = engine.rank_now()
    ids = items_of(event)
    assert answer(engine, event, 4) == "rejected"
    assert answer(engine, event, "nothing") == "rejected"
    assert answer(engine, event, {"id": 1}) == "rejected"
    assert answer(engine, event, [1, 9]) == "rejected"
    assert engine.feed_now(("nothing", 1))[0].result == "unknown"
    assert engine.feed_now() == ()
    results = engine.feed_now((event.id, [{"id": ids[2]}, {"position": 2}]), (event.id, None))
    assert sorted(fed.result for fed in results) == ["accepted", "duplicate"]
    assert event.features is not None
    assert arrays(engine) == batch([(event.features, 1)])


def test_feedback_of_a_model_one_may_not_know_of_is_unknown(engine: Quiet) -> None:

    make_model(engine)
    event = engine.rank_now()
    (fed,) = engine.feed_now((event.id, 1), models=frozenset({"another"}))
    assert fed.result == "unknown"
    assert answer(engine, event, 1) == "accepted"


def test_requests(engine: Quiet) -> None:
    make_model(engine)
    event = engine.rank_now(candidates=["i1", "nothing", "i2", "i3"], exclude=["i2", "none"], k=5)
    assert sorted(items_of(event)) == ["i1", "i3"]
    assert json.loads(event.response)["unknown"] == ["nothing", "none"]
    for ask in ({"candidates": []}, {"candidates": ["i1"], "exclude": ["i1"]}, {"candidates": ["nothing"]}):
        with pytest.raises(RankError, match="nothing may be shown"):
            engine.rank_now(**ask)
    make_model(engine, "own", scope="user")
    make_model(engine, "group", scope="segment")
    with pytest.raises(RankError, match="each user"):
        engine.rank_now("own", segment="home")
    with pytest.raises(RankError, match="each segment"):
        engine.rank_now("group", user="anna")
    assert engine.rank_now("group", user="anna", segment="home").owner == "home"
    with pytest.raises(NotFoundError, match="there is: default, group, own"):
        engine.rank_now("none")


def test_a_retry_gets_the_same_answer(place: str, engine: Quiet) -> None:
    make_model(engine)
    first = engine.rank_now(request_id="r", candidates=["i1", "i2"])
    answer(engine, first, 1)
    engine.rank_now()
    assert engine.rank_now(request_id="r", candidates=["i1", "i2"]).response == first.response
    with pytest.raises(ConflictError, match="'r' was used for another request"):
        engine.rank_now(request_id="r", candidates=["i2", "i1"])
    engine.write(PutItems(None, ("i1", "i2")))
    assert engine.rank_now(request_id="r", candidates=["i1", "i2"]).response == first.response
    with pytest.raises(RankError):
        engine.rank_now(request_id="other", candidates=["i1", "i2"])
    make_model(engine, "second")
    assert engine.rank_now("second", request_id="r").id != first.id
    other = open_engine(place)
    try:
        assert other.rank_now(request_id="r", candidates=["i1", "i2"]).response == first.response
    finally:
        other.crash()


def test_feedback_uses_the_features_as_shown(engine: Quiet) -> None:
    make_model(engine)
    event = engine.rank_now()
    top, second, _ = items_of(event)
    engine.put(top, {"x": 0.0}, [9.0, 9.0])
    engine.write(PutItems(None, (second,)))
    assert answer(engine, event, second) == "accepted"
    assert event.features is not None
    assert arrays(engine) == batch([(event.features, 1)])
    assert engine.rank_now(k=8).features != event.features


def test_lists_name_the_items_they_were_made_from_while_the_catalog_changes(engine: Quiet) -> None:
    """The catalog may change in the other thread just when a state was taken to make a list from."""
    make_model(engine)
    relevance = dict(zip(small_catalog().ids, small_catalog().relevance.tolist(), strict=True))
    for ask in ({"explain": True}, {"candidates": ["i1", "i5", "i6"]}, {"exclude": ["i7"]}, {"baseline": ["i6", "i5"]}):
        held, version = engine.view_now(), engine.state.items.version
        engine.write(PutItems(None, ("i0", "i3")))  # the rows of all that follow change
        assert engine.state.items.version > version
        event = engine.make(engine.model("default"), held, RankRequest(k=3, **ask))
        assert (event.arm, event.catalog) == ("policy", version)
        assert event.features is not None
        shown = np.frombuffer(event.features).reshape(-1, 4)[:, 2:].tolist()
        assert shown == [relevance[item] for item in items_of(event)]
        for item in ("i0", "i3"):
            engine.put(item, {"x": 0.5}, relevance[item])


def test_a_batch_that_is_tried_again_decides_nothing_twice(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that could not be read at first must not have what was written beside it written again."""
    make_model(engine)
    model, read = engine.model("default"), engine.store.checkpoints
    resets = len(model.history.epochs)
    failures = iter([StoreError("away for a moment")])

    def checkpoints(*where: Any) -> Any:
        for failure in failures:
            raise failure
        return read(*where)

    monkeypatch.setattr(engine.store, "checkpoints", checkpoints)
    jobs: list[Job[Any]] = [Job(one, Future(), math.inf) for one in (Reset("default"), LoadOwner("default", ""))]
    engine.run(lambda: engine.writer._carry_out(jobs))
    assert jobs[1].future.result() is not None
    assert len(model.history.epochs) == resets + 1


@pytest.mark.stress
def test_answers_and_forgetting_do_not_wait_for_each_other(
    postgres: Cluster, postgres_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server has feedback and a decision in one batch; another forgets the user meanwhile."""
    monkeypatch.setattr("rankfall.stores.postgres.TIMEOUTS", {})  # a slow test may hold its transactions as it likes
    problems: list[str] = []
    first = open_engine(postgres_url, clock, on_store_error=lambda: problems.append("first"))
    second = open_engine(postgres_url, clock, on_store_error=lambda: problems.append("second"))
    batched, alone = threading.Event(), threading.Event()

    def decide(tx: Transaction) -> None:
        assert alone.wait(PATIENCE)
        tx.exclusive()

    def forget(tx: Transaction) -> None:
        tx.exclusive()
        alone.set()
        postgres.wait_for_blocked(postgres_url)
        ForgetUser("anna").write(tx, second.state, clock.moment())

    try:
        make_model(first, "own", scope="user")
        second.fold()
        event = first.rank_now("own", user="anna")
        waiting: list[Future[Any]] = []
        ask = first.writer.submit_from_thread
        waiting.append(ask(Doing(lambda _: batched.wait(PATIENCE))))  # what is asked meanwhile is one batch
        waiting.append(ask(GiveFeedback((FeedbackRequest(event_id=event.id, clicked=1),))))
        waiting.append(ask(Doing(decide)))
        batched.set()
        waiting.append(second.writer.submit_from_thread(Doing(forget)))
        for future in waiting:
            future.result(PATIENCE)
        assert problems == []
        assert second.store.event(event.id) is None
    finally:
        first.stop()
        second.stop()


def test_a_first_start_that_another_was_faster_than(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog is then the other's; a model that it cannot serve is not made, and the store stays good."""

    def second(items: bytes) -> SeedCatalog:
        other = Engine(open_store(place))
        other.write(SeedCatalog(encode_catalog(Catalog(ids=["a", "b"]))))
        other.close()
        return SeedCatalog(items)

    monkeypatch.setattr(setup, "SeedCatalog", second)
    with pytest.raises(CatalogError, match="CascadeHybrid needs topics or relevance features"):
        setup.prepare(place, small_catalog, {"policy": "CascadeHybrid"})
    monkeypatch.undo()
    assert setup.prepare(place, None, {"policy": "CascadeTS"}) == ["Model 'default': CascadeTS, 2 items, mode online."]


def test_the_last_item_stays(engine: Quiet) -> None:
    make_model(engine)
    engine.write(PutItems(None, tuple([f"i{n}" for n in range(7)])))
    engine.write(PutItems(None, ("i7",)))  # as when two servers each delete one of the last two
    assert engine.catalog is not None
    assert engine.catalog.ids == ("i7",)
    assert items_of(engine.rank_now()) == ["i7"]


def test_models_are_made_once(engine: Quiet) -> None:
    from rankfall.wire import ModelSettings

    assert engine.write(CreateModel("m", ModelSettings(k=3)))
    assert not engine.write(CreateModel("m", ModelSettings(k=3)))
    with pytest.raises(ConflictError, match="with other settings"):
        engine.write(CreateModel("m", ModelSettings(k=4)))

    def twice(tx: Any) -> bool:
        CreateModel("at once", ModelSettings(k=3)).write(tx, engine.state, Moment(START))
        assert not CreateModel("at once", ModelSettings(k=3)).write(tx, engine.state, Moment(START))
        return CreateModel("at once", ModelSettings(k=4)).write(tx, engine.state, Moment(START))

    with pytest.raises(ConflictError, match="with other settings"):
        engine.write(Doing(twice))
    with pytest.raises(NotFoundError, match="no snapshot 's-none'"):
        engine.find_snapshot("m", "s-none")


def test_counts_survive_a_restart(place: str, clock: FakeClock) -> None:
    engine = open_engine(place, clock)
    make_model(engine)
    for turn in range(6):
        answer(engine, engine.rank_now(), turn % 2 or None)
        engine.pass_time(100)
        if turn == 3:
            engine.checkpoint()
    before = engine.model("default").history.counts.plain()
    width, buckets = engine.model("default").history.counts.history(1, clock.now)
    assert width == 60
    assert sum(cell[0] for _, arms in buckets for cell in arms.values()) == 6
    engine.crash()
    again = open_engine(place, clock)
    try:
        assert again.model("default").history.counts.plain() == before
        assert before["counts"] == {"policy": [6, 3, 0]}
    finally:
        again.stop()


def test_a_forgotten_user_stays_forgotten(place: str, clock: FakeClock) -> None:
    """Another server that has not heard of it yet may still hold the state, and must not save it."""
    first, second = open_engine(place, clock), open_engine(place, clock)
    try:
        make_model(first, "own", scope="user")
        second.fold()
        for engine in (first, second):
            for _ in range(3):
                answer(engine, engine.rank_now("own", user="anna"), 2)
        second.fold()
        assert arrays(second, "own", "anna") != batch([])
        states, removed, named = first.write(ForgetUser("anna"))
        assert (states, removed, named) == (1, 6, 0)
        second.checkpoint()
        second.fold()
        assert arrays(first, "own", "anna") == arrays(second, "own", "anna") == batch([])
    finally:
        first.stop()
        second.stop()
    again = open_engine(place, clock)
    try:
        assert arrays(again, "own", "anna") == batch([])
        assert again.model("own").settings.scope == "user"
    finally:
        again.stop()


def test_a_forgotten_user_is_not_saved_by_a_snapshot_at_the_same_moment(engine: Quiet) -> None:
    make_model(engine, "own", scope="user")
    answer(engine, engine.rank_now("own", user="anna"), 2)

    def both(tx: Any) -> None:
        ForgetUser("anna").write(tx, engine.state, Moment(START))
        TakeSnapshot("own").write(tx, engine.state, Moment(START))

    engine.write(Doing(both))
    assert arrays(engine, "own", "anna") == batch([])
    first = engine.model("own").history.epochs[0].position
    assert engine.store.checkpoints("own", ["anna"], first, engine.state.position) == [None]
