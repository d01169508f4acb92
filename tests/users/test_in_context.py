"""Users whose preferences depend on the context."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from rankfall import (
    CascadeHybrid,
    CascadeUCB1,
    Catalog,
    Category,
    Context,
    Hour,
    Number,
    ProblemError,
    Weekday,
    simulate,
)
from rankfall.users import Cascade, InContext, PerItem, User, check_environment, moved_tastes, situations_of


def users(*attractions: list[float]) -> list[User]:
    return [User(PerItem(one), Cascade()) for one in attractions]


def test_situations_come_by_their_shares_and_the_seed() -> None:
    one, other = users([0.8, 0.2, 0.1], [0.0, 0.6, 0.3])
    user = InContext([({"hour": 1}, one), ({"hour": 2}, other)], shares=[1, 3], seed=4)
    drawn = [user.situation_at(step) for step in range(10_000)]
    assert Counter(drawn)[1] / 10_000 == pytest.approx(0.75, abs=0.02)
    again = InContext([({"hour": 1}, one), ({"hour": 2}, other)], shares=[1, 3], seed=4)
    assert [again.situation_at(step) for step in (9_999, 0, 5_000)] == [drawn[9_999], drawn[0], drawn[5_000]]
    for step in range(20):
        assert user.at(step) is (one, other)[drawn[step]]
        assert user.context_at(step) == {"hour": 1 + drawn[step]}
    check_environment(user, k=2, trials=2000)
    assert repr(user) == "InContext(2 situations, seed=4)"


@pytest.mark.parametrize(
    ("situations", "more", "said"),
    [
        ([], {}, "at least one"),
        ([({}, "nobody")], {}, "must be environments, got 'nobody'"),
        ([({}, users([0.1])[0]), ({}, users([0.1, 0.2])[0])], {}, "same number of items, got 1 and 2"),
        ([({}, users([0.1])[0])], {"shares": [1, 2]}, "one number from 0 on for each of 1"),
        ([({}, users([0.1])[0])], {"shares": [-1]}, "one number from 0 on"),
        ([({}, users([0.1])[0])], {"seed": -1}, "seed must be a whole number"),
    ],
)
def test_situations_that_make_no_sense(situations: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        InContext(situations, **more)


def test_regret_is_against_the_best_list_of_each_situation() -> None:
    one, other = users([0.8, 0.2, 0.1], [0.0, 0.6, 0.3])
    user = InContext([({}, one), ({}, other)], seed=1)

    class Fixed(CascadeUCB1):
        def choose(self, request: Any, rng: np.random.Generator) -> Any:
            return super().choose(request, rng).replace(items=[0])

    run = simulate(Fixed(3), user, 50, 1, checkpoints=range(1, 51))
    regret = [(0.0, 0.6)[user.situation_at(step)] for step in range(50)]
    np.testing.assert_allclose(run.regret, np.cumsum(regret))
    assert run.best == pytest.approx(np.mean([(0.8, 0.6)[user.situation_at(step)] for step in range(50)]))


def test_a_policy_is_told_what_it_declared_and_learns_by_it() -> None:
    rng = np.random.default_rng(0)
    relevance = np.eye(6)
    one, other = users([0.6, 0.1, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.6])
    user = InContext([({"device": "tv", "hour": 3}, one), ({"device": "phone", "hour": 4}, other)])
    seen = []

    class Spy(CascadeHybrid):
        def rank(self, *args: Any, **named: Any) -> Any:
            seen.append(named.get("context"))
            return super().rank(*args, **named)

    catalog = Catalog(rng.random((6, 2)), relevance)
    told = Spy(catalog, gamma=0.2, context={"device": Category(["tv", "phone"])})
    learned = simulate(told, user, 600, 1, seed=1)
    assert seen[:50] == [{"device": user.context_at(step)["device"]} for step in range(50)]
    plain = simulate(CascadeHybrid(catalog, gamma=0.2), user, 600, 1, seed=1)
    assert learned.regret[-1] < 0.7 * plain.regret[-1]


def test_every_combination_is_a_situation() -> None:
    context = Context(
        {"device": Category(["tv", "phone"]), "hour": Hour(), "day": Weekday(), "age": Number(centre=40, scale=10)}
    )
    found = situations_of(context, hours=4)
    assert len(found) == 2 * 4 * 7 * 3
    assert len({tuple(one.items()) for one in found}) == len(found)
    assert {one["hour"] for one in found} == {0, 6, 12, 18}
    assert {one["age"] for one in found} == {30, 40, 50}
    for one in found:
        context.encode(one)
    with pytest.raises(ProblemError, match="more than 2,000 situations"):
        situations_of(context, hours=100)


@pytest.mark.parametrize("matters", [0.0, 0.4, 1.0])
def test_tastes_are_linear_in_the_numbers_of_a_context(matters: float) -> None:
    """So that a policy that crosses its columns with them can learn them all."""
    rng = np.random.default_rng(3)
    context = Context({"device": Category(["tv", "phone", "web"]), "hour": Hour(), "age": Number(centre=40, scale=10)})
    own, others = rng.normal(size=5), rng.normal(size=(9, 5))
    situations = situations_of(context)
    moved = moved_tastes(own, others, context, situations, matters, seed=1)
    numbers = np.array([context.encode(one) for one in situations])
    fitted = np.linalg.lstsq(numbers, moved, rcond=None)[0]
    np.testing.assert_allclose(numbers @ fitted, moved, atol=1e-12)
    apart = np.ptp(moved, axis=0).max()
    assert (apart == 0.0) == (matters == 0.0)
    if matters == 0.0:
        np.testing.assert_allclose(moved[0], own)
    with pytest.raises(ProblemError, match="only 1; make more users"):
        moved_tastes(own, others[:1], context, situations)
