"""The greedy ranker (Algorithm 1, lines "Build ranked list"): one LinUCB choice for each position.

Nothing is remembered from one list to the next. At every position all items are bounded at once, and those whose bound
reaches the highest score are scored; so the list is, to the bit, the one that scoring every item gives.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items, mean_of, place, variance_of
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import compiled, entry, inner
from rankfall.kernels.linear_bounds import BLOCK, BOUND, MEAN, OUT, Bounds, bound_all, bring, tolerance_of
from rankfall.kernels.ridge import State


class Room(NamedTuple):
    """Work space for a list."""

    left: Any  # (n)
    scaled: Any  # (m)
    chosen: Any  # (k) indices to ``vectors.rows``
    exact: Any  # (L) whether a bound is the score; (0) where something diminishes


def new_room(items: Items, vectors: ItemVectors, columns: int, k: int) -> Room:
    """Work space for lists of ``k`` items."""
    still = not (items.coverage_diminishes or items.relevance_diminishes)
    return Room(
        np.empty(columns),
        np.empty(items.dense.shape[1]),
        np.empty(k, dtype=np.int64),
        np.empty(len(vectors.rows) if still else 0, dtype=np.bool_),
    )


room_for_kernels = compiled(new_room)


@inner
def score(item: int, items: Items, state: State, left: Any, scaled: Any) -> tuple[float, float]:
    """Mean and width of an item."""
    mean = mean_of(item, items, left, state.weights)
    return mean, np.sqrt(variance_of(item, items, left, state.covariance, scaled))


@inner
def _highest(bounds: Bounds) -> int:
    """Where the highest bound is."""
    block = 0
    for b in range(1, len(bounds.top)):
        if bounds.top[b] > bounds.top[block]:
            block = b
    bound = bounds.numbers[BOUND]
    best = block * BLOCK
    for i in range(best + 1, min(best + BLOCK, len(bound))):
        if bound[i] > bound[best]:
            best = i
    return best


@inner
def take_out(i: int, bounds: Bounds) -> None:
    """An item cannot be chosen any more."""
    bound = bounds.numbers[BOUND]
    bounds.numbers[MEAN, i] = OUT
    bound[i] = OUT
    begin, top = i - i % BLOCK, OUT
    for other in range(begin, min(begin + BLOCK, len(bound))):
        top = max(top, bound[other])
    bounds.top[i // BLOCK] = top


@compiled
def describe(items: Items, state: State, out: Any, features: Any, means: Any, widths: Any) -> int:
    """Fill ``features``, ``means`` and ``widths`` of a list that is given; return how many scores it took."""
    left, scaled = np.ones(len(state.weights)), np.empty(items.dense.shape[1])
    for position in range(len(out)):
        means[position], widths[position] = score(out[position], items, state, left, scaled)
        place(out[position], items, left, features[position])
    return len(out)


@entry
def rank_in(
    room: Room,
    items: Items,
    vectors: ItemVectors,
    blocked: Any,
    state: State,
    gamma: float,
    bounds: Bounds,
    out: Any,
    features: Any,
    means: Any,
    widths: Any,
) -> int:
    """Fill ``out`` (rows, best first), ``features``, ``means`` and ``widths``; return how many scores it took.

    ``out`` comes in with -1 where the choice is free; a row it holds already stays there. To choose from are
    ``vectors.rows`` without those at the indices ``blocked``. Of equal scores the lowest row wins. ``bounds``
    and ``room`` are work space.
    """
    left, scaled, chosen, exact = room.left, room.scaled, room.chosen, room.exact
    left[:] = 1.0
    exact[:] = False
    n_chosen, scored = 0, 0
    still = not (items.coverage_diminishes or items.relevance_diminishes)
    bound = bounds.numbers[BOUND]
    fresh = True
    for position in range(len(out)):
        if out[position] >= 0:
            means[position], widths[position] = score(out[position], items, state, left, scaled)
            scored += 1
        else:
            if fresh or not still:
                bring(vectors, state.weights, state.covariance, left, bounds, fresh, fresh)
                if fresh or vectors.diminishes:
                    for i in blocked:
                        bounds.numbers[MEAN, i] = OUT
                    for i in range(n_chosen):
                        bounds.numbers[MEAN, chosen[i]] = OUT
                bound_all(bounds, gamma)
                fresh = False
            tolerance = tolerance_of(vectors, state.weights, left)
            first = _highest(bounds)
            best, highest = -1, -np.inf
            mean, width = 0.0, 0.0
            for block in range(-1, len(bounds.top)):  # the highest bound before all others
                if block >= 0 and bounds.top[block] + tolerance < highest:
                    continue
                begin = first if block < 0 else block * BLOCK
                end = first + 1 if block < 0 else min(begin + BLOCK, len(bound))
                for i in range(begin, end):
                    if bound[i] + tolerance < highest or i == best:
                        continue
                    if still and exact[i]:
                        value = bound[i]
                    else:
                        mean, width = score(vectors.rows[i], items, state, left, scaled)
                        value = mean + gamma * width
                        scored += 1
                        if still:
                            exact[i] = True
                            bound[i] = value
                    if best < 0 or value > highest or (value == highest and i < best):
                        best, highest = i, value
                        means[position], widths[position] = mean, width
            if still:  # the score of the winner may be known from a position above
                means[position], widths[position] = score(vectors.rows[best], items, state, left, scaled)
            out[position] = vectors.rows[best]
            take_out(best, bounds)
            chosen[n_chosen] = best
            n_chosen += 1
        place(out[position], items, left, features[position])
    return scored
