"""Whose list is shown: modes, control group, pins, lists drawn at random, and baselines."""

import json
import math
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from engines import Quiet, answer, arrays, batch, items_of, make_model, open_engine, patch

from rankfall import Catalog, RankError
from rankfall.journal.catalogs import encode_catalog
from rankfall.policies import LinearPolicy
from rankfall.service.commands import PutItems
from rankfall.service.ranking import in_control
from rankfall.wire import RankRequest


def test_modes(engine: Quiet) -> None:
    make_model(engine)
    baseline = ["i5", "i3", "i1"]
    patch(engine, mode="apprentice")
    taught = engine.rank_now(baseline=baseline)
    assert (taught.arm, items_of(taught), taught.learn) == ("baseline", baseline, True)
    answer(engine, taught, "i3")
    assert taught.features is not None
    assert arrays(engine) == batch([(taught.features, 1)])
    patch(engine, mode="logging_only")
    logged = engine.rank_now(baseline=baseline)
    assert (logged.arm, items_of(logged), logged.learn, logged.features) == ("baseline", baseline, False, None)
    assert answer(engine, logged, 1) == "accepted"
    assert items_of(engine.rank_now()) == ["i0", "i1", "i2"]  # no baseline: the catalog's own order
    assert arrays(engine) == batch([(taught.features, 1)])
    patch(engine, mode="online")
    assert engine.rank_now(baseline=baseline).arm == "policy"
    assert engine.model("default").history.counts.counts == {"baseline": [2, 2, 0]}


def test_the_control_group_is_sticky_and_of_the_size_asked_for(engine: Quiet) -> None:
    make_model(engine, control=0.3)
    model = engine.model("default")
    users = [f"user {n}" for n in range(4000)]
    inside = [user for user in users if in_control(model, user)]
    spread = math.sqrt(len(users) * 0.3 * 0.7)
    assert abs(len(inside) - 0.3 * len(users)) < 5 * spread
    outside = next(user for user in users if user not in inside)
    for _ in range(3):
        event = engine.rank_now(user=inside[0], baseline=["i7", "i6"])
        assert (event.arm, items_of(event), event.learn) == ("control", ["i7", "i6"], False)
        assert engine.rank_now(user=outside).arm == "policy"
    patch(engine, control=1.0)
    assert engine.rank_now().arm == "control"
    patch(engine, control=0.6)
    assert all(in_control(model, user) for user in inside)  # a larger group keeps those who were in it
    patch(engine, control=0.0)
    assert engine.rank_now(user=inside[0]).arm == "policy"


def test_control_lists_without_a_baseline_are_drawn_at_random_and_counted_only(engine: Quiet) -> None:
    make_model(engine, control=1.0, blocked=["i5"])
    model = engine.model("default")
    model.rng = np.random.default_rng(4)  # a service starts with fresh entropy
    before = arrays(engine)
    event = engine.rank_now(user="anna")
    assert (event.arm, event.learn, event.features) == ("control", False, None)
    assert json.loads(event.response)["policy"] == "random"
    assert event.propensity == pytest.approx(1 / (7 * 6 * 5))
    chances = json.loads(event.request or "")["chances"]
    assert chances["given_above"] == pytest.approx([1 / 7, 1 / 6, 1 / 5])
    assert chances["at_position"] == pytest.approx([1 / 7] * 3)
    assert answer(engine, event, 1) == "accepted"
    assert arrays(engine) == before
    assert model.history.counts.counts == {"control": [1, 1, 0]}
    drawn = [items_of(engine.make(model, engine.view_now(), RankRequest(k=2, exclude=["i0"]))) for _ in range(6000)]
    pairs = Counter(map(tuple, drawn))
    assert set(pairs) == set(permutations(["i1", "i2", "i3", "i4", "i6", "i7"], 2))
    # Pearson's statistic of 30 pairs that are equally likely: 29 on average, above 58.3 in one case of 1,000
    assert sum((count - 200) ** 2 / 200 for count in pairs.values()) < 58.3
    candidates = engine.rank_now(candidates=["i6", "i2", "i4"], k=2)
    assert items_of(candidates) == ["i6", "i2"]  # an order of the caller's
    assert json.loads(candidates.response)["policy"] == "baseline"
    assert candidates.propensity is None


def test_pinned_and_blocked(engine: Quiet) -> None:
    make_model(engine)
    usual = items_of(engine.rank_now())
    patch(engine, pinned=[{"id": "i7", "position": 2}, {"id": "gone", "position": 1}, {"id": "i6", "position": 9}])
    pinned = items_of(engine.rank_now())
    assert pinned[1] == "i7"
    assert len(set(pinned)) == 3
    assert "i7" not in items_of(engine.rank_now(exclude=["i7"]))
    assert items_of(engine.rank_now(k=1)) == usual[:1]
    patch(engine, pinned=[], blocked=[usual[0], "gone"])
    assert usual[0] not in items_of(engine.rank_now(k=8))
    assert len(items_of(engine.rank_now(k=8))) == 7
    event = engine.rank_now(candidates=[usual[0], "i7"])
    assert items_of(event) == ["i7"]
    assert json.loads(event.response)["unknown"] == [usual[0]]
    with pytest.raises(RankError, match="nothing may be shown"):
        engine.rank_now(candidates=[usual[0]])
    patch(engine, blocked=[])
    assert items_of(engine.rank_now()) == usual


@pytest.mark.parametrize("pins", [[], [{"id": "i2", "position": 2}]])
def test_propensities_sum_to_one(engine: Quiet, pins: list[dict[str, Any]]) -> None:
    make_model(engine, randomize=0.6, pinned=pins)
    chances: dict[tuple[str, ...], float] = {}
    by_position = {}
    pool = ["i0", "i1", "i2", "i3"]
    possible = [order for order in permutations(pool, 2) if not pins or order[1] == "i2"]
    for _ in range(5000):  # far more than are needed to draw every list
        event = engine.make(engine.model("default"), engine.view_now(), RankRequest(k=2, candidates=pool))
        assert event.propensity is not None
        assert chances.setdefault(tuple(items_of(event)), event.propensity) == event.propensity
        by_position[tuple(items_of(event))] = json.loads(event.request or "")["chances"]
        if len(chances) == len(possible):
            break
    assert set(chances) == set(possible)
    assert sum(chances.values()) == pytest.approx(1.0)
    for shown, said in by_position.items():
        top = sum(chance for other, chance in chances.items() if other[0] == shown[0])
        second = sum(chance for other, chance in chances.items() if other[1] == shown[1])
        assert said["given_above"] == pytest.approx([top, chances[shown] / top])
        assert said["at_position"] == pytest.approx([top, second])


def test_long_lists_drawn_at_random_are_the_policys(place: str) -> None:
    """There are more lists of 200 out of 400 than a float can count."""
    engine = open_engine(place)
    try:
        engine.write(PutItems(encode_catalog(_many(400))))
        make_model(engine, randomize=1.0)
        event = engine.rank_now(k=200)
        assert event.arm == "policy"
        assert event.propensity == 0.0
        assert answer(engine, event, 3) == "accepted"
    finally:
        engine.stop()


def _many(items: int) -> Any:

    rng = np.random.default_rng(0)
    ids = [f"more {n}" for n in range(items)]
    return Catalog(rng.random((items, 2)), rng.random((items, 2)), ids=ids, topics=["x", "y"])


def test_a_policy_that_fails_gives_the_baseline(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[str, str]] = []
    engine = open_engine(place, on_fallback=lambda model, reason: counted.append((model, reason)))
    try:
        make_model(engine)

        def fail(*args: Any, **options: Any) -> None:
            raise FloatingPointError("made to fail")

        with monkeypatch.context() as patched:
            patched.setattr(LinearPolicy, "rank", fail)
            event = engine.rank_now(baseline=["i4", "i2"])
            assert items_of(engine.rank_now()) == ["i0", "i1", "i2"]
        assert (event.arm, items_of(event), event.learn) == ("fallback", ["i4", "i2"], False)
        assert counted == [("default", "FloatingPointError")] * 2
        assert answer(engine, event, 1) == "accepted"
        assert arrays(engine) == batch([])
        assert engine.rank_now().arm == "policy"
    finally:
        engine.stop()
