"""The greedy ranker under rules again, exact, looking only at items that can still win.

As :mod:`rankfall.kernels.shortlists`, with a shortlist for every set of items met in an epoch, all under one set of
rules. What they allow depends on the set of items above alone, but for those that keep items apart. So a shortlist has
the best of what the others allow, beside the best of all; which of its items may stand where is asked when it is gone
through. Where the best that is allowed does not beat what was left out, a new epoch starts; if it does not even then,
:func:`rankfall.kernels.ruled_greedy.rank_under_rules` has to make the list. Which of the two makes it never changes it.
"""

from typing import Any

import numpy as np

from rankfall.kernels.epoch_lengths import begin_list, leave, position_cost, start_epoch
from rankfall.kernels.epochs import (
    BEST_BOUND,
    ENTRIES,
    EXACT_MEAN,
    EXACT_WIDTH,
    FIRST,
    GUESS,
    LISTS,
    LONG,
    MAX_DRIFT,
    NODES,
    PLAINLY,
    SIZE,
    VISITED,
    Shortlists,
    bound_what_follows,
    find,
    hash_of,
    insert,
    new_shortlists,
    write_entry,
    write_node,
)
from rankfall.kernels.item_scores import Items, place
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import entry, inner
from rankfall.kernels.linear_bounds import BLOCK, LOWEST, OUT, bound_block, highest_with
from rankfall.kernels.list_rules import (
    Rules,
    barred_by,
    barred_in_any_order,
    begin,
    fill_position,
    find_broken,
    open_position,
)
from rankfall.kernels.ridge import State
from rankfall.kernels.shortlists import best_of, means_of_today, open_shortlist, tolerance_in

ALLOWED, LAST = 1, 2
"""More columns of Nodes.outside: one for the items that rules allow, and the one of them that won last time, or -1."""
WANTED = 4
"""How many of the best items that are allowed a shortlist is made for: the other rules may forbid some."""

UNDER_RULES = 4
"""How many times as much a position is taken to cost the greedy ranker under rules as without. Chosen by
``benchmarks/list_rules.py``: with less, shortlists are given up too soon."""


def new_ruled_shortlists(items: Items, vectors: ItemVectors, columns: int, k: int) -> Shortlists:
    """Room for lists of up to ``k`` items."""
    made = new_shortlists(items, vectors, columns, max(k, WANTED))
    return made._replace(nodes=made.nodes._replace(outside=np.empty((len(made.nodes.key), 3))))


@inner
def _cuts(
    vectors: ItemVectors, lists: Shortlists, rules: Rules, out: Any, gamma: float, position: int
) -> tuple[float, float]:
    """Scores that the best of all, and the WANTED best of those allowed, will most likely keep in this epoch."""
    bounds, best = lists.bounds, lists.room.top[:WANTED]  # ascending
    less, value = 0.95 * gamma - MAX_DRIFT, bounds.line[0]
    best[:] = LOWEST
    highest = LOWEST
    for block in range(len(bounds.top)):
        top = highest_with(bounds.numbers, bounds.line, block, less)
        highest = max(highest, top)
        if top <= best[0]:
            continue
        for i in range(bound_block(bounds.numbers, bounds.line, block, less)):
            if value[i] > best[0] and not barred_in_any_order(rules, vectors.rows[block * BLOCK + i], out, position):
                at = 1
                while at < WANTED and best[at] < value[i]:
                    best[at - 1] = best[at]
                    at += 1
                best[at - 1] = value[i]
    return highest, best[0]


@inner
def _build(
    vectors: ItemVectors, lists: Shortlists, rules: Rules, out: Any, gamma: float, key: Any, length: int, at: int
) -> int:
    """Make the node of the present set; -1 if there is no room."""
    nodes, entries, bounds, counts = lists.nodes, lists.entries, lists.bounds, lists.counts
    node, first, n_items = counts[NODES], counts[ENTRIES], len(vectors.rows)
    if node == len(nodes.key) or first + n_items > len(entries.item):
        return -1
    if not bound_what_follows(vectors, lists, gamma, length):
        return -1
    cut, cut_allowed = _cuts(vectors, lists, rules, out, gamma, length)
    nodes.outside[node, 0], nodes.outside[node, ALLOWED], nodes.outside[node, LAST] = cut, cut_allowed, -1.0
    later, size = bounds.line[0], 0
    for block in range(len(bounds.top)):
        if highest_with(bounds.numbers, bounds.line, block, gamma + MAX_DRIFT) < min(cut, cut_allowed):
            continue
        for i in range(bound_block(bounds.numbers, bounds.line, block, gamma + MAX_DRIFT)):
            if later[i] <= LOWEST or later[i] < min(cut, cut_allowed):
                continue
            item = block * BLOCK + i
            if later[i] >= cut or not barred_in_any_order(rules, vectors.rows[item], out, length):
                write_entry(entries, first + size, item, bounds)
                size += 1
    if size == n_items - length:
        nodes.outside[node, 0] = nodes.outside[node, ALLOWED] = OUT
    write_node(lists, node, key, length, at, size)
    return node


@entry
def rank_under_rules(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    lists: Shortlists,
    rules: Rules,
    out: Any,
    features: Any,
    means: Any,
    widths: Any,
    held: Any,
    held_by: Any,
    held_scores: Any,
    broken: Any,
) -> bool:
    """As :func:`rankfall.kernels.ruled_greedy.rank_under_rules` out of all items, where nothing is fixed.

    Returns False where that one must make the list, with rules that have not been used.
    """
    counts, nodes, entries, opened, room = lists.counts, lists.nodes, lists.entries, lists.opened, lists.room
    drift, fresh = begin_list(
        state, lists.epoch, nodes, counts, UNDER_RULES * position_cost(items, vectors), len(opened.level), len(out)
    )
    if counts[PLAINLY] != 0:
        return False
    begin(rules, vectors.rows[:0], out)
    room.left[:] = 1.0
    key = np.uint64(0)
    bound = opened.numbers[BEST_BOUND]
    dense_known = False
    position = 0
    while position < len(out):
        open_position(rules, out, position)
        if rules.target[0] > 0:  # not all quotas can be met, and by how much depends on the order of those above
            leave(counts, False)
            return False
        node, at = find(nodes, room.prefix, key, position)
        if node < 0:
            node = _build(vectors, lists, rules, out, gamma, key, position, at)
        best, by, other, first = -1, -1, -1, 0
        if node >= 0:
            first, size = nodes.whole[node, FIRST], nodes.whole[node, SIZE]
            tolerance = tolerance_in(vectors.norm, vectors.rounding, state.weights, lists.epoch.weights, room.left)
            long = size > LONG + len(opened.level) // 16
            if long:
                means_of_today(vectors, state.weights, room, vectors.diminishes or not dense_known)
                dense_known = True
            open_shortlist(entries, first, size, opened, room.today, gamma, drift, tolerance, long)
            counts[VISITED] += size
            best = best_of(
                items, state, entries, opened, room, counts, first, size, gamma, tolerance, nodes.whole[node, GUESS]
            )
            nodes.whole[node, GUESS] = best
            if bound[best] > nodes.outside[node, 0] + tolerance:
                by = barred_by(rules, vectors.rows[entries.item[first + best]], out, position)
            else:
                best = -1
            if by >= 0:  # the best of all is held back: now the best of those that are allowed
                other, best, last = best, -1, int(nodes.outside[node, LAST])
                held_scores[position] = bound[other]
                for i in range(size):
                    if i == other or barred_by(rules, vectors.rows[entries.item[first + i]], out, position) >= 0:
                        bound[i] = -np.inf
                        opened.level[i] = 2
                    else:
                        best = i
                if best >= 0:
                    if last >= 0 and bound[last] == -np.inf:
                        last = -1
                    best = best_of(items, state, entries, opened, room, counts, first, size, gamma, tolerance, last)
                    nodes.outside[node, LAST] = best
                    if not bound[best] > nodes.outside[node, ALLOWED] + tolerance:
                        best = -1
        if best < 0:  # an item left out might win, or there is no room: a new epoch, or else all items
            if fresh:
                leave(counts, False)
                return False
            start_epoch(state, lists.epoch, nodes, counts, False)
            counts[LISTS] = 1
            drift, fresh = 0.0, True
            continue
        item = entries.item[first + best]
        means[position], widths[position] = opened.numbers[EXACT_MEAN, best], opened.numbers[EXACT_WIDTH, best]
        held_by[position] = by
        held[position] = vectors.rows[entries.item[first + other]] if by >= 0 else -1
        fill_position(rules, out, position, vectors.rows[item])
        place(vectors.rows[item], items, room.left, features[position])
        insert(room.prefix, position, item)
        key ^= hash_of(item)
        position += 1
    find_broken(rules, out, broken)
    return True
