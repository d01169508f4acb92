"""The list made on vectors against every item scored by itself, one after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_by_one import one_by_one

from rankfall.kernels import greedy
from rankfall.kernels.item_scores import Items, items_of
from rankfall.kernels.item_vectors import vectors_of
from rankfall.kernels.linear_bounds import new_bounds
from rankfall.kernels.ridge import State, learn, new_state

KINDS = [(coverage, relevance) for coverage in (False, True) for relevance in (False, True)]


def a_problem(
    seed: int, n: int, d: int, m: int, share: float, lists: int, kind: tuple[bool, bool]
) -> tuple[Items, State]:
    """Items with duplicates, with few and with many topics, and a model that has learned from some lists."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, d)) * (rng.random((n, d)) < share)
    z = rng.normal(size=(n, m))
    if seed % 3 == 0:
        x, z = np.round(x, 1), np.round(z, 1)
    x[3::4], z[3::4] = x[: len(x[3::4])], z[: len(z[3::4])]
    items, state = items_of(x, z, *kind), new_state(d + m)
    gain = np.empty(d + m)
    for _ in range(lists):
        features = rng.random((4, d + m)) * (rng.random((4, d + m)) < 0.5)
        learn(state, features, (rng.random(4) < 0.4).astype(float), 4, gain)
    return items, state


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_list_is_the_one_that_scoring_every_item_gives(kind: tuple[bool, bool], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 60), "items")
    d, m = data.draw(st.sampled_from([(0, 4), (5, 0), (6, 3), (12, 9), (3, 1)]), "columns")
    share = data.draw(st.sampled_from([0.1, 0.4, 1.0]), "share of topics")
    lists = data.draw(st.sampled_from([0, 1, 30]), "lists learned from")
    gamma = data.draw(st.sampled_from([0.0, 0.3, 5.0]), "gamma")
    items, state = a_problem(data.draw(st.integers(0, 10_000), "seed"), n, d, m, share, lists, kind)
    rows = np.array(data.draw(st.sets(st.integers(0, n - 1), min_size=1).map(sorted), "laid out"))
    blocked = np.array(data.draw(st.sets(st.integers(0, len(rows) - 1)).map(sorted), "blocked"), dtype=np.int64)
    allowed = np.delete(rows, blocked).tolist()
    k = data.draw(st.integers(1, max(1, min(12, len(allowed)))), "k")
    fixed = {}
    for position in range(k):
        free = [row for row in range(n) if row not in allowed and row not in fixed.values()]
        if free and (not allowed or data.draw(st.booleans(), "pinned")):
            fixed[position] = data.draw(st.sampled_from(free), "pin")
    if not allowed and len(fixed) < k:
        return
    out = np.array([fixed.get(position, -1) for position in range(k)])
    features, means, widths = np.empty((k, d + m)), np.empty(k), np.empty(k)
    vectors = vectors_of(items, rows)
    room, bounds = greedy.new_room(items, vectors, d + m, k), new_bounds(vectors)
    greedy.rank_in(room, items, vectors, blocked, state, gamma, bounds, out, features, means, widths)
    expected = one_by_one(items, state, gamma, allowed, fixed, k)
    assert (out.tolist(), means.tolist(), widths.tolist()) == expected[:3]
    assert features.tobytes() == expected[3].tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.05, 1.0])
def test_many_items_in_many_blocks(kind: tuple[bool, bool], share: float) -> None:
    items, state = a_problem(1, 1300, 9, 6, share, 40, kind)
    k, rows = 8, np.arange(1300)
    out, features, means, widths = np.full(k, -1), np.empty((k, 15)), np.empty(k), np.empty(k)
    vectors = vectors_of(items, rows)
    room, bounds = greedy.new_room(items, vectors, 15, k), new_bounds(vectors)
    scored = greedy.rank_in(room, items, vectors, rows[:0], state, 1.0, bounds, out, features, means, widths)
    expected = one_by_one(items, state, 1.0, rows.tolist(), {}, k)
    assert (out.tolist(), means.tolist(), widths.tolist()) == expected[:3]
    assert features.tobytes() == expected[3].tobytes()
    assert scored < 10 * k  # of 1,300 items at each position, few are scored one by one


def test_a_given_list_is_described_as_it_stands() -> None:
    items, state = a_problem(2, 30, 5, 4, 0.4, 20, (True, False))
    out = np.array([7, 3, 29, 0])
    features, means, widths = np.empty((4, 9)), np.empty(4), np.empty(4)
    greedy.describe(items, state, out, features, means, widths)
    expected = one_by_one(items, state, 1.0, [], dict(enumerate(out.tolist())), 4)
    assert (means.tolist(), widths.tolist()) == expected[1:3]
    assert features.tobytes() == expected[3].tobytes()
