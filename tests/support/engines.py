"""The engine of the service in this process, with a clock that tests set and no life of its own between calls."""

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankfall import Catalog
from rankfall.model import Ridge
from rankfall.service.engine import Engine
from rankfall.service.feedback import Fed
from rankfall.service.items import catalog_of
from rankfall.service.model import Held
from rankfall.service.setup import _seed
from rankfall.stores import Event, Transaction, open_store
from rankfall.wire import FeedbackRequest, ItemBody, ModelSettings, RankRequest, convert

T = TypeVar("T")
START = 1_800_000_000.0
WAIT = 600.0


class FakeClock:
    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Quiet(Engine):
    """Folds after its own writes as always; whatever else an idle engine does happens when a test says so."""

    def __init__(self, place: str | Path, clock: FakeClock, **options: Any) -> None:
        self.calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self.runner = asyncio.Runner()
        super().__init__(open_store(place), clock=clock, **options)

    def _idle(self) -> None:
        while not self.calls.empty():
            what, future = self.calls.get()
            try:
                future.set_result(what())
            except Exception as problem:
                future.set_exception(problem)

    def run(self, what: Callable[[], T]) -> T:
        """Do something in the thread that writes, as if the engine had come to it by itself."""
        future: Future[T] = Future()
        self.calls.put((what, future))
        self._keeper._jobs.put(None)
        return future.result(60)

    def rank_now(self, model: str = "default", **request: Any) -> Event:
        return self.runner.run(self.rank(self.model(model), RankRequest(**request)))

    def feed_now(self, *feedback: tuple[str, Any]) -> list[Fed]:
        given = [convert(FeedbackRequest, {"event_id": event, "clicked": clicked}) for event, clicked in feedback]
        return self.runner.run(self.feed(given))

    def state_now(self, model: str = "default", key: str = "") -> Held:
        return self.runner.run(self.state(self.model(model), key))

    def write(self, what: Callable[[Transaction], T]) -> T:
        result: T = self.do_now(what)
        return result

    def put(self, item: str, coverage: dict[str, float], relevance: list[float]) -> None:
        assert self.catalog is not None
        self.write(
            self.put_catalog(catalog_of([(item, ItemBody(coverage=coverage, relevance=relevance))], self.catalog))
        )

    def stop(self) -> None:
        """As when the service is stopped: the state is saved."""
        self.runner.close()
        self.close()

    def crash(self) -> None:
        """As when it is killed: nothing is saved that is not already."""
        self.runner.close()
        self._keeper.close()
        self.store.close()


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
    if engine.catalog is None:
        engine.write(_seed(engine, small_catalog()))
    return engine


def make_model(engine: Quiet, name: str = "default", **settings: Any) -> None:
    assert engine.write(engine.create(name, convert(ModelSettings, {"k": 3, **settings})))


def patch(engine: Quiet, name: str = "default", **changes: Any) -> None:
    engine.write(engine.change(engine.model(name), changes))


def arrays(engine: Quiet, model: str = "default", key: str = "") -> dict[str, bytes]:
    """The state of a key, byte for byte."""
    return {name: array.tobytes() for name, array in engine.state_now(model, key).policy.model.arrays().items()}


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
