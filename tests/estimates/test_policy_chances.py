"""Chances under policies, against lists that they draw and against all lists there are."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rankfall import AtMost, CascadeHybridEpsilon, CascadeHybridTS, CascadeLinUCB, CascadeTS, Catalog
from rankfall.estimates import chances_under, drawn_lists

CATALOG = Catalog(
    coverage=[[0.9, 0.0], [0.0, 0.8], [0.5, 0.5], [0.1, 0.2], [0.7, 0.0]],
    relevance=[[0.1], [0.9], [0.5], [0.3], [0.2]],
    attributes={"brand": ["a", "a", "b", "b", None]},
)
K = 2


def test_of_a_policy_that_never_draws() -> None:
    policy = CascadeLinUCB(CATALOG)
    shown = policy.rank(K).items
    assert chances_under(policy, shown).chances.down_to.tolist() == [[1.0, 1.0]]
    assert chances_under(policy, shown[::-1]).chances.down_to.tolist() == [[0.0, 0.0]]
    assert drawn_lists(policy, K, 100).tolist() == [shown.tolist()]


@pytest.mark.parametrize("request_", [{}, {"exclude": [0]}, {"fixed": {0: 3}}, {"candidates": [0, 1, 4]}])
def test_of_epsilon_lists_exactly(request_: dict[str, object]) -> None:
    policy = CascadeHybridEpsilon(CATALOG, epsilon=0.4)
    policy.update(policy.rank(K, fixed={0: 2, 1: 1}), 0)
    found = {one: chances_under(policy, one, **request_) for one in permutations(range(5), K)}
    drawn = drawn_lists(policy, K, 20_000, np.random.default_rng(0), **request_)
    possible = {tuple(one) for one in drawn.tolist()}
    assert sum(found[one].chances.down_to[0, -1] for one in possible) == pytest.approx(1.0)
    for one in possible:
        chances = found[one].chances
        for place in range(K):
            chance = chances.down_to[0, place]
            share = (drawn[:, : place + 1] == one[: place + 1]).all(axis=1).mean()
            assert share == pytest.approx(chance, abs=5 * np.sqrt(chance * (1 - chance) / 20_000))
            assert chances.at_position is not None
            alone = chances.at_position[0, place]
            assert (drawn[:, place] == one[place]).mean() == pytest.approx(
                alone, abs=5 * np.sqrt(alone * (1 - alone) / 20_000)
            )
        assert not found[one].errors.any()


@pytest.mark.parametrize("policy", [CascadeTS(5), CascadeHybridTS(CATALOG)])
def test_of_thompson_lists_by_counting_with_its_error(policy: CascadeTS | CascadeHybridTS) -> None:
    shown = policy.rank(K, rng=np.random.default_rng(5)).items
    best = drawn_lists(policy, K, 40_000, np.random.default_rng(1))
    truth = np.logical_and.accumulate(best == shown, axis=1).mean(axis=0)
    found = chances_under(policy, shown, 4_000, np.random.default_rng(2))
    assert not found.too_low
    assert (np.abs(found.chances.down_to[0] - truth) < 5 * found.errors).all()
    assert found.errors == pytest.approx(np.sqrt(truth * (1 - truth) / 4_000), rel=0.3)


def test_lists_too_rare_to_be_counted_are_said_to_be() -> None:
    policy = CascadeTS(5)
    for _ in range(200):
        policy.update(policy.rank(1, fixed={0: 3}), None)
    found = chances_under(policy, [3, 0], 500, np.random.default_rng(0))
    assert found.too_low
    assert found.chances.down_to.tolist() == [[10 / 500, 10 / 500]]


def test_epsilon_lists_under_rules_are_counted() -> None:
    policy = CascadeHybridEpsilon(CATALOG, epsilon=1.0)
    rules = [AtMost(n=1, attribute="brand")]
    found = chances_under(policy, [0, 4], 5_000, np.random.default_rng(0), rules=rules)
    assert found.errors.all()
    assert found.chances.down_to[0, 0] == pytest.approx(0.2, abs=5 * found.errors[0])


@pytest.mark.parametrize(
    ("shown", "request_"),
    [
        ([0, 1], {"fixed": {0: 2}}),
        ([0, 1], {"exclude": [0]}),
        ([0, 0], {}),
        ([0, 77], {}),
        ([4, 0], {"candidates": [0, 1]}),
    ],
)
def test_epsilon_lists_that_cannot_be(shown: list[int], request_: dict[str, object]) -> None:
    found = chances_under(CascadeHybridEpsilon(CATALOG, epsilon=0.5), shown, **request_)
    assert found.chances.down_to[0, -1] == 0.0


def test_candidates_may_be_ids() -> None:
    policy = CascadeHybridEpsilon(Catalog(relevance=[[0.1], [0.9], [0.5]], coverage=[[0.1]] * 3, ids=["a", "b", "c"]))
    by_id, by_row = (chances_under(policy, [0, 1], candidates=these).chances for these in (["a", "b"], [0, 1]))
    assert by_id.down_to.tolist() == by_row.down_to.tolist()
