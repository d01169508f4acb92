"""The deadline of a command belongs to its caller, whatever the writer waits for."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from engines import WAIT, Quiet, make_model, open_engine
from postgres import Cluster
from waiting import PATIENCE

from rankfall.errors import StoreError
from rankfall.service.commands import Activate, Command, GiveFeedback
from rankfall.stores import Event, Store
from rankfall.wire import FeedbackRequest, RankRequest

pytestmark = pytest.mark.stress


@pytest.fixture
def engine(engine: Quiet) -> Quiet:
    make_model(engine, feedback_wait=WAIT)
    make_model(engine, "own", scope="user")
    engine.view_now()
    return engine


@contextmanager
def locked_file(place: str) -> Iterator[None]:
    """Another process writes to the SQLite file, and does not come to an end."""
    other = sqlite3.connect(next(Path(place).glob("*.sqlite")), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@contextmanager
def locked_tables(url: str) -> Iterator[None]:
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE events, journal, checkpoints IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()


def locked(place: str) -> AbstractContextManager[None]:
    return locked_tables(place) if place.startswith("postgresql:") else locked_file(place)


def given_up(engine: Quiet, waits: Callable[[], list[Coroutine[Any, Any, Any]]]) -> list[str]:
    """What is said to those who wait, all at the same time and not for long, while the store stays as it is."""

    async def all_of_them() -> list[Any]:
        async with asyncio.timeout(60):
            return await asyncio.gather(*waits(), return_exceptions=True)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "_rank_patience", 0.05)
        patched.setattr("rankfall.service.writer.PATIENCE", 0.05)
        patched.setattr("rankfall.service.writer.DECISION_PATIENCE", 0.05)
        answers = engine.runner.run(all_of_them())
    assert all(isinstance(one, StoreError) for one in answers), answers
    return [str(one) for one in answers]


async def submitted(engine: Quiet, command: Command[Any]) -> Any:
    return await engine.writer.submit(command)


def callers(engine: Quiet, event: Event) -> list[Coroutine[Any, Any, Any]]:
    """Lists, one for a user whose state must be read first, feedback, and a deferred list that is shown."""
    return [
        *(engine.rank(engine.model(), RankRequest()) for _ in range(3)),
        engine.rank(engine.model("own"), RankRequest(user="anna")),
        submitted(engine, GiveFeedback((FeedbackRequest(event.id, 1),))),
        submitted(engine, Activate(event.id)),
    ]


def test_nobody_waits_for_a_hung_database(postgres: Cluster, postgres_url: str) -> None:
    engine = open_engine(postgres_url)
    try:
        make_model(engine)
        make_model(engine, "own", scope="user")
        shown = engine.rank_now()
        with postgres.hung():
            said = given_up(engine, lambda: callers(engine, shown))
        assert said == ["the store did not answer in time"] * len(said)
        assert engine.feed_now((shown.id, 1))[0].result in ("accepted", "duplicate")
        assert engine.rank_now().arm == "policy"
    finally:
        engine.stop()


def test_nobody_waits_for_a_locked_store(place: str, engine: Quiet) -> None:
    shown = engine.rank_now()
    with locked(place):
        given_up(engine, lambda: callers(engine, shown))
    engine.run(lambda: None)
    assert engine.store.ranked("default") == 1


class HeldCommits:
    """Commits that are durable, and of which the database does not say so until the test lets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.durable, self.go_on = threading.Event(), threading.Event()
        transaction: Callable[..., AbstractContextManager[Any]] = Store.transaction

        @contextmanager
        def held(store: Store) -> Iterator[Any]:
            with transaction(store) as tx:
                yield tx
            self.durable.set()
            assert self.go_on.wait(PATIENCE)

        monkeypatch.setattr(Store, "transaction", held)

    def leave(self, engine: Quiet, request: RankRequest) -> None:
        """Ask for a list, and go away when it is durable and nobody has been told so."""

        async def go_away() -> None:
            asked = asyncio.ensure_future(engine.rank(engine.model(), request))
            await asyncio.to_thread(self.durable.wait, PATIENCE)
            asked.cancel()
            await asyncio.wait([asked])

        engine.runner.run(go_away())


def hear(engine: Quiet) -> None:
    """Let the loop hear what the writer has to say, and the writer what the loop says then."""
    engine.rank_now()
    engine.run(lambda: None)
    engine.run(lambda: None)


def test_a_list_that_is_stored_too_late_was_not_shown(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is being committed when its caller leaves; the second has not been begun when its time is over."""
    commits = HeldCommits(monkeypatch)
    commits.leave(engine, RankRequest(request_id="first"))
    given_up(engine, lambda: [engine.rank(engine.model(), RankRequest(request_id="second"))])
    commits.go_on.set()
    hear(engine)
    with engine.store.transaction() as tx:
        stored = tx.event_of_request("default", "first")
        assert tx.event_of_request("default", "second") is None
    assert stored is not None
    assert not stored.active
    engine.pass_time(WAIT + 1)
    assert engine.expire() == 1  # that of hear()
    assert engine.store.feedback_on(stored.id) is None


def test_a_retry_that_comes_too_late_does_not_withdraw_the_list(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    request = RankRequest(request_id="a")
    taken = engine.runner.run(engine.rank(engine.model(), request))
    commits = HeldCommits(monkeypatch)
    commits.leave(engine, request)
    commits.go_on.set()
    hear(engine)
    found = engine.store.event(taken.id)
    assert found is not None
    assert found.active


def test_a_queue_that_is_full_refuses_at_once(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.service.writer.MOST_WAITING", 0)
    given_up(engine, lambda: [engine.rank(engine.model(), RankRequest())])
