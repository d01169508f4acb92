"""Runs operations on an engine and keeps, apart from it, what each state should have learned."""

import json
from collections import Counter
from typing import Any

from engines import WAIT, FakeClock, Quiet, arrays, make_model, open_engine, patch, small_catalog

from histories.expected_states import Outcome, state_of
from histories.models import ALIKE, MODELS, RULES, USERS
from rankfall.errors import ConflictError, NotFoundError
from rankfall.journal.priors import decode_prior
from rankfall.policies.linear.prior import Prior
from rankfall.service.commands import Activate, ForgetUser, PatchItem, PutItems, Reset, Restore, TakeSnapshot
from rankfall.service.prior_refresh import refreshed
from rankfall.service.template import changed
from rankfall.stores import Event
from rankfall.wire import Candidate, ItemPatch


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
