"""The greedy ranker (Algorithm 1, lines "Build ranked list"): one LinUCB choice for each position.

Nothing is remembered from one list to the next. At every position all items are bounded at once, and those whose bound
reaches the highest score are scored; so the list is, to the bit, the one that scoring every item gives.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items, mean_of, place, variance_of
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import compiled, entry, inner, part
from rankfall.kernels.linear_bounds import (
    BLOCK,
    LOWEST,
    MEAN,
    OUT,
    Bounds,
    bound_all,
    bound_block,
    bring,
    highest_with,
)
from rankfall.kernels.ridge import State


class Room(NamedTuple):
    """Work space for a list."""

    left: Any  # (n)
    scaled: Any  # (m)
    chosen: Any  # (k) indices to ``vectors.rows``
    known: Any  # (L) whether the score is known; (0) where something diminishes
    scores: Any  # (3, L) score, mean and width then


def new_room(items: Items, vectors: ItemVectors, columns: int, k: int) -> Room:
    """Work space for lists of ``k`` items."""
    still = not (items.coverage_diminishes or items.relevance_diminishes)
    return Room(
        np.empty(columns),
        np.empty(items.dense.shape[1]),
        np.empty(k, dtype=np.int64),
        np.empty(len(vectors.rows) if still else 0, dtype=np.bool_),
        np.empty((3, len(vectors.rows) if still else 0)),
    )


room_for_kernels = compiled(new_room)


@inner
def score(item: int, items: Items, state: State, left: Any, scaled: Any) -> tuple[float, float]:
    """Mean and width of an item."""
    mean = mean_of(item, items, left, state.weights)
    return mean, np.sqrt(variance_of(item, items, left, state.covariance, scaled))


@part
def bound_free(
    vectors: ItemVectors, blocked: Any, chosen: Any, state: State, gamma: float, left: Any, bounds: Bounds, fresh: bool
) -> float:
    """Bound all items that are not blocked or chosen, for what is ``left``: anew if the list is ``fresh``.

    Returns by how much a score may be above its bound.
    """
    anew, tolerance = bring(vectors, state.weights, state.covariance, gamma, left, bounds, fresh, fresh, gamma != 0.0)
    if anew:
        for i in blocked:
            bounds.numbers[MEAN, i] = OUT
        for i in chosen:
            bounds.numbers[MEAN, i] = OUT
    bound_all(bounds, gamma)
    return tolerance


@inner
def highest_block(bounds: Bounds) -> int:
    """The block with the highest bound."""
    block = 0
    for b in range(1, len(bounds.top)):
        if bounds.top[b] > bounds.top[block]:
            block = b
    return block


@inner
def _highest(bounds: Bounds, gamma: float) -> int:
    """Where the highest bound is."""
    block, best, bound = highest_block(bounds), 0, bounds.line[0]
    for i in range(bound_block(bounds.numbers, bounds.line, block, gamma)):
        if bound[i] > bound[best]:
            best = i
    return block * BLOCK + best


@inner
def take_out(i: int, bounds: Bounds, gamma: float) -> None:
    """An item cannot be chosen any more."""
    bounds.numbers[MEAN, i] = OUT
    bounds.top[i // BLOCK] = highest_with(bounds.numbers, bounds.line, i // BLOCK, gamma)


@part
def best_free(
    room: Room, items: Items, vectors: ItemVectors, state: State, gamma: float, bounds: Bounds, tolerance: float
) -> tuple[int, float, float, int]:
    """The item with the highest score, its mean and width, and how many scores it took; of equals the lowest row.

    ``tolerance``: by how much a score may be above its bound.
    """
    bound, still = bounds.line[0], len(room.known) > 0
    first = _highest(bounds, gamma)
    best, highest, reach, scored = -1, -np.inf, LOWEST, 0
    best_mean, best_width = 0.0, 0.0
    for block in range(-1, len(bounds.top)):  # the highest bound before all others
        if block >= 0 and bounds.top[block] < reach:
            continue
        begin, n = (first, 1) if block < 0 else (block * BLOCK, bound_block(bounds.numbers, bounds.line, block, gamma))
        for i in range(begin, begin + n):
            if (block >= 0 and bound[i - begin] < reach) or i == best:
                continue
            if still and room.known[i]:
                value, mean, width = room.scores[0, i], room.scores[1, i], room.scores[2, i]
            else:
                mean, width = score(vectors.rows[i], items, state, room.left, room.scaled)
                value = mean + gamma * width
                scored += 1
                if still:
                    room.known[i] = True
                    room.scores[0, i], room.scores[1, i], room.scores[2, i] = value, mean, width
            if best < 0 or value > highest or (value == highest and i < best):
                best, highest, best_mean, best_width = i, value, mean, width
                reach = max(highest - tolerance, LOWEST)
    return best, best_mean, best_width, scored


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
    left, chosen = room.left, room.chosen
    left[:] = 1.0
    room.known[:] = False
    n_chosen, scored = 0, 0
    still = not (items.coverage_diminishes or items.relevance_diminishes)
    fresh, tolerance = True, 0.0
    for position in range(len(out)):
        if out[position] >= 0:
            means[position], widths[position] = score(out[position], items, state, left, room.scaled)
            scored += 1
        else:
            if fresh or not still:
                tolerance = bound_free(vectors, blocked, chosen[:n_chosen], state, gamma, left, bounds, fresh)
                fresh = False
            best, means[position], widths[position], n = best_free(
                room, items, vectors, state, gamma, bounds, tolerance
            )
            scored += n
            out[position] = vectors.rows[best]
            take_out(best, bounds, gamma)
            chosen[n_chosen] = best
            n_chosen += 1
        place(out[position], items, left, features[position])
    return scored
