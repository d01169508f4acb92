"""The engine of the service in this process, with a clock that tests set and no life of its own between calls."""

import asyncio
import json
import math
import queue
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from waiting import PATIENCE

from rankfall import Catalog
from rankfall.journal.catalogs import encode_catalog
from rankfall.policies.linear.ridge import Ridge
from rankfall.service.clock import Clock, Moment, Reading
from rankfall.service.commands import (
    ChangeSettings,
    CreateModel,
    Decision,
    FeedbackResult,
    GiveFeedback,
    PutItems,
    SeedCatalog,
)
from rankfall.service.engine import Engine
from rankfall.service.items import catalog_of
from rankfall.service.model import Model
from rankfall.service.owners import OwnerView
from rankfall.service.state import ServerState
from rankfall.stores import Event, Transaction, open_store
from rankfall.wire import FeedbackRequest, ItemBody, ModelSettings, RankRequest, convert

T = TypeVar("T")
START = 1_800_000_000.0
WAIT = 600.0


class FakeClock(Clock):
    """A clock that tests set. Set it by hand and nobody knows why it jumped; let time pass with `Quiet.pass_time`."""

    def __init__(self, now: float = START) -> None:
        super().__init__()
        self.now, self.gaps = now, 0.0

    def moment(self) -> Moment:
        return Moment(self.now, self.gaps)

    def read(self, _tx: Transaction) -> Reading:
        return Reading(self.now, 0.0)

    def set(self, _reading: Reading, gaps: float) -> None:
        self.gaps = gaps


@dataclass(frozen=True)
class Doing(Decision[Any]):
    """A decision that a test makes up."""

    what: Callable[[Transaction], Any]

    def write(self, tx: Transaction, state: ServerState, now: Moment) -> Any:
        return self.what(tx)


class Quiet(Engine):
    """Folds after its own writes as always; whatever else an idle engine does happens when a test says so."""

    def __init__(self, place: str | Path, clock: FakeClock, **options: Any) -> None:
        self.calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self.runner = asyncio.Runner()
        self.place = place
        super().__init__(open_store(place), clock=clock, **{"rank_patience": PATIENCE, **options})
        self.serve()

    def _between_batches(self) -> bool:
        while not self.calls.empty():
            what, future = self.calls.get()
            try:
                future.set_result(what())
            except Exception as problem:
                future.set_exception(problem)
        return False

    def run(self, what: Callable[[], T]) -> T:
        """Do something in the thread that writes, as if the engine had come to it by itself."""
        future: Future[T] = Future()
        self.calls.put((what, future))
        self.writer.wake()
        return future.result(PATIENCE)

    def model(self, name: str = "default") -> Model:
        return self.state.model(name)

    @property
    def catalog(self) -> Catalog:
        found = self.state.catalog
        assert found is not None
        return found

    def rank_now(self, model: str = "default", **request: Any) -> Event:
        return self.runner.run(self.rank(self.model(model), RankRequest(**request)))

    def feed_now(self, *feedback: tuple[str, Any], models: frozenset[str] | None = None) -> tuple[FeedbackResult, ...]:
        given = [convert(FeedbackRequest, {"event_id": event, "clicked": clicked}) for event, clicked in feedback]
        return self.write(GiveFeedback(tuple(given), models))

    def outcome_now(self, event: str, *outcomes: dict[str, Any]) -> tuple[FeedbackResult, ...]:
        given = convert(FeedbackRequest, {"event_id": event, "outcomes": list(outcomes)})
        return self.write(GiveFeedback((given,)))

    def view_now(self, model: str = "default", owner: str = "") -> OwnerView:
        return self.runner.run(self.view(self.model(model), owner))

    def put(self, item: str, coverage: dict[str, float], relevance: list[float]) -> None:
        body = ItemBody(coverage=coverage, relevance=relevance)
        self.write(PutItems(encode_catalog(catalog_of([(item, body)], self.state.items.shape))))

    def fold(self) -> int:
        """Take in what other servers have written."""
        return self.run(self.state.catch_up)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, in which feedback could arrive."""
        assert isinstance(self.clock, FakeClock)
        self.clock.now += seconds
        self.run(lambda: self.heartbeat.beat(longest=math.inf))

    def expire(self) -> int:
        return self.run(self.upkeep.expire)

    def checkpoint(self) -> None:
        self.run(self.upkeep.checkpoint)

    def stop(self) -> None:
        """As when the service is stopped: the state is saved."""
        self.runner.close()
        self.close()

    def crash(self) -> None:
        """As when it is killed: nothing is saved that is not already."""
        self.runner.close()
        self.writer.close()
        self.store.close()
        self.reader.close()


def small_catalog(items: int = 8) -> Catalog:
    rng = np.random.default_rng(5)
    return Catalog(
        np.round(rng.random((items, 2)), 2),
        np.round(rng.random((items, 2)), 2),
        ids=[f"i{n}" for n in range(items)],
        topics=["x", "y"],
    )


def open_engine(place: str | Path, clock: FakeClock | None = None, **options: Any) -> Quiet:
    """An engine on a store, which gets the small catalog if it is new."""
    engine = Quiet(place, clock or FakeClock(), **options)
    if engine.state.catalog is None:
        engine.write(SeedCatalog(encode_catalog(small_catalog())))
    return engine


def make_model(engine: Quiet, name: str = "default", **settings: Any) -> None:
    assert engine.write(CreateModel(name, convert(ModelSettings, {"k": 3, **settings})))


def patch(engine: Quiet, name: str = "default", **changes: Any) -> None:
    engine.write(ChangeSettings(name, changes))


def answer(engine: Quiet, event: Event, clicked: Any) -> str:
    """Give feedback on a list; what came of it."""
    (fed,) = engine.feed_now((event.id, clicked))
    return fed.result


def items_of(event: Event) -> list[str]:
    """The items of a list, best first."""
    return [item["id"] for item in json.loads(event.response)["items"]]


def arrays(engine: Quiet, model: str = "default", owner: str = "") -> dict[str, bytes]:
    """The state of an owner, byte for byte."""
    return {name: array.tobytes() for name, array in engine.view_now(model, owner).policy.state().items()}


Learned = tuple[bytes, int | None]
"""What was kept of a list, and the 0-based position of the first click."""


def batch(learned: list[Learned]) -> dict[str, bytes]:
    """The state after these lists, computed by itself: under the cascade, what is above the first click was passed by,
    and what is below was not seen."""
    model = Ridge(4)
    for features, click in learned:
        rows = np.frombuffer(features).reshape(-1, 4)
        seen = len(rows) if click is None else click + 1
        rewards = np.zeros(seen)
        if click is not None:
            rewards[click] = 1.0
        model.learn(rows[:seen], rewards)
    return {name: array.tobytes() for name, array in model.arrays().items()}
