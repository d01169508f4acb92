"""Bounds in single precision: none is below a score, whatever the magnitudes, and lists are those without bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from one_by_one import one_by_one, place, score_of

from rankfall import CascadeHybrid, Catalog
from rankfall.kernels import greedy
from rankfall.kernels.item_scores import Items, items_of
from rankfall.kernels.item_vectors import CHANGES, vectors_of
from rankfall.kernels.linear_bounds import BLOCK, bound_block, bring, new_bounds
from rankfall.kernels.ridge import State, learn, new_state


@njit
def bounds_of(vectors, state, gamma, left, bounds, first, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with the bounds of all items; by how much a score may be above them."""
    _, tolerance = bring(vectors, state.weights, state.covariance, gamma, left, bounds, first, first, True)
    for block in range(len(bounds.top)):
        for i in range(bound_block(bounds.numbers, bounds.line, block, gamma)):
            out[block * BLOCK + i] = bounds.line[0, i]
    return tolerance


def a_state(rng: np.random.Generator, rows: np.ndarray, repeats: int = 1) -> State:
    """A model that has learned from these rows of features, four a list."""
    state, gain = new_state(rows.shape[1]), np.empty(rows.shape[1])
    for _ in range(repeats):
        for low in range(0, len(rows), 4):
            some = rows[low : low + 4]
            learn(state, some, (rng.random(len(some)) < 0.4).astype(float), len(some), gain)
    return state


def check(items: Items, state: State, gamma: float, k: int) -> int:
    """Lists by bounds are those of every item scored; and no score is above its bound. How many scores it took."""
    n, columns = len(items.dense), len(state.weights)
    out, features, means, widths = np.full(k, -1), np.empty((k, columns)), np.empty(k), np.empty(k)
    vectors = vectors_of(items, np.arange(n))
    bounds = new_bounds(vectors)
    room = greedy.new_room(items, vectors, columns, k)
    for times in (0.0, gamma):  # by means alone too, as for weights that were drawn
        out[:] = -1
        scored = greedy.rank_in(room, items, vectors, out[:0], state, times, bounds, out, features, means, widths)
        expected = one_by_one(items, state, times, list(range(n)), {}, k)
        assert (out.tolist(), means.tolist(), widths.tolist()) == expected[:3]
    left, bound = np.ones(columns), np.empty(n)
    for position in range(k):
        tolerance = bounds_of(vectors, state, gamma, left, bounds, position == 0, bound)
        for row in range(n):
            mean, width = score_of(row, items, state, left)
            assert mean + gamma * width <= bound[row] + tolerance
        place(expected[0][position], items, left, features[position])
    return int(scored)


def some_items(rng: np.random.Generator, n: int, d: int, m: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Coverage and relevance, with duplicates."""
    x, z = rng.random((n, d)) * (rng.random((n, d)) < share), rng.normal(size=(n, m))
    x[3::4], z[3::4] = x[: len(x[3::4])], z[: len(z[3::4])]
    return x, z


@pytest.mark.parametrize("coverage_diminishes", [False, True])
@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-42, 1e-20, 1e-6, 1.0, 1e3, 1e6, 1e15, 1e19, 1e30, 1e40, 1e150])
def test_features_of_any_magnitude(scale: float, coverage_diminishes: bool) -> None:
    rng = np.random.default_rng(3)
    x, z = some_items(rng, 150, 6, 5, 0.3)
    state = a_state(rng, rng.normal(size=(40, 11)))
    for relevance in (z * scale, np.where(rng.random(z.shape) < 0.5, z * scale, z)):
        check(items_of(x, relevance, coverage_diminishes, False), state, 1.0, 6)


@pytest.mark.parametrize("scale", [5e-324, 1e-42, 1e-20, 1e-9, 1e9, 1e20, 1e30, 1e40, 1e150])
def test_models_of_any_magnitude(scale: float) -> None:
    """Weights and variances that are tiny or huge, all of them or some."""
    rng = np.random.default_rng(4)
    x, z = some_items(rng, 120, 6, 5, 0.3)
    state = a_state(rng, rng.normal(size=(40, 11)))
    items = items_of(x, z, True, False)
    some = np.where(rng.random(11) < 0.5, scale, 1.0)
    for factor in (np.full(11, scale), some):
        check(items, state._replace(weights=state.weights * factor), 1.0, 5)
        check(items, state._replace(covariance=state.covariance * np.outer(factor, factor)), 1.0, 5)
    check(items, state, scale, 5)


@given(seed=st.integers(0, 10_000), widest=st.sampled_from([2.0, 8.0, 25.0]))
def test_columns_of_different_magnitudes(seed: int, widest: float) -> None:
    rng = np.random.default_rng(seed)
    x, z = some_items(rng, 90, 4, 6, 0.4)
    factor = 10.0 ** rng.uniform(-widest, widest, size=6)
    state = a_state(rng, np.hstack([x, z])[:40] * 0.5)
    units = np.concatenate([np.ones(4), 1.0 / factor])
    covariance = state.covariance * np.outer(units, units)
    exact = state._replace(weights=state.weights * units, covariance=covariance)
    check(items_of(x, z * factor, True, False), exact, 0.7, 6)
    check(items_of(x, z * factor, True, False), state, 0.7, 6)


@pytest.mark.parametrize("apart", [0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_items_that_are_nearly_alike(apart: float, share: float) -> None:
    rng = np.random.default_rng(5)
    x, z = some_items(rng, 6, 5, 4, share)
    rows = rng.integers(6, size=200)
    x = np.clip(x[rows] * (1.0 + apart * rng.normal(size=(200, 5))), 0.0, 1.0)
    z = z[rows] * (1.0 + apart * rng.normal(size=(200, 4)))
    state = a_state(rng, np.hstack([x, z])[:60])
    for kind in ((True, False), (False, False), (True, True)):
        check(items_of(x, z, *kind), state, 1.0, 8)


@pytest.mark.parametrize("size", [1.0, 30.0, 1e3])
def test_a_covariance_that_is_nearly_singular(size: float) -> None:
    """The same item, learned from 100,000 times: its width is far below that of the columns it has."""
    rng = np.random.default_rng(6)
    x, z = some_items(rng, 120, 5, 5, 0.4)
    same = np.concatenate([x[0], z[0]]) * size
    state = a_state(rng, np.tile(same, (40, 1)), repeats=2500)
    x[10:60], z[10:60] = x[0], z[0] * (1.0 + 1e-9 * rng.normal(size=(50, 1)))
    for kind in ((True, False), (False, False)):
        check(items_of(x, z, *kind), state, 1.0, 5)


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf, -1.0, 1e300])
def test_a_matrix_that_is_not_a_covariance_bounds_nothing(broken: float) -> None:
    rng = np.random.default_rng(7)
    x, z = some_items(rng, 80, 4, 3, 0.4)
    items, state = items_of(x, z, True, False), a_state(rng, rng.normal(size=(20, 7)))
    covariance = state.covariance.copy()
    covariance[5, 5] = broken
    vectors = vectors_of(items, np.arange(80))
    assert (
        bounds_of(
            vectors, state._replace(covariance=covariance), 1.0, np.ones(7), new_bounds(vectors), True, np.empty(80)
        )
        == np.inf
    )
    covariance = state.covariance.copy()
    covariance[4, 5] = covariance[5, 4] = 3.0
    assert check(items, state._replace(covariance=covariance), 1.0, 4) == 80 + 79 + 78 + 77


def test_long_lists_add_up_no_more_than_is_allowed_for() -> None:
    """Lists so long that what is carried along starts anew, some of them more than once."""
    rng = np.random.default_rng(8)
    for topics, share in ((6, 0.5), (30, 0.12)):
        x, z = some_items(rng, 300, topics, 4, share)
        x *= 0.3  # so that topics are used up slowly
        state = a_state(rng, rng.normal(size=(60, topics + 4)))
        items = items_of(x, z, True, False)
        vectors = vectors_of(items, np.arange(300))
        assert vectors.first_dense > 0
        assert 70 * vectors.most > 2 * CHANGES
        check(items, state, 1.0, 70)


def test_columns_that_grow_down_the_list() -> None:
    rng = np.random.default_rng(9)
    x, z = some_items(rng, 100, 4, 4, 0.4)
    state = a_state(rng, rng.normal(size=(40, 8)))
    for scale in (1.0, 30.0, 1e3, 1e8):
        check(items_of(x, z * scale, True, True), state, 1.0, 8)


def test_few_are_scored_where_magnitudes_are_ordinary() -> None:
    rng = np.random.default_rng(10)
    x, z = some_items(rng, 1000, 9, 6, 0.2)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    for size in (1e-3, 1.0, 1e3):
        items = items_of(x, z * size, True, False)
        state = a_state(rng, np.hstack([x, z * size])[:200])
        assert check(items, state, 1.0, 10) < 150


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_shortlists_hold_the_winner_among_items_nearly_alike(size: float) -> None:
    rng = np.random.default_rng(11)
    x, z = some_items(rng, 20, 5, 4, 0.4)
    rows = rng.integers(20, size=300)
    z = z[rows] * (1.0 + 1e-8 * rng.normal(size=(300, 4)))
    policy = CascadeHybrid(Catalog(x[rows], z * size / np.abs(z).max()))
    items = policy._layout.items
    for _ in range(150):
        shown = policy.rank(4)
        expected = one_by_one(items, policy._model.state, policy.gamma, list(range(300)), {}, 4)
        assert (shown.items.tolist(), shown.means.tolist(), shown.widths.tolist()) == expected[:3]
        policy.update(shown, None if rng.random() < 0.5 else int(rng.integers(4)))
