"""Whatever happens, in whatever order: the state is what the accepted answers say, bit for bit."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import WAIT, FakeClock, Learned, Quiet, arrays, batch, make_model, open_engine, patch, small_catalog
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rankfall.errors import ConflictError, NotFoundError
from rankfall.history.export import export
from rankfall.journal.priors import decode_prior
from rankfall.policies.context import Context
from rankfall.policies.linear import crosses
from rankfall.policies.linear.crosses import Crosses
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.ridge import Ridge
from rankfall.service.commands import Activate, ForgetUser, PatchItem, PutItems, Reset, Restore, TakeSnapshot
from rankfall.service.prior_refresh import refreshed
from rankfall.service.template import changed
from rankfall.stores import Event
from rankfall.wire import Candidate, ItemPatch
from rankfall.wire.rules import Apart, Only


@pytest.fixture(autouse=True)
def early_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose how far contexts move preferences after two lists: histories are short."""
    monkeypatch.setattr(crosses, "FIRST_CHOICE", 2)


USERS = ["anna", "ben", "cleo", "dora"]
REWARDS = {"click": 1, "cart": 2, "bought": 5, "no": -1}
DECLARED = {
    "context": {"hour": {"kind": "hour"}, "device": {"kind": "category", "levels": ["tv", "web"]}},
    "request_features": {"match": {"scale": 2.0}},
}
MODELS: dict[str, dict[str, Any]] = {
    "shared": {"scope": "global"},
    "own": {"scope": "user", "rules": [{"kind": "at_most", "n": 1, "attribute": "brand"}]},
    "counted": {"scope": "global", "policy": "CascadeKLUCB"},
    "recent": {"scope": "user", "policy": "CascadeSWUCB", "forgetting": {"window": 3}},
    "valued": {"scope": "user", "rewards": REWARDS},
    "valued by all": {
        "scope": "global",
        "feedback": "last_click",
        "rewards": {"click": 0.5, "cart": 0.2, "bought": 0.3, "no": -2},
    },
    "together": {"scope": "user", "across_users": True},
    "valued together": {
        "scope": "user",
        "across_users": True,
        "rewards": {"click": 1, "cart": 2, "bought": 5, "no": -1},
    },
    "in context": {"scope": "user", **DECLARED},
    "valued in context": {"scope": "global", "rewards": REWARDS, **DECLARED},
    "together in context": {"scope": "user", "across_users": True, **DECLARED},
}
ALIKE = {
    "in context": ["CascadeHybrid", "CascadeHybridTS"],
    "together in context": ["CascadeHybrid", "CascadeHybridTS"],
    "valued in context": ["CascadeHybrid", "CascadeHybridGreedy"],
    "shared": ["CascadeHybrid", "CascadeHybridTS", "CascadeHybridGreedy", "CascadeHybridEpsilon"],
    "own": ["CascadeHybrid", "CascadeHybridTS"],
    "counted": ["CascadeKLUCB", "CascadeUCB1", "CascadeTS"],
    "recent": ["CascadeSWUCB"],
    "valued": ["CascadeHybrid", "CascadeHybridGreedy"],
    "valued by all": ["CascadeHybrid", "CascadeHybridTS"],
    "together": ["CascadeHybrid", "CascadeHybridTS"],
    "valued together": ["CascadeHybrid", "CascadeHybridGreedy"],
}
TOGETHER = [name for name, words in MODELS.items() if words.get("across_users")]
TYPES = ["cart", "bought", "no"]
RULES = [Apart(attribute="brand", within=2), Only(attribute="brand", op="!=", value="c")]


def state_of(model: str, learned: list[Any]) -> dict[str, bytes]:
    """The state of a model after these lists, computed by itself."""
    if model in TOGETHER:
        return together(learned, **MODELS[model])
    if "context" in MODELS[model]:
        return in_context(learned, MODELS[model].get("rewards"))
    if "rewards" in MODELS[model]:
        return valued(learned, **MODELS[model])
    if "policy" not in MODELS[model]:
        return batch(learned)
    window = MODELS[model].get("forgetting", {}).get("window")
    return counted(learned, window)


Outcome = tuple[int, str, float]
"""Position, type and value."""


def valued(lessons: list[Any], rewards: dict[str, float], feedback: str = "cascade", **_: Any) -> dict[str, bytes]:
    """Ridge regression of what items earned, in shares of the largest reward.

    A lesson is a list with its clicks and the outcomes before them, or an outcome on a list that came before.
    """
    model, largest = Ridge(4), max(rewards.values())
    for kept, clicks, before, later in lessons:
        rows = np.frombuffer(kept).reshape(-1, 4)
        last = clicks[0 if feedback == "cascade" else -1] if clicks else len(rows) - 1
        if later is not None:
            at, kind, value = later
            if at <= last:
                model.earn(rows[at], rewards[kind] * value / largest)
            continue
        earned = np.zeros(len(rows))
        earned[clicks] = rewards["click"] / largest
        for at, kind, value in before:
            earned[at] += rewards[kind] * value / largest
        model.learn(rows[: last + 1], earned[: last + 1])
    return {name: array.tobytes() for name, array in model.arrays().items()}


def in_context(lessons: list[Any], rewards: dict[str, float] | None) -> dict[str, bytes]:
    """Ridge regression on features crossed with the context: of each list 5 features for an item, then 5 numbers.

    How far the context may move preferences is chosen from the clicks alone.
    """
    model = Ridge(25)
    crossed = Crosses(Context(DECLARED["context"]), 5, model, None)
    worth, largest = rewards or {"click": 1.0}, max((rewards or {"click": 1.0}).values())
    for lesson in lessons:
        kept, clicks, before, later = lesson if rewards else (lesson[0], lesson[1], [], None)
        clicks = [] if clicks is None else [clicks] if isinstance(clicks, int) else clicks
        numbers = np.frombuffer(kept)
        rows, c = numbers[:-5].reshape(-1, 5), numbers[-5:]
        seen = clicks[0] + 1 if clicks else len(rows)
        if later is not None:
            at, kind, value = later
            if at < seen:
                model.earn(np.kron(c * crossed.scales[[0, 1, 1, 2, 2]], rows[at]), worth[kind] * value / largest)
            continue
        clicked = np.zeros(len(rows))
        clicked[clicks[:1]] = 1.0
        earned = np.zeros(len(rows))
        earned[clicks] = worth["click"] / largest
        for at, kind, value in before:
            earned[at] += worth[kind] * value / largest
        crossed.learn(rows[:seen], c, clicked[:seen], earned[:seen])
    return {name: array.tobytes() for name, array in (model.arrays() | crossed.arrays()).items()}


def together(
    lessons: list[Any], rewards: dict[str, float] | None = None, context: Any = None, **_: Any
) -> dict[str, bytes]:
    """Ridge regression that starts from the last prior there was; lessons are those of the other two, and priors.

    With a context the prior says how far it may move preferences: nothing else is chosen or kept.
    """
    rewards = rewards or {"click": 1.0}
    columns = 25 if context else 4
    model, largest = Ridge(columns, prior=Prior.identity(columns)), max(rewards.values())
    earned: dict[int, Any] = {}  # what the items of each list have earned
    for lesson in lessons:
        if isinstance(lesson, Prior):
            model = model.with_prior(lesson)
            continue
        kept, clicks, before, later = lesson if len(lesson) == 4 else (lesson[0], [lesson[1]], [], None)
        clicks = [click for click in clicks if click is not None]
        numbers = np.frombuffer(kept)
        rows = numbers[: -5 if context else None].reshape(-1, 5 if context else 4)
        if context:
            rows = np.array([np.kron(numbers[-5:], row) for row in rows])
        last = clicks[0] if clicks else len(rows) - 1
        if later is not None:
            at, kind, value = later
            if at <= last:
                model.earn(rows[at], rewards[kind] * value / largest, earned[id(kept)][at])
            earned[id(kept)][at] += rewards[kind] * value / largest
            continue
        own = earned[id(kept)] = np.zeros(len(rows))
        own[clicks] = rewards["click"] / largest
        for at, kind, value in before:
            own[at] += rewards[kind] * value / largest
        model.learn(rows[: last + 1], own[: last + 1].copy())
    crossed = {"cross_scales": np.ones(3), "cross_clicks": np.zeros(0), "cross_sums": np.zeros(2)} if context else {}
    return {name: array.tobytes() for name, array in (model.arrays() | crossed).items()}


def counted(learned: list[Learned], window: int | None) -> dict[str, bytes]:
    """How often each item was seen and clicked: in all lists, or in the last ones."""
    last = learned if window is None else learned[-window:]
    seen = [(json.loads(kept)[: None if hit is None else hit + 1], hit) for kept, hit in last]
    ids = sorted({item for items, _ in seen for item in items})
    clicks = [items[hit] for items, hit in seen if hit is not None]
    arrays: dict[str, Any] = {
        "ids": np.frombuffer(json.dumps(ids).encode(), dtype=np.uint8),
        "observed": np.array([float(sum(item in items for items, _ in seen)) for item in ids]),
        "clicked": np.array([float(clicks.count(item)) for item in ids]),
        "n_updates": np.array(len(learned)),
    }
    if window is not None:
        longest = max((len(items) for items, _ in seen), default=0)
        padded = [[ids.index(item) for item in items] + [-1] * (longest - len(items)) for items, _ in seen]
        arrays["window"] = np.array(padded, dtype=np.int64)
        arrays["hits"] = np.array([-1 if hit is None else hit for _, hit in seen], dtype=np.int64)
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.fixture(autouse=True)
def _any_users_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.service.prior_refresh.FIRST_USERS", 1)


class History:
    """Runs operations on an engine and keeps, apart from it, what each state should have learned."""

    def __init__(self, place: str, room: int) -> None:
        self.place, self.room = place, room
        self.clock = FakeClock()
        self.engine = open_engine(place, self.clock, room=room)
        self.other: Quiet | None = None  # a second server on the same store, once it was used
        for n in range(8):
            self.engine.write(PatchItem(f"i{n}", ItemPatch(attributes={"brand": "abc"[n % 3]})))
        for name, words in MODELS.items():
            make_model(self.engine, name, feedback_wait=WAIT, **words)
        self.happened: Counter[str] = Counter()  # what histories are made of
        self.made: dict[str, tuple[Quiet, dict[str, Any]]] = {}  # which server made a list, and what it was told
        self.learned: dict[str, dict[str, list[Any]]] = {name: {} for name in MODELS}
        self.outcomes: dict[str, list[Outcome]] = {}  # those accepted so far, by event
        self.snapshots: list[tuple[str, str, dict[str, list[Any]]]] = []
        self.events: list[Event] = []
        self.told: set[tuple[str, Any]] = set()  # events and what tells an outcome from others there
        self.open: dict[str, tuple[bool, float]] = {}  # event -> shown, end of its wait; gone when answered

    def do(self, operation: tuple[Any, ...]) -> None:
        getattr(self, operation[0])(*operation[1:])

    def rank(self, model: str, user: str, defer: bool, k: int) -> None:
        self.clock.now += 0.01  # ids begin with the time, and feedback that comes together is learned in their order
        said = self._said(model)
        event = self.engine.rank_now(model, user=user, defer_activation=defer, k=k, **said)
        self.events.append(event)
        self.made[event.id] = self.engine, said
        self.open[event.id] = (not defer, event.counted_expires)

    def _said(self, model: str) -> dict[str, Any]:
        """What requests say beside who asks: something else each time, now and then nothing."""
        n = len(self.events)
        if "context" not in MODELS[model]:
            return {} if n % 3 else {"rules": RULES}
        if n % 7 == 0:
            return {}
        context = {"hour": float(n % 24), "device": ("tv", "web", "watch")[n % 3]}
        if n % 2:
            return {"context": context}
        ids = list(self.engine.catalog.ids)
        candidates = [Candidate(item, {"match": float((n + i) % 5)} if i % 2 else {}) for i, item in enumerate(ids)]
        return {"context": context, "candidates": candidates}

    def feedback(self, which: list[tuple[int, list[int]]]) -> None:
        if not self.events:
            return
        given = []
        for n, clicks in which:
            event = self.events[n % len(self.events)]
            shown = len(json.loads(event.response)["items"])
            given.append((event, sorted({click % shown for click in clicks})))
        results = self.engine.feed_now(*((event.id, [click + 1 for click in clicks]) for event, clicks in given))
        accepted = []
        for (event, clicks), fed in zip(given, results, strict=True):
            if event.id in self.open and self.clock.moment().counted <= self.open[event.id][1]:
                assert fed.result == "accepted"
                del self.open[event.id]
                accepted.append((event, clicks))
            elif event.id in self.open:
                assert fed.result == "late"
            else:
                assert fed.result in ("duplicate", "late", "unknown")
        for event, clicks in sorted(accepted, key=lambda one: one[0].id):
            self._learn(event, clicks)

    def _learn(self, event: Event, clicks: list[int]) -> None:
        assert event.features is not None
        lesson: Any = (event.features, clicks[0] if clicks else None)
        if "rewards" in MODELS[event.model]:
            lesson = (event.features, clicks, list(self.outcomes.get(event.id, [])), None)
        known = self.learned[event.model].setdefault(event.owner, [])
        known.append(lesson)
        (server, request), words = self.made[event.id], MODELS[event.model]
        self.happened.update(
            name
            for name, here in {
                "learned at all": True,
                "a click was learned": bool(clicks),
                "learned in context": request.get("context"),
                "learned with features of the request": "context" in words and request.get("candidates"),
                "learned under rules of the request": request.get("rules"),
                "learned under rules of the model": words.get("rules"),
                "an outcome before the clicks": lesson[-1] is None and len(lesson) == 4 and lesson[2],
                "something left the window": "forgetting" in words and len(known) > words["forgetting"]["window"],
                "learned of a list that another server made": server is not self.engine and server is self.other,
                "learned after a prior": any(isinstance(each, Prior) for each in known),
            }.items()
            if here
        )

    def visit(self, model: str, user: str, clicks: list[int]) -> None:
        """A list, and feedback on an earlier one that has none, or on it."""
        self.rank(model, user, defer=False, k=4)
        self.feedback([(next(n for n, event in enumerate(self.events) if event.id in self.open), clicks)])

    def outcome(self, n: int, position: int, kind: str, value: float, name: str | None) -> None:
        """Something comes of a list: before its clicks, with them still to come, or long after."""
        if not self.events:
            return
        event = self.events[n % len(self.events)]
        shown = json.loads(event.response)["items"]
        at = position % len(shown)
        told = {"id": shown[at]["id"], "type": kind, "value": value, "outcome_id": name}
        (fed,) = self.engine.outcome_now(event.id, told)
        if "rewards" not in MODELS[event.model]:
            assert fed.result in ("rejected", "unknown")  # its user may be forgotten
            return
        lists = self.learned[event.model].get(event.owner, [])
        own = [lesson for lesson in lists if not isinstance(lesson, Prior)]
        taught = [lesson for lesson in own if lesson[0] is event.features and lesson[3] is None]
        key = name or (at, kind)
        if fed.result == "accepted":
            assert (event.id, key) not in self.told
            self.told.add((event.id, key))
            self.outcomes.setdefault(event.id, []).append((at, kind, value))
            if event.id in self.open:
                self.open[event.id] = (True, self.open[event.id][1])
            for kept, clicks, _, _ in taught:
                lists.append((kept, clicks, [], (at, kind, value)))
                self.happened["an outcome after the clicks"] += 1
        elif fed.result == "late":
            assert not self.open[event.id][0]
            assert self.open[event.id][1] < self.clock.moment().counted
        else:
            assert fed.result == "unknown" or (fed.result == "duplicate" and (event.id, key) in self.told)

    def activate(self, n: int) -> None:
        if not self.events:
            return
        event = self.events[n % len(self.events)]
        try:
            expires = self.engine.write(Activate(event.id))
        except (ConflictError, NotFoundError):
            assert event.id not in self.open or not self.open[event.id][0]
            return
        if event.id in self.open and not self.open[event.id][0]:
            self.open[event.id] = (True, expires - self.clock.gaps)

    def wait(self, seconds: float) -> None:
        self.engine.pass_time(seconds)
        self.engine.expire()
        silent = [e for e in self.events if e.id in self.open and self.open[e.id][0]]
        for event in sorted(silent, key=lambda event: event.id):
            if self.open[event.id][1] <= self.clock.moment().counted:
                del self.open[event.id]
                self._learn(event, [])
                self.happened["a wait ran out"] += 1

    def put(self, n: int, value: float) -> None:
        self.engine.put(f"i{n}", {"x": value, "y": 1 - value}, [value, 0.5])

    def patch(self, n: int, value: float) -> None:
        if f"i{n}" in self.engine.catalog:  # type: ignore[operator]
            self.engine.write(PatchItem(f"i{n}", ItemPatch(coverage={"x": value})))

    def delete(self, n: int) -> None:
        self.engine.write(PutItems(None, (f"i{n}",)))

    def change(self, model: str, gamma: float, blocked: int) -> None:
        changes: dict[str, Any] = {"blocked": [f"i{blocked}"], "policy": ALIKE[model][blocked % len(ALIKE[model])]}
        if "policy" not in MODELS[model]:
            changes["gamma"] = gamma
        changed(self.engine.model(model).settings, changes, small_catalog())  # nothing is wrong with it
        patch(self.engine, model, **changes)

    def reset(self, model: str) -> None:
        self.engine.write(Reset(model))
        self.happened["what was learned was reset"] += any(self.learned[model].values())
        self.learned[model] = {}

    def snapshot(self, model: str) -> None:
        if MODELS[model]["scope"] == "global":
            self.engine.view_now(model)
        made = self.engine.write(TakeSnapshot(model))
        self.snapshots.append((model, made.id, {key: list(known) for key, known in self.learned[model].items()}))

    def restore(self, n: int) -> None:
        if self.snapshots:
            model, name, known = self.snapshots[n % len(self.snapshots)]
            found = self.engine.find_snapshot(model, name)
            self.engine.write(Restore(found))
            self.happened["something else was restored"] += known != self.learned[model]
            self.learned[model] = {key: list(lists) for key, lists in known.items()}

    def forget(self, user: str) -> None:
        self.engine.write(ForgetUser(user))
        own = [model for model, words in MODELS.items() if words["scope"] == "user"]
        for known in [*map(self.learned.get, own), *(known for model, _, known in self.snapshots if model in own)]:
            assert known is not None
            self.happened["who was forgotten had taught"] += any(
                not isinstance(lesson, Prior) for lesson in known.get(user, [])
            )
            known[user] = [lesson for lesson in known.get(user, []) if isinstance(lesson, Prior)]
        for event in self.events:
            if event.model in own and event.owner == user:
                self.open.pop(event.id, None)

    def refresh(self, model: str, elsewhere: bool) -> None:
        """Users start from a prior learned from all, here or on another server."""
        engine = open_engine(self.place, self.clock, room=self.room) if elsewhere else self.engine
        try:
            keep = refreshed(engine.reader, engine.model(model), engine.state.mark)
            if keep is None:
                assert all(isinstance(lesson, Prior) for lists in self.learned[model].values() for lesson in lists)
                return
            assert engine.write(keep)
            assert not self.engine.write(keep)  # who comes second has learned from less
        finally:
            if elsewhere:
                engine.crash()
        self.engine.fold()
        self.happened["a prior was learned " + ("elsewhere" if elsewhere else "here")] += 1
        for user in USERS:
            self.learned[model].setdefault(user, []).append(decode_prior(keep.prior.prior))

    def switch(self) -> None:
        """The other server takes what comes next; it has not looked at the store since it was last here."""
        if self.other is None:
            self.other = open_engine(self.place, self.clock, room=self.room)
        self.engine, self.other = self.other, self.engine
        self.engine.fold()

    def close(self) -> None:
        """Both servers are killed."""
        self.engine.crash()
        if self.other is not None:
            self.other.crash()

    def restart(self, how: str, shift: float) -> None:
        if self.other is not None:
            self.other.crash()
            self.other = None
        self.happened[f"a {how}"] += 1
        if how == "stop":
            self.engine.stop()
        elif how == "checkpoint":
            self.engine.checkpoint()
            self.engine.crash()
        else:
            self.engine.crash()
        self.clock = FakeClock(self.clock.now + shift)
        self.engine = open_engine(self.place, self.clock, room=self.room)

    def states(self, engine: Quiet) -> dict[str, dict[str, bytes]]:
        return {
            f"{model} {key}": arrays(engine, model, key)
            for model, words in MODELS.items()
            for key in ([""] if words["scope"] == "global" else USERS)
        }

    def expected(self) -> dict[str, dict[str, bytes]]:
        return {
            f"{model} {key}": state_of(model, self.learned[model].get(key, []))
            for model, words in MODELS.items()
            for key in ([""] if words["scope"] == "global" else USERS)
        }

    def check(self) -> None:
        expected = self.expected()
        assert self.states(self.engine) == expected
        if self.other is not None:
            self.other.fold()
            assert self.states(self.other) == expected
        other = open_engine(self.place, self.clock, room=self.room)  # a second server on the same store
        try:
            assert self.states(other) == expected
        finally:
            other.crash()


@st.composite
def _operations(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Of few models and two users, so that there is something to learn of each."""
    few = draw(st.lists(st.sampled_from(sorted(MODELS)), min_size=1, max_size=3, unique=True))
    models, users, some = st.sampled_from(few), st.sampled_from(USERS[:2]), st.integers(0, 40)
    together = st.sampled_from([name for name in few if name in TOGETHER] or TOGETHER)
    unit = st.integers(0, 10).map(lambda n: n / 10)
    values, names = st.sampled_from([1.0, 2.0, 0.1]), st.sampled_from([None, None, "order 7", "order 8"])
    answers = st.lists(st.tuples(some, st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=3)
    shift = st.sampled_from([0.0, 0.0, -86_400.0, 100_000.0])
    kinds: dict[str, tuple[int, list[st.SearchStrategy[Any]]]] = {  # how often, and what of
        "visit": (12, [models, users, st.lists(st.integers(0, 3), max_size=2)]),
        "rank": (6, [models, users, st.booleans(), st.integers(1, 4)]),
        "feedback": (3, [answers]),
        "outcome": (9, [some, st.integers(0, 3), st.sampled_from(TYPES), values, names]),
        "switch": (3, []),
        "refresh": (2, [together, st.booleans()]),
        "activate": (1, [some]),
        "wait": (1, [st.sampled_from([1.0, WAIT / 2, WAIT + 1])]),
        "put": (1, [st.integers(0, 10), unit]),
        "patch": (1, [st.integers(0, 10), unit]),
        "delete": (1, [st.integers(0, 3)]),
        "change": (1, [models, unit, st.integers(0, 5)]),
        "reset": (1, [models]),
        "snapshot": (2, [models]),
        "restore": (1, [st.integers(0, 3)]),
        "forget": (1, [users]),
        "restart": (3, [st.sampled_from(["stop", "checkpoint", "crash"]), shift]),
    }
    # Names and not strategies: one_of looks at each strategy once, however often it is given.
    named = st.sampled_from([name for name, (often, _) in kinds.items() for _ in range(often)])
    some_of_them = draw(st.lists(named, min_size=20, max_size=50))
    return [(name, *(draw(what) for what in kinds[name][1])) for name in some_of_them]


def many_visits(seed: int, length: int = 100) -> list[tuple[Any, ...]]:
    """Operations on models whose users start together: mostly lists with feedback, so that there is much to learn."""
    rng = np.random.default_rng(seed)

    def one_of(*among: Any) -> Any:
        return among[rng.integers(len(among))]

    def clicks() -> list[int]:
        return [int(click) for click in rng.integers(0, 4, rng.integers(0, 3))]

    made: dict[str, tuple[float, Callable[[], tuple[Any, ...]]]] = {
        "visit": (40, lambda: (one_of(*TOGETHER), one_of(*USERS[:3]), clicks())),
        "outcome": (18, lambda: (int(rng.integers(40)), int(rng.integers(4)), one_of(*TYPES), one_of(1.0, 0.1), None)),
        "refresh": (12, lambda: (one_of(*TOGETHER), one_of(True, False))),
        "rank": (8, lambda: (one_of(*TOGETHER), one_of(*USERS), False, 4)),
        "snapshot": (6, lambda: (one_of(*TOGETHER),)),
        "restore": (5, lambda: (-1 - int(rng.integers(2)),)),
        "restart": (6, lambda: (one_of("stop", "checkpoint", "crash"), 0.0)),
        "wait": (2, lambda: (one_of(1.0, WAIT + 1),)),
        "change": (2, lambda: (one_of(*TOGETHER), 0.5, int(rng.integers(6)))),
        "put": (2, lambda: (int(rng.integers(11)), 0.3)),
        "forget": (2, lambda: (one_of(*USERS),)),
        "reset": (1, lambda: (one_of(*TOGETHER),)),
        "check": (5, tuple),
    }
    weights = np.array([weight for weight, _ in made.values()])
    return [(name, *made[name][1]()) for name in rng.choice(list(made), length, p=weights / weights.sum()).tolist()]


def run_history(place: str, operations: list[tuple[Any, ...]], room: int) -> History:
    """A history whose states were those of its answers; both its servers are gone."""
    history = History(place, room)
    try:
        for operation in operations:
            history.do(operation)
        history.check()
        return history
    finally:
        history.close()


RELAXED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


def histories(examples: int, **options: Any) -> Any:
    def decorate(test: Any) -> Any:
        return settings(max_examples=examples, suppress_health_check=RELAXED, **options)(
            given(operations=_operations(), room=st.sampled_from([1, 2, 100]))(test)
        )

    return decorate


def check_history(folders: Iterator[int], tmp_path: Path, operations: list[tuple[Any, ...]], room: int) -> None:
    run_history(str(tmp_path / f"{next(folders)}"), operations, room)


FOLDERS = count()


@histories(75)
def test_any_history_gives_the_state_of_its_answers(
    tmp_path: Path, operations: list[tuple[Any, ...]], room: int
) -> None:
    check_history(FOLDERS, tmp_path, operations, room)


KINDS = {
    *("learned at all", "a click was learned", "an outcome before the clicks", "an outcome after the clicks"),
    *("learned in context", "learned with features of the request"),
    *("learned under rules of the request", "learned under rules of the model"),
    *("learned after a prior", "a prior was learned here", "a prior was learned elsewhere"),
    *("something left the window", "who was forgotten had taught", "learned of a list that another server made"),
    *("a wait ran out", "what was learned was reset", "something else was restored"),
    *("a stop", "a checkpoint", "a crash"),
}
"""What histories must have, or their tests say little."""


def test_everything_happens_in_such_histories(tmp_path: Path) -> None:
    """In histories that are always the same, each of the things that can happen does."""
    happened: Counter[str] = Counter()

    @histories(75, derandomize=True, database=None, phases=[Phase.generate])
    def run(operations: list[tuple[Any, ...]], room: int) -> None:
        history = run_history(str(tmp_path / f"{next(FOLDERS)}"), operations, room)
        assert history.happened.keys() <= KINDS
        happened.update(name for name, times in history.happened.items() if times)

    run()
    assert {name: happened[name] for name in KINDS if not happened[name]} == {}


@pytest.mark.parametrize("seed", range(16))
def test_any_history_of_users_who_start_together_gives_the_state_of_its_answers(place: str, seed: int) -> None:
    run_history(place, many_visits(seed), room=(1, 2, 100)[seed % 3])


@pytest.mark.soak
@histories(2000)
def test_any_history_gives_the_state_of_its_answers_at_length(
    tmp_path: Path, operations: list[tuple[Any, ...]], room: int
) -> None:
    check_history(FOLDERS, tmp_path, operations, room)


@histories(25)
def test_any_history_is_in_its_export(tmp_path: Path, operations: list[tuple[Any, ...]], room: int) -> None:
    """By the code of docs/logs.md, which is for models that were never reset."""
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
    words: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], words)
    folder = tmp_path / f"{next(FOLDERS)}"
    history = History(str(folder), room)
    try:
        for operation in operations:
            if operation[0] not in ("reset", "restore"):
                history.do(operation)
        export(history.engine.store, folder)
        named = [(model, user) for model in ("valued", "in context", *TOGETHER) for user in USERS]
        for model, user in [*named, ("valued in context", "")]:
            if any(not isinstance(lesson, Prior) for lesson in history.learned[model].get(user, [])):
                declared = MODELS[model].get("rewards"), MODELS[model].get("context")
                known = words["learned"](folder, model, user, *declared)
                assert {name: one.tobytes() for name, one in known.items()} == arrays(history.engine, model, user)
    finally:
        history.close()


@histories(12)
def test_both_databases_give_the_same_state(
    tmp_path: Path, postgres: Any, operations: list[tuple[Any, ...]], room: int
) -> None:
    url = postgres.fresh()
    try:
        apart = run_history(str(tmp_path / f"{next(FOLDERS)}"), operations, room).expected()
        assert run_history(url, operations, room).expected() == apart
    finally:
        postgres.drop(url)
