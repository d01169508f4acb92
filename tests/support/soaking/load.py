"""Callers for a soak, of models with a context, rules, rewards and priors, who also change settings and items, reset,
restore, and have users forgotten, all at once.

Everything is sent again until it is acknowledged, so what was acknowledged last is known for sure.
"""

import bisect
import json
import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx
from callers import PAUSE, Callers, K, Shown, result_of
from served import NDJSON

from soaking.site import BRIEF, MODELS
from soaking.situations import CHANGING, STOCKED, attributes_of, check_rules, situation

MARK = "forgotten-person-"
"""How the names of users begin who are forgotten: when all of them are, it stands nowhere."""
OUTAGE = 1.0
"""Seconds without any acknowledgement from which on callers call it an outage."""
WEIGHTS = {"default": 4, "own": 4, "brief": 2, "changing": 2, "earning": 2, "in_context": 2, "ruled": 2}
OFTEN = 0.5
"""How likely each of the two outcomes is that a list of a model with rewards may have: one early, one late."""


NEW_TOPICS = 4
"""Topics that are added at most: each adds columns to what all models have learned."""


@dataclass(frozen=True)
class Outcome:
    """What somebody did with an item of a list, beside the click."""

    position: int  # from 1 on
    name: str
    early: bool  # told before the click


@dataclass
class Expected:
    """What was acknowledged last, beside lists and feedback."""

    gamma: float = 1.0
    items: dict[int, dict[str, Any] | None] = field(default_factory=dict)  # what was told; None if taken out
    topics: list[str] = field(default_factory=list)  # those added
    snapshots: list[str] = field(default_factory=list)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)  # by list
    raced: list[str] = field(default_factory=list)  # users who were ranked for while they were forgotten
    removed: set[str] = field(default_factory=set)  # lists that went with their user
    anonymous: set[str] = field(default_factory=set)  # lists that stay without their user


class SoakCallers(Callers):
    """Callers of all models of a site, one that changes things, and one who has users forgotten."""

    def __init__(self, *urls: str, seed: int, rest: float, threads: int = 4) -> None:
        super().__init__(*urls, threads=threads, seed=seed, baselines=True)
        self.rest = rest
        self.expected = Expected()
        self.acknowledged: list[float] = []
        """When anything was acknowledged, in order."""
        self.late_for_good_reason = 0
        self._shown_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def _works(self) -> list[Callable[[list[httpx.Client]], None]]:
        return [*super()._works(), self._change_things, self._forget_people]

    def _send(self, client: httpx.Client, method: str, path: str, **content: Any) -> httpx.Response | None:
        answer = super()._send(client, method, path, **content)
        if answer is not None:
            with self._lock:
                self.acknowledged.append(time.monotonic())
            self._happened("acknowledged")
        return answer

    def _new(self, rng: random.Random) -> Shown:
        (model,) = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        return self._new_of(model, rng)

    def _new_of(self, model: str, rng: random.Random) -> Shown:
        one = super()._new(rng)
        one.model = model
        one.request |= situation(model, rng)
        return one

    def _check_fallback(self, answer: dict[str, Any], request: dict[str, Any]) -> None:
        if answer["model"] != "ruled":
            super()._check_fallback(answer, request)
            return
        items = [item["id"] for item in answer["items"]]
        order = [item for item in request["baseline"] if item in items]
        assert sorted(order) == sorted(items), f"not of the baseline: {answer} for {request}"
        check_rules(answer, request, [attributes_of(item) for item in items])

    def _advance(self, client: httpx.Client, one: Shown) -> bool:
        before = len(one.results)
        earns = "rewards" in MODELS[one.model]
        if not self._ranked(client, one) or (earns and not self._tell(client, one, early=True)):
            return False
        if one.clicked is not None:
            one.clicked = min(one.clicked, len(one.items))  # rules may leave less of a baseline than was asked for
        done = super()._advance(client, one)
        if one.answer and one.event_id not in self._shown_at:
            self._shown_at[one.event_id] = time.monotonic()
        if not before and one.results[:1] == ["late"]:
            self._excuse(one)
        return done and (not earns or self._tell(client, one, early=False))

    def _tell(self, client: httpx.Client, one: Shown, *, early: bool) -> bool:
        """Tell what else came of a list, early or late, each until it is acknowledged; whether all of it is told."""
        rng = random.Random(f"{self.seed} {one.request['request_id']} {early}")
        if rng.random() >= OFTEN:
            return True
        outcome = Outcome(rng.randint(1, K), str(uuid.UUID(int=rng.getrandbits(128))), early)
        told = self.expected.outcomes.setdefault(one.event_id, [])
        if outcome in told:
            return True
        item = {"id": one.items[outcome.position - 1], "type": "purchase", "outcome_id": outcome.name}
        answer = self._post(client, "/v1/feedback", {"event_id": one.event_id, "outcomes": [item]})
        if answer is None:
            return False
        assert result_of(answer.json()) in ("accepted", "duplicate"), answer.text
        told.append(outcome)
        self._happened("outcome")
        return True

    def _excuse(self, one: Shown) -> None:
        """Feedback may come too late only if it could have come in time."""
        since, now = self._shown_at[one.event_id], time.monotonic()
        available = now - since - sum(end - begin for begin, end in self.outages(since, now))
        assert one.model == "brief", f"feedback on {one} was late"
        assert available > BRIEF - OUTAGE, f"feedback on {one} was late; it could be given for {available:.1f} s only"
        self.late_for_good_reason += 1

    def outages(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Stretches of time in which nothing was acknowledged."""
        with self._lock:
            first, last = bisect.bisect_right(self.acknowledged, begin), bisect.bisect_left(self.acknowledged, end)
            moments = [begin, *self.acknowledged[first:last], end]
        return [(a, b) for a, b in pairwise(moments) if b - a > OUTAGE]

    # What changes

    def _change_things(self, clients: list[httpx.Client]) -> None:
        rng, expected = random.Random(f"{self.seed} changes {len(self.shown)}"), self.expected

        def send(method: str, path: str, **content: Any) -> httpx.Response:
            return self._insist(lambda: self._send(rng.choice(clients), method, path, **content))

        def settings() -> None:
            gamma = rng.randrange(1, 50) / 10
            send("PATCH", "/v1/models/changing", json={"gamma": gamma})
            expected.gamma = gamma

        def put() -> None:
            item, relevance = rng.choice(CHANGING), [rng.randrange(-10, 10) / 10 for _ in range(4)]
            coverage = {topic: 0.5 for topic in expected.topics if rng.random() < 0.5}
            told = {"relevance": relevance, "coverage": coverage, "attributes": attributes_of(rng.randrange(1000))}
            send("PUT", f"/v1/catalog/items/{item}", json=told)
            expected.items[item] = told

        def topic() -> None:
            if len(expected.topics) < NEW_TOPICS and rng.random() < 0.25:
                name = f"topic {len(expected.topics)} of the soak"
                send("POST", "/v1/catalog/topics", json={"topics": [name]})
                expected.topics.append(name)

        def stock() -> None:
            item, there = rng.choice(STOCKED), rng.random() < 0.5
            send("PATCH", f"/v1/catalog/items/{item}", json={"attributes": {"in_stock": there}})
            expected.items[item] = {"attributes": {**attributes_of(item), "in_stock": there}}

        def take_out() -> None:
            there = sorted(item for item in CHANGING if expected.items.get(item) is not None)
            if there:
                item = rng.choice(there)
                line = json.dumps({"id": item, "delete": True})
                send("POST", "/v1/catalog/bulk", content=line, headers=NDJSON)
                expected.items[item] = None

        def snapshot() -> None:
            expected.snapshots.append(send("POST", "/v1/models/changing/snapshots", json={}).json()["id"])

        def restore() -> None:
            if expected.snapshots:
                send("POST", f"/v1/models/changing/snapshots/{rng.choice(expected.snapshots)}/restore", json={})

        def reset() -> None:
            send("POST", "/v1/models/changing/reset", json={})

        changes = [settings, settings, put, put, topic, stock, stock, take_out, snapshot, restore, reset]
        while not self._done.is_set():
            rng.choice(changes)()
            self._happened("changed")
            time.sleep(5 * self.rest)

    # Who is forgotten

    def _forget_people(self, clients: list[httpx.Client]) -> None:
        rng = random.Random(f"{self.seed} forgotten {len(self.shown)}")
        while not self._done.is_set():
            name = f"{MARK}{uuid.uuid4()}"
            lists = [self._list_for(name, rng, clients) for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.5:
                self._race(name, clients)
            self.forget(name, clients)
            for one in lists:
                (self.expected.removed if one.model == "own" else self.expected.anonymous).add(one.event_id)
            self._happened("forgotten")
            time.sleep(5 * self.rest)

    def _list_for(self, name: str, rng: random.Random, clients: list[httpx.Client]) -> Shown:
        one = self._new_of(rng.choice(["own", "own", "default", "in_context", "ruled"]), rng)
        one.request["user"] = name
        self._insist(lambda: self._advance(rng.choice(clients), one))
        return one

    def _race(self, name: str, clients: list[httpx.Client]) -> None:
        """Forget a user while somebody else ranks for that user. What is left then is forgotten at the next check."""
        self.expected.raced.append(name)
        ranked, enough = threading.Event(), threading.Event()

        def rank(clients: list[httpx.Client]) -> None:
            rng = random.Random(name)
            while not enough.is_set() and not self._done.is_set():
                path = f"/v1/models/{rng.choice(['own', 'default'])}/rank"
                if self._send(rng.choice(clients), "POST", path, json={"user": name, "k": K}) is None:
                    time.sleep(PAUSE)
                ranked.set()
            ranked.set()

        racer = threading.Thread(target=self._run, args=(rank,), daemon=True)
        racer.start()
        ranked.wait()
        self.forget(name, clients)
        enough.set()
        racer.join()

    def forget(self, name: str, clients: list[httpx.Client]) -> None:
        """Have a user forgotten, by any server."""
        self._insist(lambda: self._send(random.choice(clients), "DELETE", f"/v1/users/{name}"))
