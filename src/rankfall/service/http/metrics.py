"""Numbers for Prometheus. With several workers each counts its own share, and any of them gives the sum."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from rankfall.errors import StoreError
from rankfall.service.commands import FeedbackResult
from rankfall.service.engine import Engine

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What is counted."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Callable[..., Counter]:
            counted = Counter(f"rankfall_{name}", text, labels, registry=registry)
            return cache(counted.labels)  # the library checks labels under a lock each time they are looked up

        self._requests = counter("requests", "Requests served", "route", "status")
        self._feedback = counter("feedback", "Feedback by what became of it", "model", "result")
        self._lists = counter("lists", "Lists sent", "model", "arm")
        self._with_feedback = counter("lists_with_feedback", "Lists with feedback", "model", "arm")
        self._clicked = counter("clicked", "Lists with a click", "model", "arm")
        self._outcomes = counter("outcomes", "Outcomes by what became of them", "model", "type", "result")
        self._fallbacks = counter("fallbacks", "Lists that fell back to the baseline", "model", "reason")
        self._store_errors = Counter("rankfall_store_errors", "Reads and writes that failed", registry=registry)
        self._rebuilds = Counter("rankfall_rebuilds", "Times the store went back", registry=registry)
        self._seconds = cache(
            Histogram(
                "rankfall_request_seconds", "Time to respond", ("route",), buckets=_SECONDS, registry=registry
            ).labels
        )
        self._covered = cache(
            Summary("rankfall_topics_covered", "Topics covered by a list", ("model",), registry=registry).labels
        )

    def count_request(self, _method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was served."""
        self._requests(route, status).inc()
        self._seconds(route).observe(seconds)

    def count_list(self, model: str, arm: str, covered: int) -> None:
        """Count a list that was stored, and the topics it covers."""
        self._lists(model, arm).inc()
        self._covered(model).observe(covered)

    def count_unstored_list(self, model: str) -> None:
        """Count a list that could not be stored: a fallback that nothing can be learned from."""
        self._lists(model, "fallback").inc()
        self.count_fallback(model, "store")

    def count_fallback(self, model: str, reason: str) -> None:
        """Count a list that is the baseline because something failed."""
        self._fallbacks(model, reason).inc()

    def count_feedback(self, fed: FeedbackResult) -> None:
        """Count the clicks on a list, or an outcome, by what became of it."""
        if fed.outcome:
            if fed.result != "rejected":  # a type that nobody declared is a label that anybody can make up
                self._outcomes(fed.model, fed.outcome, fed.result).inc()
            return
        self._feedback(fed.model, fed.result).inc()
        if fed.result == "accepted":
            self._with_feedback(fed.model, fed.arm).inc()
            if fed.clicked:
                self._clicked(fed.model, fed.arm).inc()

    def count_store_error(self) -> None:
        """Count a read or a write of the store that failed."""
        self._store_errors.inc()

    def count_rebuild(self) -> None:
        """Count that the store went back in time, so that the state is built again."""
        self._rebuilds.inc()

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
            pending, lag, up = float(engine.pending()), engine.lag(), 1.0
        except StoreError:
            pending, lag, up = float("nan"), float("nan"), 0.0
        yield GaugeMetricFamily("rankfall_store_up", "Whether the store can be read", up)
        yield GaugeMetricFamily("rankfall_pending_events", "Lists that wait for feedback", pending)
        yield GaugeMetricFamily("rankfall_fold_lag_seconds", "Age of the oldest entry not learned from yet", lag)
        skew = engine.clock.skew
        yield GaugeMetricFamily("rankfall_clock_skew_seconds", "How far this machine is ahead of the store", skew)
        state = engine.state
        held = sum(len(model) for model in state.models.values())
        yield GaugeMetricFamily("rankfall_models_in_memory", "States held in memory by this worker", held)
        yield GaugeMetricFamily("rankfall_catalog_items", "Items in the catalog", len(state.items))
        stopped = float(state.stopped is not None)
        yield GaugeMetricFamily("rankfall_learning_stopped", "Whether learning has stopped at an entry", stopped)
        yield from _priors(engine)


def _priors(engine: Engine) -> tuple[GaugeMetricFamily, GaugeMetricFamily]:
    """How old the prior of each model is, and how many users taught it."""
    age = GaugeMetricFamily("rankfall_prior_age_seconds", "Age of what new users start from", labels=["model"])
    users = GaugeMetricFamily("rankfall_prior_users", "Users it was learned from", labels=["model"])
    for name, model in engine.state.models.items():
        note = model.history.prior_at(engine.state.position)
        if note is not None:
            age.add_metric([name], max(0.0, engine.clock() - note.at))
            users.add_metric([name], note.users)
    return age, users
