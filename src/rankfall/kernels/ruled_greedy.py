"""The greedy ranker under rules: at every position the best item that the rules allow there.

It is :mod:`rankfall.kernels.greedy` with one more question. Rules are not asked about every item: only about the best
of all, and where that is not allowed, about those whose bound is as high as the best that is.
"""

from typing import Any

import numpy as np

from rankfall.kernels.greedy import Room, best_free, bound_free, highest_block, score, take_out
from rankfall.kernels.item_scores import Items, place
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import entry, inner
from rankfall.kernels.linear_bounds import BLOCK, LOWEST, Bounds, bound_block
from rankfall.kernels.list_rules import (
    Rules,
    barred_by,
    begin,
    fill_position,
    find_broken,
    open_position,
    relax,
    with_servers,
)
from rankfall.kernels.ridge import State


@inner
def _best_allowed(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    bounds: Bounds,
    tolerance: float,
    room: Room,
    rules: Rules,
    out: Any,
    position: int,
) -> tuple[int, float, float, int]:
    """The best item that is allowed, or -1; its mean and width, and how many scores it took."""
    bound, highest_first = bounds.line[0], highest_block(bounds)
    best, highest, reach, best_mean, best_width, scored = -1, -np.inf, LOWEST, 0.0, 0.0, 0
    for turn in range(len(bounds.top) + 1):
        block = highest_first if turn == 0 else turn - 1
        if bounds.top[block] < reach or (turn > 0 and block == highest_first):
            continue
        low = block * BLOCK
        for i in range(low, low + bound_block(bounds.numbers, bounds.line, block, gamma)):
            if bound[i - low] < reach or barred_by(rules, vectors.rows[i], out, position) >= 0:
                continue
            mean, width = score(vectors.rows[i], items, state, room.left, room.scaled)
            value = mean + gamma * width
            scored += 1
            if best < 0 or value > highest or (value == highest and i < best):
                best, highest, best_mean, best_width = i, value, mean, width
                reach = max(highest - tolerance, LOWEST)
    return best, best_mean, best_width, scored


@entry
def rank_under_rules(
    room: Room,
    items: Items,
    vectors: ItemVectors,
    blocked: Any,
    state: State,
    gamma: float,
    bounds: Bounds,
    rules: Rules,
    out: Any,
    features: Any,
    means: Any,
    widths: Any,
    held: Any,
    held_by: Any,
    held_scores: Any,
    broken: Any,
) -> int:
    """As :func:`rankfall.kernels.greedy.rank_in`, with the best item that ``rules`` allow at every free position.

    ``held`` (k) gets the row of the best item that a rule did not allow, where it would have been chosen, ``held_by``
    that rule and ``held_scores`` its score; the first two are -1 elsewhere. ``broken`` (k, R): see
    :func:`rankfall.kernels.list_rules.find_broken`.
    """
    for i in blocked:
        rules.taken[vectors.rows[i]] = True
    ruled = with_servers(rules, begin(rules, vectors.rows, out))
    left, scored, fresh, tolerance = room.left, 0, True, 0.0
    left[:] = 1.0
    room.known[:] = False
    still = not (items.coverage_diminishes or items.relevance_diminishes)
    n_chosen = 0
    for position in range(len(out)):
        held[position] = -1
        held_by[position] = -1
        if out[position] >= 0:
            means[position], widths[position] = score(out[position], items, state, left, room.scaled)
            scored += 1
        else:
            if fresh or not still:
                tolerance = bound_free(vectors, blocked, room.chosen[:n_chosen], state, gamma, left, bounds, fresh)
                fresh = False
            open_position(ruled, out, position)
            best, mean, width, n = best_free(room, items, vectors, state, gamma, bounds, tolerance)
            scored += n
            by = barred_by(ruled, vectors.rows[best], out, position)
            if by >= 0:
                other, value = vectors.rows[best], mean + gamma * width
                best, mean, width, n = _best_allowed(
                    items, vectors, state, gamma, bounds, tolerance, room, ruled, out, position
                )
                scored += n
                if best < 0:
                    relax(ruled, vectors.rows, out, position)
                    by = barred_by(ruled, other, out, position)
                    best, mean, width, n = _best_allowed(
                        items, vectors, state, gamma, bounds, tolerance, room, ruled, out, position
                    )
                    scored += n
                if by >= 0:
                    held[position], held_by[position], held_scores[position] = other, by, value
            means[position], widths[position] = mean, width
            fill_position(ruled, out, position, vectors.rows[best])
            take_out(best, bounds, gamma)
            room.chosen[n_chosen] = best
            n_chosen += 1
        place(out[position], items, left, features[position])
    find_broken(ruled, out, broken)
    return scored
