"""The greedy ranker under rules: at every position the best item that the rules allow there.

It is :mod:`rankfall.kernels.greedy` with one more question. Rules are not asked about every item: only about those
whose bound is as high as the best that is allowed.
"""

from typing import Any

import numpy as np

from rankfall.kernels.greedy import Room, bound_free, score, take_out
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
def _highest_allowed(vectors: ItemVectors, bounds: Bounds, gamma: float, rules: Rules, out: Any, position: int) -> int:
    """Where the highest bound of an item is that is allowed at a position; -1 if none is."""
    bound, best, highest = bounds.line[0], -1, LOWEST
    for block in range(len(bounds.top)):
        if bounds.top[block] <= highest:
            continue
        low = block * BLOCK
        for i in range(bound_block(bounds.numbers, bounds.line, block, gamma)):
            row = vectors.rows[low + i]
            if bound[i] > highest and not rules.taken[row] and barred_by(rules, row, out, position) < 0:
                best, highest = low + i, bound[i]
    return best


@inner
def _best(
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
    first: int,
    floor: float,
) -> tuple[int, float, float, float, int]:
    """The best item that is allowed (``first`` >= 0: the highest bound of those), or else the best that is not.

    Its index, score, mean and width, and how many scores it took. One that is not allowed must score ``floor``.
    """
    bound, reach = bounds.line[0], max(floor - tolerance, LOWEST)
    best, highest, best_mean, best_width, scored = -1, floor, 0.0, 0.0, 0
    for block in range(-1 if first >= 0 else 0, len(bounds.top)):  # the highest bound before all others
        if block >= 0 and bounds.top[block] < reach:
            continue
        low, n = (first, 1) if block < 0 else (block * BLOCK, bound_block(bounds.numbers, bounds.line, block, gamma))
        for i in range(low, low + n):
            if (block >= 0 and bound[i - low] < reach) or i == best or rules.taken[vectors.rows[i]]:
                continue
            if block >= 0 and (barred_by(rules, vectors.rows[i], out, position) < 0) != (first >= 0):
                continue
            mean, width = score(vectors.rows[i], items, state, room.left, room.scaled)
            value = mean + gamma * width
            scored += 1
            if value > highest or (value == highest and (best < 0 or i < best)):
                best, highest, best_mean, best_width = i, value, mean, width
                reach = max(highest - tolerance, LOWEST)
    return best, highest, best_mean, best_width, scored


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
            first = _highest_allowed(vectors, bounds, gamma, ruled, out, position)
            if first < 0:
                relax(ruled, vectors.rows, out, position)
                first = _highest_allowed(vectors, bounds, gamma, ruled, out, position)
            best, highest, means[position], widths[position], n = _best(
                items, vectors, state, gamma, bounds, tolerance, room, ruled, out, position, first, -np.inf
            )
            scored += n
            other, value, _, _, n = _best(
                items, vectors, state, gamma, bounds, tolerance, room, ruled, out, position, -1, highest
            )
            scored += n
            if other >= 0 and (value > highest or other < best):
                held[position] = vectors.rows[other]
                held_by[position] = barred_by(ruled, vectors.rows[other], out, position)
                held_scores[position] = value
            fill_position(ruled, out, position, vectors.rows[best])
            take_out(best, bounds, gamma)
            room.chosen[n_chosen] = best
            n_chosen += 1
        place(out[position], items, left, features[position])
    find_broken(ruled, out, broken)
    return scored
