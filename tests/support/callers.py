"""Callers that rank and give feedback, write down what was acknowledged, and later hold the server to it.

A caller forgets nothing: what got no response, or a 503, is sent again as it was, at once or much later, until it is
acknowledged. So when the callers are done, what the server must have is known exactly, however often it, its disk or
its database went away.
"""

import json
import random
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import httpx
import numpy as np
from served import Served
from specification import gain
from waiting import PATIENCE

import rankfall

T = TypeVar("T")

K = 5
PAUSE = 0.2
"""Seconds a caller rests after a failure, so that not too many lists wait for a server that is away."""


@dataclass
class Shown:
    """A list as it was acknowledged, and what is said about it."""

    request: dict[str, Any]
    answer: bytes = b""
    model: str = "default"
    clicked: int | None = None  # a position from 1 on
    times: int = 1  # how often that is said
    results: list[str] = field(default_factory=list)
    in_doubt: bool = False  # a feedback got no answer: the next may well be called a duplicate

    @property
    def said(self) -> bool:
        return self.times > 0

    @property
    def event_id(self) -> str:
        return str(json.loads(self.answer)["event_id"])

    @property
    def items(self) -> list[int]:
        return [item["id"] for item in json.loads(self.answer)["items"]]


class Callers:
    """Threads that call the servers at these addresses, each time any of them."""

    rest = 0.0
    """Seconds that a caller rests between lists."""

    def __init__(self, *urls: str, threads: int = 4, seed: int = 0, baselines: bool = False) -> None:
        self.urls, self.threads, self.seed, self.baselines = urls, threads, seed, baselines
        self.shown: list[Shown] = []
        self.seen: Counter[str] = Counter()  # how often each of these happened: "shown", "cut", "503", "fallback"
        self.problems: list[str] = []
        self._done = threading.Event()
        self._news = threading.Condition()

    def wait_for(self, *events: str, times: int = 1) -> None:
        """Wait until each of these events has happened so many times more."""
        with self._news:
            wanted = {event: self.seen[event] + times for event in events}

            def enough() -> bool:
                return bool(self.problems) or all(self.seen[event] >= n for event, n in wanted.items())

            came = self._news.wait_for(enough, PATIENCE)
        assert not self.problems, self.problems[:3]
        assert came, f"wanted {wanted}, and there were only {dict(self.seen)}"

    def _happened(self, event: str) -> None:
        with self._news:
            self.seen[event] += 1
            self._news.notify_all()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Call while the block runs. Leave it with everything up, so that callers can finish what they began."""
        self._done.clear()
        threads = [threading.Thread(target=self._run, args=(work,), daemon=True) for work in self._works()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._done.set()
            for thread in threads:
                thread.join(2 * PATIENCE)
        assert not self.problems, self.problems[:3]
        assert not any(thread.is_alive() for thread in threads), "a caller hangs"

    def _works(self) -> list[Callable[[list[httpx.Client]], None]]:
        """What the threads do, one each."""
        return [partial(self._rank_and_feed_back, n) for n in range(self.threads)]

    def _run(self, work: Callable[[list[httpx.Client]], None]) -> None:
        clients = [httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) for url in self.urls]
        try:
            work(clients)
        except Exception as problem:
            with self._news:
                self.problems.append(f"{type(problem).__name__}: {problem}")
                self._news.notify_all()
        finally:
            for client in clients:
                client.close()

    def _rank_and_feed_back(self, number: int, clients: list[httpx.Client]) -> None:
        rng = random.Random(f"{self.seed} {number} {len(self.shown)}")
        unfinished: deque[Shown] = deque()
        while not self._done.is_set():
            one = unfinished.popleft() if unfinished and rng.random() < 0.5 else self._new(rng)
            if not self._advance(rng.choice(clients), one):
                unfinished.append(one)
                time.sleep(PAUSE)
            time.sleep(self.rest)
        while unfinished:
            self._insist(lambda: self._advance(rng.choice(clients), unfinished[0]))
            unfinished.popleft()

    def _insist(self, attempt: Callable[[], T]) -> T:
        """Try until it works; the result."""
        end = time.monotonic() + PATIENCE
        while not (result := attempt()):
            assert time.monotonic() < end, "a request was never acknowledged"
            time.sleep(PAUSE)
        return result

    def _new(self, rng: random.Random) -> Shown:
        request: dict[str, Any] = {"request_id": str(uuid.uuid4()), "user": f"user {rng.randrange(50)}", "k": K}
        if self.baselines and rng.random() < 0.5:
            request["baseline"] = rng.sample(range(100), K)
        return Shown(request, clicked=rng.choice([None, *range(1, K + 1)]), times=rng.choice([0, 1, 1, 1, 2]))

    def _advance(self, client: httpx.Client, one: Shown) -> bool:
        """Do what is left to do for a list, as far as it goes; whether it went all the way."""
        if not self._ranked(client, one):
            return False
        while len(one.results) < one.times:
            answer = self._post(client, "/v1/feedback", {"event_id": one.event_id, "clicked": one.clicked})
            if answer is None:
                one.in_doubt = True
                return False
            one.results.append(result_of(answer.json()))
        return True

    def _ranked(self, client: httpx.Client, one: Shown) -> bool:
        """Get the list, if it is not there yet; whether it is."""
        if not one.answer:
            answer = self._post(client, f"/v1/models/{one.model}/rank", one.request)
            if answer is None:
                return False
            one.answer = answer.content
            self.shown.append(one)
            self._happened("shown")
        return True

    def _post(self, client: httpx.Client, path: str, body: dict[str, Any]) -> httpx.Response | None:
        """The acknowledgement, if there is one. A list that nothing is known of later is none, but must be right."""
        answer = self._send(client, "POST", path, json=body)
        if answer is not None and answer.json().get("arm") == "fallback":
            assert answer.json()["event_id"] is None, answer.text
            self._check_fallback(answer.json(), body)
            self._happened("fallback")
            return None
        return answer

    def _check_fallback(self, answer: dict[str, Any], request: dict[str, Any]) -> None:
        """A list that the store knows nothing of is the one that the caller would show itself."""
        assert [item["id"] for item in answer["items"]] == request["baseline"], answer

    def _send(self, client: httpx.Client, method: str, path: str, **content: Any) -> httpx.Response | None:
        """The response, if the server was there and could do it."""
        try:
            answer = client.request(method, path, **content)
        except httpx.TimeoutException as problem:
            raise AssertionError(f"{method} {path} hangs") from problem
        except httpx.TransportError:
            self._happened("cut")
            return None
        if answer.status_code == 408:  # a server that was frozen while the body came
            self._happened("408")
            return None
        if answer.status_code == 503:
            assert answer.headers["retry-after"] == "1", answer.headers
            self._happened("503")
            return None
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer


def result_of(counts: dict[str, Any]) -> str:
    """The one word for one feedback."""
    (result,) = (name for name in ("accepted", "duplicate", "late", "unknown", "rejected") if counts[name])
    return result


def check(served: Served, shown: Sequence[Shown]) -> dict[str, Any]:
    """Hold the server to everything it acknowledged; the model as it then is."""
    said = [one for one in shown if one.said]
    clicked = [one for one in said if one.clicked is not None]
    model = served.settled(len(said))
    assert model["learned"] == len(said)
    expected = {"ranked": len(shown), "with_feedback": len(said), "clicked": len(clicked), "expired": 0}
    assert {name: model["counts"][name] for name in expected} == expected
    assert len({one.event_id for one in shown}) == len(shown)
    for one in shown:
        check_event(served.event(one.event_id), one)
        again = served.client.post("/v1/models/default/rank", json=one.request)
        assert (again.status_code, again.content) == (200, one.answer)
    assert served.model()["counts"] == model["counts"], "asking again is not ranking again"
    np.testing.assert_allclose(weights(model), learned_apart(served.catalog, shown), rtol=1e-6, atol=1e-9)
    return model


def check_event(event: dict[str, Any], one: Shown) -> None:
    assert event["response"] == json.loads(one.answer)
    if not one.said:
        assert event["feedback"] is None
        return
    assert event["feedback"]["kind"] == "feedback"
    assert event["feedback"]["clicked"] == ([] if one.clicked is None else [one.clicked])
    first, *later = one.results
    assert first == "accepted" or (first == "duplicate" and one.in_doubt), one
    assert set(later) <= {"duplicate"}, one


def weights(model: dict[str, Any]) -> list[float]:
    return [column["weight"] for column in model["weights"]]


def learned_apart(catalog: rankfall.Catalog, shown: Sequence[Shown]) -> np.ndarray:
    """The weights by the book, from nothing but what callers saw: ridge regression on the items they looked at."""
    x, z = catalog.coverage, catalog.relevance
    gram, moment = np.eye(x.shape[1] + z.shape[1]), np.zeros(x.shape[1] + z.shape[1])
    for one in shown:
        if one.said:
            rows = catalog.rows(one.items).tolist()
            phi = np.array([[*gain(x[[a]], [x[b] for b in rows[:i]])[0], *z[a]] for i, a in enumerate(rows)])
            phi = phi[: one.clicked]  # nothing is known of what is below the click
            gram += phi.T @ phi
            moment += phi[-1] if one.clicked is not None else 0.0
    return np.linalg.solve(gram, moment)
