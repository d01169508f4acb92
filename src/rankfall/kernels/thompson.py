"""Thompson sampling: weights are drawn from the posterior, and the list is the greedy one for the weights drawn.

With drawn weights an item is worth its mean, so that no widths are needed. All means are bounded once a list, for all
positions; only those are computed that a bound says may be the highest.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels import greedy
from rankfall.kernels.cascade import UserArrays
from rankfall.kernels.episode import Scene, click_and_learn, largest_shown, scene
from rankfall.kernels.item_scores import Items, mean_of, place
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import compiled, entry, inner, leaf
from rankfall.kernels.linear_bounds import WHOLE, Bounds, means_of_all, tolerance_of
from rankfall.kernels.ridge import State

_BLOCK = 32
_ROUNDING = 1e-12  # far above what sums over columns may lose in double precision, relative to the largest of them


@entry
def draw(state: State, gamma: float, normals: Any, upper: Any, out: Any) -> None:
    """Write ``w + gamma R^-1 normals`` with ``O = R' R`` (Cholesky): a draw from N(w, gamma^2 O^-1).

    ``normals`` (n) are standard normal numbers; ``upper`` (n, n) is work space, in which R is left.
    """
    n = len(out)
    for i in range(n):
        for j in range(i, n):
            upper[i, j] = state.gram[i, j]
    for p in range(n):
        row = upper[p]
        scale = 1.0 / np.sqrt(row[p])
        for j in range(p, n):
            row[j] *= scale
        for i in range(p + 1, n):
            value = row[i]
            below = upper[i]
            for j in range(i, n):
                below[j] -= value * row[j]
    for i in range(n - 1, -1, -1):
        row = upper[i]
        total = normals[i]
        for j in range(i + 1, n):
            total -= row[j] * out[j]
        out[i] = total / row[i]
    for i in range(n):
        out[i] = state.weights[i] + gamma * out[i]


class _Work(NamedTuple):
    """Room to rank L items over n columns."""

    single: Any  # (2, L) see means_of_all
    bound: Any  # (L) at least the mean, however much of the topics is used up later; -inf once the item is placed
    top: Any  # (blocks) at least every bound in the block
    left: Any  # (n)
    liked: Any  # (n) weights at their best, as a topic that is disliked may be used up


@compiled
def _room(n_items: int, columns: int) -> _Work:
    blocks = (n_items + _BLOCK - 1) // _BLOCK
    single = np.empty((2, n_items), dtype=np.float32)
    return _Work(single, np.empty(n_items), np.empty(blocks), np.empty(columns), np.empty(columns))


@inner
def _bound_all(items: Items, vectors: ItemVectors, weights: Any, work: _Work) -> None:
    """Bound the means of all items.

    A topic liked adds less and less as it is used up. One disliked takes away less and less, in the end nothing.
    """
    bound, top = work.bound, work.top
    tolerance = tolerance_of(vectors.norm, vectors.rounding, weights, work.left)
    if tolerance == np.inf:
        bound[:] = np.inf
        top[:] = np.inf
        return
    disliked = len(weights) - items.dense.shape[1] if items.coverage_diminishes else 0
    for j in range(len(weights)):
        work.liked[j] = max(weights[j], 0.0) if j < disliked else weights[j]
    means_of_all(vectors, work.liked, work.left, work.single, True)
    for block in range(len(top)):
        highest = -np.inf
        for i in range(block * _BLOCK, min(block * _BLOCK + _BLOCK, len(bound))):
            bound[i] = work.single[WHOLE, i] + tolerance
            highest = max(highest, bound[i])
        top[block] = highest


@leaf
def _before(score: float, item: int, best_score: float, best_item: int) -> bool:
    """Whether an item comes before another: the higher score, of equals the lower row."""
    return score > best_score or (score == best_score and item < best_item)


@inner
def _score(item: int, items: Items, weights: Any, rounding: float, work: _Work) -> float:
    """The mean of an item under what is left, which sharpens its bound."""
    slack = 0.0
    if items.coverage_diminishes:
        for p in range(items.start[item], items.start[item + 1]):
            value = work.left[items.topic[p]] * items.weight[p] * weights[items.topic[p]]
            slack += rounding - value if value < 0.0 else 0.0
    score = mean_of(item, items, work.left, weights)
    work.bound[item] = score + slack
    return score


@inner
def _highest(values: Any, low: int, high: int) -> int:
    """Where the highest of some values is."""
    best = low
    for i in range(low + 1, high):
        if values[i] > values[best]:
            best = i
    return best


@inner
def _next(items: Items, weights: Any, rounding: float, work: _Work) -> tuple[int, float, int]:
    """The item that comes next, its mean, and how many means it took to know.

    The one with the highest bound is computed first; then whoever has a bound that reaches the best mean so far.
    """
    n_items = len(work.bound)
    while True:
        block = _highest(work.top, 0, len(work.top))
        best = _highest(work.bound, block * _BLOCK, min(block * _BLOCK + _BLOCK, n_items))
        if work.bound[best] > -np.inf:
            break
        work.top[block] = -np.inf  # all of them are placed
    highest = _score(best, items, weights, rounding, work)
    scored = 1
    for block in range(len(work.top)):
        if work.top[block] < highest:
            continue
        top = -np.inf
        for i in range(block * _BLOCK, min(block * _BLOCK + _BLOCK, n_items)):
            if work.bound[i] >= highest and i != best:
                score = _score(i, items, weights, rounding, work)
                scored += 1
                if _before(score, i, highest, best):
                    best, highest = i, score
            top = max(top, work.bound[i])
        work.top[block] = top
    return best, highest, scored


@inner
def _rank(items: Items, vectors: ItemVectors, weights: Any, work: _Work, out: Any, features: Any, scores: Any) -> int:
    """The greedy list for these weights, out of all items."""
    size = 0.0
    for j in range(len(weights)):
        size += abs(weights[j])
    rounding = _ROUNDING * size * vectors.norm
    work.left[:] = 1.0
    scored = 0
    for position in range(len(out)):
        if position == 0 or items.relevance_diminishes:  # what may grow is bounded for one position alone
            _bound_all(items, vectors, weights, work)
            for above in range(position):
                work.bound[out[above]] = -np.inf
        out[position], scores[position], n = _next(items, weights, rounding, work)
        scored += n
        work.bound[out[position]] = -np.inf
        place(out[position], items, work.left, features[position])
    return scored


@compiled
def rank(items: Items, vectors: ItemVectors, weights: Any, out: Any, features: Any, scores: Any) -> int:
    """Fill ``out`` (rows, best first), ``features`` and ``scores`` with the greedy list for these weights.

    Returns how many scores it took. The list and its scores are, to the bit, those that
    :func:`rankfall.kernels.greedy.rank_in` gives over all items for these weights and no exploration.
    """
    work = _room(len(items.dense), len(weights))
    return _rank(items, vectors, weights, work, out, features, scores)


@inner
def _steps(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    bounds: Bounds,
    pruning: bool,
    whole: bool,
    largest: float,
    user: UserArrays,
    coins: Any,
    normals: Any,
    best: float,
    totals: Any,
    drawn: Any,
    upper: Any,
    work: _Work,
    at: Scene,
    room: greedy.Room,
) -> tuple[float, int]:
    """The steps of :func:`episode`: they allocate nothing, and so need no reference counts."""
    believed = State(state.gram, state.covariance, state.moment, drawn, state.counts)
    extreme = 0.0
    scored = 0
    for step in range(len(coins)):
        draw(state, gamma, normals[step], upper, drawn)
        if pruning:
            scored += _rank(items, vectors, drawn, work, at.shown, at.features, at.scores)
        else:
            at.shown[:] = -1
            scored += greedy.rank_in(
                room, items, vectors, at.shown[:0], believed, 0.0, bounds, at.shown, at.features, at.scores, at.widths
            )
        extreme = largest_shown(items, at.features, extreme)
        if not extreme <= largest:
            break
        click_and_learn(state, whole, user, coins[step], best, totals[step], totals[step + 1], at)
    return extreme, scored


@compiled
def episode(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    bounds: Bounds,
    pruning: bool,
    whole: bool,
    largest: float,
    user: UserArrays,
    coins: Any,
    normals: Any,
    best: float,
    totals: Any,
) -> tuple[float, int]:
    """Draw, show, click and learn, one step for each row of ``coins`` (steps, k) and ``normals`` (steps, n).

    As :func:`rankfall.kernels.episode.episode`, with drawn weights; also returns how many scores it took.
    """
    k, n = coins.shape[1], len(state.weights)
    at, room = scene(k, n, len(user.theta)), greedy.room_for_kernels(items, vectors, n, k)
    drawn, upper, work = np.empty(n), np.empty((n, n)), _room(len(items.dense), n)
    return _steps(
        items, vectors, state, gamma, bounds, pruning, whole, largest, user, coins, normals, best, totals, drawn, upper,
        work, at, room,
    )  # fmt: skip
