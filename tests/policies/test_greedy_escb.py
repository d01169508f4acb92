"""GreedyESCB: its lists against all lists, its counts, and that a bonus for the whole list is the smaller one."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import DocumentBased, GreedyESCB, PerItem, User, check_policy, simulate
from rankfall.kernels import set_bonus

tables = st.integers(2, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 30), min_size=n, max_size=n),
        st.lists(st.floats(0, 1), min_size=n, max_size=n),
        st.integers(1, n),
        st.floats(0, 5),
    )
)


def value(some: tuple[int, ...], observed: np.ndarray, clicked: np.ndarray, budget: float) -> tuple[float, float]:
    """L and F of a list, as the docstring has them."""
    chosen = list(some)
    return float((clicked / observed)[chosen].sum()), math.sqrt(sum(budget / observed[e] for e in chosen))


@given(tables)
def test_the_greedy_list_takes_what_adds_most_and_keeps_its_promise(
    table: tuple[list[int], list[float], int, float],
) -> None:
    observed, k, budget = np.array(table[0], dtype=float), table[2], table[3]
    clicked = observed * np.array(table[1])
    items, scores = np.empty(k, dtype=np.int64), np.empty(k)
    set_bonus.greedy_list(np.arange(len(observed)), observed, clicked, budget, items, scores)
    made: tuple[int, ...] = tuple(items.tolist())
    assert len(set(made)) == k
    for position in range(k):
        before = sum(value(made[:position], observed, clicked, budget))
        gains = {
            e: sum(value((*made[:position], e), observed, clicked, budget)) - before
            for e in range(len(observed))
            if e not in made[:position]
        }
        assert gains[made[position]] == pytest.approx(max(gains.values()), abs=1e-12)
        assert scores[position] == pytest.approx(gains[made[position]], abs=1e-12)
    linear, bonus = value(made, observed, clicked, budget)
    best = max(sum(value(some, observed, clicked, budget)) for some in itertools.combinations(range(len(observed)), k))
    assert linear + 2 * bonus >= best - 1e-12


@given(tables)
def test_after_exchanges_no_exchange_gains(table: tuple[list[int], list[float], int, float]) -> None:
    observed, k, budget = np.array(table[0], dtype=float), table[2], table[3]
    clicked = observed * np.array(table[1])
    everything = np.arange(len(observed))
    items = everything[-k:].copy()
    before = sum(value(tuple(items.tolist()), observed, clicked, budget))
    done = set_bonus.exchange(everything, observed, clicked, budget, 1e-4, items)
    after = sum(value(tuple(items.tolist()), observed, clicked, budget))
    assert after >= before + 1e-4 * done - 1e-12
    for position, e in itertools.product(range(k), everything.tolist()):
        other = items.tolist()
        if e not in other:
            other[position] = e
            assert sum(value(tuple(other), observed, clicked, budget)) <= after + 1e-4 + 1e-12


def test_exchanges_improve_on_greedy_where_they_can() -> None:
    """Over tables drawn at random no list gets worse, and some get better."""
    rng, better = np.random.default_rng(0), 0
    for _ in range(300):
        greedy, local = GreedyESCB(8, exploration=2.0), GreedyESCB(8, exploration=2.0, exchanges=True)
        observed = rng.integers(1, 20, size=8).astype(float)
        state = {"observed": observed, "clicked": np.floor(observed * rng.random(8)), "n_updates": np.array(50)}
        lists = [policy.with_state(state).rank(3) for policy in (greedy, local)]
        budget = 2.0 * math.log(50)
        values = [sum(value(tuple(one.items.tolist()), observed, state["clicked"], budget)) for one in lists]
        assert values[1] >= values[0] - 1e-12
        assert sum(lists[1].scores) == pytest.approx(values[1])
        better += values[1] > values[0]
    assert better > 0


def test_everything_shown_counts_as_observed() -> None:
    policy = GreedyESCB(5)
    assert policy.rank(2).items.tolist() == [0, 1]
    policy.update(policy.rank(2), [1])
    policy.update(policy.rank(2, exclude=[2]), None)
    assert policy.arrays["observed"].tolist() == [1, 1, 0, 1, 1]
    assert policy.arrays["clicked"].tolist() == [0, 1, 0, 0, 0]
    assert policy.rank(3).items.tolist() == [2, 1, 0]


def test_apart_is_cucb() -> None:
    policy = GreedyESCB(4, bonus="apart", exploration=1.5)
    observed, clicked = np.array([3.0, 10.0, 4.0, 50.0]), np.array([1.0, 5.0, 0.0, 20.0])
    policy = policy.with_state({"observed": observed, "clicked": clicked, "n_updates": np.array(20)})
    bounds = clicked / observed + np.sqrt(1.5 * math.log(20) / observed)
    ranking = policy.rank(4)
    assert ranking.items.tolist() == np.argsort(-bounds).tolist()
    np.testing.assert_allclose(ranking.scores, np.sort(bounds)[::-1])


def test_one_bonus_loses_less_than_many() -> None:
    user = User(PerItem([0.5] * 5 + [0.4] * 25), DocumentBased(), reward="clicks")
    together, apart = (
        np.mean([simulate(GreedyESCB(30, bonus=bonus), user, 2000, 5, seed=seed).regret[-1] for seed in range(5)])
        for bonus in ("together", "apart")
    )
    assert together < 0.8 * apart


def test_it_keeps_the_contract() -> None:
    checked = check_policy(GreedyESCB(6, exchanges=True))
    assert checked.saved
    assert checked.why_not_fixed is not None
    assert checked.why_not_ruled is not None
