"""A store that went back in time, as after a failover that lost transactions: the state follows, visibly."""

import logging
import sqlite3
from pathlib import Path

import pytest
from engines import START, WAIT, FakeClock, Quiet, arrays, make_model, open_engine
from postgres import Cluster, stopped
from zero_one_zero import execute

from rankfall.errors import StoreError

pytestmark = pytest.mark.stress


def lose(place: str, after: int, request: pytest.FixtureRequest) -> None:
    """Take back the entries after a position, and the lists that are younger; cut connections, as a failover does."""
    for statement in (
        f"DELETE FROM events WHERE created > {START + after}",
        f"DELETE FROM journal WHERE seq > {after}",
        f"DELETE FROM checkpoints WHERE seq > {after}",
        f"DELETE FROM snapshots WHERE seq > {after}",
    ):
        execute(place, statement)
    if place.startswith("postgresql"):
        request.getfixturevalue("postgres").cut(place)


def teach(engine: Quiet, lists: int, click: int = 1) -> None:
    for _ in range(lists):
        engine.clock.now = START + engine.state.position  # type: ignore[attr-defined]
        event = engine.rank_now(user="anna")
        assert engine.feed_now((event.id, click))[0].result == "accepted"


def feed_after_a_cut(engine: Quiet, lists: int, click: int) -> None:
    """The first write finds that its connection is cut; it is made again."""
    while True:
        try:
            engine.rank_now(user="anna")
            break
        except StoreError:
            pass
    teach(engine, lists, click)


def check_equals_a_fresh_fold(engine: Quiet, place: str) -> None:
    fresh = open_engine(place, engine.clock)  # type: ignore[arg-type]
    try:
        assert fresh.state.mark == engine.state.mark
        assert arrays(fresh) == arrays(engine)
        assert arrays(fresh, "own", "anna") == arrays(engine, "own", "anna")
        for name, model in fresh.state.models.items():
            assert model.history.counts.plain() == engine.model(name).history.counts.plain()
            assert model.settings == engine.model(name).settings
    finally:
        fresh.crash()


@pytest.mark.parametrize("further", [2, 8, 20], ids=["fewer than lost", "as many as lost", "more than lost"])
def test_a_server_follows_a_store_that_went_back(
    place: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture, further: int
) -> None:
    """What is accepted afterwards is learned, and a clean stop saves nothing of the lost history."""
    rebuilt: list[bool] = []
    engine = open_engine(place, FakeClock(), on_rebuild=lambda: rebuilt.append(engine.state.rebuilding))
    make_model(engine)
    make_model(engine, "own", scope="user")
    teach(engine, 5)
    engine.checkpoint()
    kept = engine.state.position
    teach(engine, 8)
    with caplog.at_level(logging.WARNING, "rankfall.service"):
        lose(place, kept, request)
        feed_after_a_cut(engine, further, click=2)
    assert rebuilt == [True]
    assert (engine.state.rebuilds, engine.state.rebuilding) == (1, False)
    assert "the store may have gone back in time; the state is built again" in [
        record.message for record in caplog.records
    ]
    assert engine.view_now().policy.n_updates == 5 + further
    assert engine.state.position == kept + further
    check_equals_a_fresh_fold(engine, place)
    engine.stop()
    check_checkpoints(place, kept + further)


def check_checkpoints(place: str, end: int) -> None:
    """None is beyond the end of the journal, and a start from them gives what the journal says."""
    assert execute(place, "SELECT max(seq) FROM checkpoints") == [(end,)]
    again = open_engine(place)
    state = arrays(again)
    again.crash()
    execute(place, "DELETE FROM checkpoints")
    folded = open_engine(place)
    try:
        assert arrays(folded) == state
    finally:
        folded.crash()


def test_a_server_that_stops_at_once_saves_nothing(place: str, request: pytest.FixtureRequest) -> None:
    """It has not noticed yet that its position is beyond the end of the journal."""
    engine = open_engine(place, FakeClock())
    make_model(engine)
    teach(engine, 5)
    kept = engine.state.position
    teach(engine, 5)
    assert execute(place, "SELECT value FROM notes WHERE name = 'swept'") == []
    lose(place, kept, request)
    engine.stop()
    assert execute(place, "SELECT value FROM notes WHERE name = 'swept'") == []
    assert execute(place, f"SELECT seq FROM checkpoints WHERE seq > {kept}") == []
    again = open_engine(place)
    try:
        assert again.state.position == kept
        assert again.view_now().policy.n_updates == 5
    finally:
        again.crash()


def test_checkpoints_of_a_lost_history_are_passed_by_and_deleted(place: str) -> None:
    """As an earlier version left them behind: numbers are given again, to other entries."""
    engine = open_engine(place, FakeClock())
    make_model(engine)
    make_model(engine, "own", scope="user")
    teach(engine, 5)
    kept = engine.state.position
    teach(engine, 5, click=1)
    lost = engine.state.position
    engine.stop()
    execute(place, f"DELETE FROM journal WHERE seq > {kept}")
    again = open_engine(place, FakeClock())
    assert again.state.position == kept
    assert execute(place, "SELECT count(*) FROM checkpoints") == [(0,)]
    again.stop()
    execute(place, f"UPDATE checkpoints SET seq = {lost}")
    other = open_engine(place, FakeClock())
    try:
        teach(other, 5, click=3)
        assert other.state.position == lost
        check_equals_a_fresh_fold(other, place)
    finally:
        other.stop()


@pytest.mark.parametrize("saves", [False, True], ids=["", "after the state was saved"])
def test_lists_whose_expiry_was_lost_expire_again(place: str, saves: bool) -> None:
    clock = FakeClock()
    engine = open_engine(place, clock)
    try:
        make_model(engine, feedback_wait=WAIT)
        teach(engine, 1)
        event, kept = engine.rank_now(), engine.state.position
        clock.now += WAIT + 1
        assert engine.expire() == 1
        clock.now += WAIT
        assert engine.expire() == 0
        execute(place, f"DELETE FROM journal WHERE seq > {kept}")
        execute(place, "DELETE FROM notes WHERE name = 'swept'")
        engine.fold()
        assert engine.state.rebuilds == 1
        if saves:
            engine.checkpoint()
        assert engine.expire() == 1
        assert engine.store.feedback_on(event.id) is not None
    finally:
        engine.crash()


def test_a_failover_that_lost_what_another_server_wrote(postgres: Cluster, postgres_url: str) -> None:
    """The entry at one's own position is still there. But the other server had closed a list, and that is lost."""
    clock = FakeClock()
    first = open_engine(postgres_url, clock)
    make_model(first, feedback_wait=WAIT)
    make_model(first, "own", scope="user")
    teach(first, 1)
    event = first.rank_now()
    with stopped(postgres.programs, postgres) as standby:
        both = postgres_url.replace(f":{postgres.port}", f":{postgres.port},127.0.0.1:{standby.port}")
        engine = open_engine(both, clock)
        mark = engine.state.mark
        clock.now += WAIT + 1
        assert first.expire() == 1
        clock.now += WAIT
        assert engine.expire() == 0  # it looks for lists that wait, and folds nothing
        first.crash()
        postgres.stop("immediate")
        standby.promote()
        feed_after_a_cut(engine, 0, click=1)
        engine.fold()
        assert (engine.state.mark, engine.state.rebuilds) == (mark, 1)
        assert engine.expire() == 1
        assert engine.store.feedback_on(event.id) is not None
        check_equals_a_fresh_fold(engine, both)
        engine.stop()


def test_a_backup_that_is_put_back_while_the_server_runs(tmp_path: Path) -> None:
    place = str(tmp_path / "data")
    engine = open_engine(place, FakeClock())
    make_model(engine)
    make_model(engine, "own", scope="user")
    teach(engine, 3)
    backup = tmp_path / "backup.sqlite"
    execute(place, f"VACUUM INTO '{backup}'")
    teach(engine, 4)
    source, target = sqlite3.connect(backup), sqlite3.connect(tmp_path / "data" / "rankfall.sqlite")
    source.backup(target)  # what the command .restore does
    source.close()
    target.close()
    teach(engine, 6, click=2)
    assert engine.state.rebuilds == 1
    assert engine.view_now().policy.n_updates == 9
    check_equals_a_fresh_fold(engine, place)
    engine.stop()


def test_a_server_is_not_ready_until_the_state_is_built_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine(place, FakeClock())
    try:
        make_model(engine)
        teach(engine, 2)
        execute(place, "DELETE FROM journal WHERE seq > 3")
        before = arrays(engine)
        with monkeypatch.context() as patched:
            patched.setattr("rankfall.service.state.Knowledge", failing)
            with pytest.raises(StoreError, match="made to fail"):
                engine.fold()
            assert engine.state.rebuilding
            assert arrays(engine) == before  # it ranks with what it knew
        engine.fold()
        assert (engine.state.rebuilding, engine.view_now().policy.n_updates) == (False, 1)
    finally:
        engine.crash()


def failing() -> None:
    raise StoreError("made to fail")
