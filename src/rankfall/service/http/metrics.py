"""Numbers for Prometheus. With several workers each counts its own share, and any of them gives the sum."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from rankfall.errors import StoreError
from rankfall.service.engine import Engine

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What is counted."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
            return Counter(f"rankfall_{name}", text, labels, registry=registry)

        self.requests = counter("requests", "Requests answered", ("route", "status"))
        self.seconds = Histogram(
            "rankfall_request_seconds", "Time to answer", ("route",), buckets=_SECONDS, registry=registry
        )
        self.feedback = counter("feedback", "Feedback by what became of it", ("model", "result"))
        self.lists = counter("lists", "Lists answered", ("model", "arm"))
        self.answered = counter("answered", "Lists with feedback", ("model", "arm"))
        self.clicked = counter("clicked", "Lists with a click", ("model", "arm"))
        self.fallbacks = counter("fallbacks", "Lists that fell back to the baseline", ("model", "reason"))
        self.store_errors = counter("store_errors", "Reads and writes that failed")
        self.covered = Summary("rankfall_topics_covered", "Topics covered by a list", ("model",), registry=registry)

        self._routes: dict[tuple[str, int], tuple[Any, Any]] = {}

    def count_request(self, _method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was served."""
        found = self._routes.get((route, status))
        if found is None:
            found = self._routes[route, status] = (
                self.requests.labels(route, str(status)),
                self.seconds.labels(route),
            )
        found[0].inc()
        found[1].observe(seconds)

    def text(self, engine: Engine) -> bytes:
        """Everything, as Prometheus reads it."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            counted = generate_latest(self.registry)
        else:
            every = CollectorRegistry()
            MultiProcessCollector(every)  # type: ignore[no-untyped-call]
            counted = generate_latest(every)
        shared = CollectorRegistry()
        shared.register(_Shared(engine))
        return counted + generate_latest(shared)


class _Shared:
    """What the store knows, the same whichever worker is asked; and what this worker holds."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Any]:
        engine = self._engine
        try:
            pending, lag, up = float(engine.store.pending(engine.clock())), engine.lag(), 1.0
        except StoreError:
            pending, lag, up = float("nan"), float("nan"), 0.0
        yield GaugeMetricFamily("rankfall_store_up", "Whether the store can be read", up)
        yield GaugeMetricFamily("rankfall_pending_events", "Lists that wait for feedback", pending)
        yield GaugeMetricFamily("rankfall_fold_lag_seconds", "Age of the oldest entry not learned from yet", lag)
        state = engine.state
        held = sum(len(model) for model in state.models.values())
        yield GaugeMetricFamily("rankfall_models_in_memory", "States held in memory by this worker", held)
        yield GaugeMetricFamily("rankfall_catalog_items", "Items in the catalog", len(state.items))
        stopped = float(state.stopped is not None)
        yield GaugeMetricFamily("rankfall_learning_stopped", "Whether learning has stopped at an entry", stopped)
