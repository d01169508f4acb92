"""Thompson sampling: weights are drawn from the posterior, and the list is the greedy one for the weights drawn.

With drawn weights an item is worth its mean, so that no widths are needed. All means are computed once a list; further
down only those that a bound says may still be the highest.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels import greedy
from rankfall.kernels.cascade import UserArrays
from rankfall.kernels.episode import Scene, click_and_learn, largest_shown, scene
from rankfall.kernels.item_scores import Items, mean_of, place
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import compiled, entry, inner, leaf
from rankfall.kernels.linear_bounds import Bounds
from rankfall.kernels.ridge import State

_BLOCK = 32
_ROUNDING = 1e-12  # far above what sums over columns may lose, relative to the largest of them


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

    score: Any  # (L) mean when it was last computed
    bound: Any  # (L) at least the mean, however much of the topics is used up later; -inf once the item is placed
    top: Any  # (blocks) at least every bound in the block
    left: Any  # (n)


@compiled
def _room(n_items: int, columns: int) -> _Work:
    return _Work(np.empty(n_items), np.empty(n_items), np.empty((n_items + _BLOCK - 1) // _BLOCK), np.empty(columns))


@inner
def _score_all(items: Items, vectors: ItemVectors, weights: Any, rounding: float, work: _Work) -> None:
    """Mean and bound of every item, the mean summed in the order of ``mean_of``, so to the same bits.

    A topic liked adds less and less as it is used up. One disliked takes away less and less, in the end nothing:
    that is what a bound has on top of the mean.
    """
    n_items, m = items.dense.shape
    d = len(weights) - m
    relevance = vectors.dense[d - vectors.first_dense :]
    for low in range(0, n_items, _BLOCK):
        n = min(_BLOCK, n_items - low)
        relevant = work.bound[low : low + n]
        relevant[:] = 0.0
        for p in range(m):
            z = relevance[p, low : low + n]
            weight = weights[d + p]
            remains = work.left[d + p]
            for i in range(n):
                relevant[i] += remains * z[i] * weight
        top = -np.inf
        for i in range(n):
            item = low + i
            covering = 0.0
            slack = 0.0
            for p in range(items.start[item], items.start[item + 1]):
                value = work.left[items.topic[p]] * items.weight[p] * weights[items.topic[p]]
                covering += value
                slack += rounding - value if value < 0.0 else 0.0
            score = covering + relevant[i]
            work.score[low + i] = score
            work.bound[low + i] = score + slack
            top = max(top, score + slack)
        work.top[low // _BLOCK] = top


@leaf
def _before(score: float, item: int, best_score: float, best_item: int) -> bool:
    """Whether an item comes before another: the higher score, of equals the lower row."""
    return score > best_score or (score == best_score and item < best_item)


@inner
def _best_first(work: _Work, out: Any, scores: Any) -> None:
    """The items with the highest scores in order, where nothing diminishes."""
    k = len(out)
    filled = 0
    for i in range(len(work.score)):
        score = work.score[i]
        if filled == k:
            if not _before(score, i, scores[k - 1], out[k - 1]):
                continue
            at = k - 1
        else:
            at = filled
            filled += 1
        while at > 0 and _before(score, i, scores[at - 1], out[at - 1]):
            scores[at] = scores[at - 1]
            out[at] = out[at - 1]
            at -= 1
        scores[at] = score
        out[at] = i


@inner
def _refresh(item: int, items: Items, weights: Any, rounding: float, work: _Work) -> None:
    """Mean and bound of one item under what is left."""
    slack = 0.0
    for p in range(items.start[item], items.start[item + 1]):
        value = work.left[items.topic[p]] * items.weight[p] * weights[items.topic[p]]
        slack += rounding - value if value < 0.0 else 0.0
    work.score[item] = mean_of(item, items, work.left, weights)
    work.bound[item] = work.score[item] + slack


@inner
def _highest(values: Any, low: int, high: int) -> int:
    """Where the highest of some values is."""
    best = low
    for i in range(low + 1, high):
        if values[i] > values[best]:
            best = i
    return best


@inner
def _next(items: Items, weights: Any, rounding: float, work: _Work) -> tuple[int, int]:
    """The item that comes next where topics diminish, and how many means it took to know.

    The one with the highest bound is computed first; then whoever has a bound that reaches the best mean so far.
    """
    n_items = len(work.score)
    while True:
        block = _highest(work.top, 0, len(work.top))
        best = _highest(work.bound, block * _BLOCK, min(block * _BLOCK + _BLOCK, n_items))
        if work.bound[best] > -np.inf:
            break
        work.top[block] = -np.inf  # all of them are placed
    _refresh(best, items, weights, rounding, work)
    scored = 1
    for block in range(len(work.top)):
        if work.top[block] < work.score[best]:
            continue
        top = -np.inf
        for i in range(block * _BLOCK, min(block * _BLOCK + _BLOCK, n_items)):
            if work.bound[i] >= work.score[best] and i != best:
                _refresh(i, items, weights, rounding, work)
                scored += 1
                if _before(work.score[i], i, work.score[best], best):
                    best = i
            top = max(top, work.bound[i])
        work.top[block] = top
    return best, scored


@inner
def _rank(items: Items, vectors: ItemVectors, weights: Any, work: _Work, out: Any, features: Any, scores: Any) -> int:
    """The greedy list for these weights, out of all items."""
    n_items = len(work.score)
    size = 0.0
    for j in range(len(weights)):
        size += abs(weights[j])
    rounding = _ROUNDING * size * vectors.norm
    work.left[:] = 1.0
    _score_all(items, vectors, weights, rounding, work)
    if not (items.coverage_diminishes or items.relevance_diminishes):
        _best_first(work, out, scores)
        for position in range(len(out)):
            place(out[position], items, work.left, features[position])
        return n_items
    scored = n_items
    for position in range(len(out)):
        if not items.relevance_diminishes:
            best, more = _next(items, weights, rounding, work)
            scored += more
        else:  # what grows has no bound; every item is looked at again
            if position > 0:
                _score_all(items, vectors, weights, rounding, work)
                scored += n_items
                for above in range(position):
                    work.score[out[above]] = -np.inf
            best = 0
            for i in range(1, n_items):
                if _before(work.score[i], i, work.score[best], best):
                    best = i
        out[position] = best
        scores[position] = work.score[best]
        work.bound[best] = -np.inf
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
