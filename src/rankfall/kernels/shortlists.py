"""The greedy ranker again, exact, looking only at items that can still win.

At every position the ranker is LinUCB on features fixed by the *set* of items above. Sets recur from step to step, and
the model moves little. So an **epoch** starts with a copy of the model (w0, P0, O0), and for every set met in it keeps
a **shortlist** that holds the winner for as long as the epoch lasts:

- Within an epoch O only grows, so the width of an item only shrinks: ``|phi|_P <= |phi|_P0``.
- By Cauchy-Schwarz its mean moves by at most ``|phi|_P0 * drift``, with ``drift = |w - w0|_O0``.
- Hence ``score <= phi . w0 + (gamma + drift) |phi|_P0``, and drift is at most MAX_DRIFT. A shortlist has the items for
  which that is as high as a score which the winner will most likely keep; so none of those left out gets as high.

A step goes through a shortlist with three bounds, each costlier and sharper than the one before: the one above with the
width last seen; the mean of today with that width; the score itself. If the winner does not beat what was left out, a
new epoch starts; if it does not even then, :func:`rankfall.kernels.greedy.rank_in` has to make the list. A refresh of
the covariance, which may raise it by rounding, also starts a new epoch.

A model that has seen little moves so fast that shortlists do not pay. While they do not
(:mod:`rankfall.kernels.epoch_lengths`), every list is left to :func:`rankfall.kernels.greedy.rank_in`; and so are the
next lists where a shortlist would hold a sixteenth of many items. Which of the two makes a list never changes it.
"""

from typing import Any

import numpy as np

from rankfall.kernels.epoch_lengths import begin_list, leave, position_cost, start_epoch
from rankfall.kernels.epochs import (
    BEST_BOUND,
    DENSE,
    EXACT_MEAN,
    EXACT_WIDTH,
    FIRST,
    GUESS,
    ITEM_MEAN,
    ITEM_SLACK,
    ITEM_WIDTH,
    LISTS,
    LONG,
    NOT_YET,
    PLAINLY,
    SCORED,
    SEEN,
    SIZE,
    VISITED,
    WHOLE,
    Entries,
    Opened,
    Room,
    Shortlists,
    build,
    find,
    hash_of,
    insert,
)
from rankfall.kernels.item_scores import Items, mean_of, place, variance_of
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import inlined_entry, inner, leaf
from rankfall.kernels.linear_bounds import add_topic_means, dense_means, tolerance_of
from rankfall.kernels.ridge import State


@inner
def means_of_today(vectors: ItemVectors, weights: Any, room: Room, dense_too: bool) -> None:
    """``phi . w`` of every item, with the weights of today: worth it where a shortlist is long."""
    dense, whole = room.today[DENSE], room.today[WHOLE]
    if dense_too:
        dense_means(vectors, weights, room.left, dense)
    for i in range(len(whole)):
        whole[i] = dense[i]
    add_topic_means(vectors, weights, room.left, room.none, whole)


@leaf
def tolerance_in(norm: float, rounding: float, weights: Any, before: Any, left: Any) -> float:
    """By how much a mean may be above its bound, with the weights of today or those from before."""
    return max(tolerance_of(norm, rounding, weights, left), tolerance_of(norm, rounding, before, left))


@leaf
def open_shortlist(
    entries: Entries, first: int, size: int, opened: Opened, today: Any, gamma: float, drift: float, tolerance: float,
    long: bool,
) -> None:  # fmt: skip
    """Bound every item of a shortlist: by its mean of today if that is known (``long``), or else by the drift."""
    numbers = entries.numbers
    for i in range(size):
        entry = first + i
        mean = numbers[ITEM_MEAN, entry] + drift * numbers[ITEM_WIDTH, entry]
        if long:
            mean = today[WHOLE, entries.item[entry]]
        opened.numbers[BEST_BOUND, i] = mean + gamma * numbers[SEEN, entry] + tolerance
        opened.level[i] = 1 if long else 0


@leaf
def _score(
    i: int, items: Items, state: State, entries: Entries, opened: Opened, room: Room, counts: Any, first: int,
    gamma: float,
) -> None:  # fmt: skip
    """Score an item of a shortlist."""
    item = entries.item[first + i]
    variance = variance_of(item, items, room.left, state.covariance, room.scaled)
    opened.numbers[EXACT_MEAN, i] = mean_of(item, items, room.left, state.weights)
    opened.numbers[EXACT_WIDTH, i] = np.sqrt(variance)
    opened.numbers[BEST_BOUND, i] = opened.numbers[EXACT_MEAN, i] + gamma * opened.numbers[EXACT_WIDTH, i]
    opened.level[i] = 2
    entries.numbers[SEEN, first + i] = np.sqrt(variance + entries.numbers[ITEM_SLACK, first + i])
    counts[SCORED] += 1


@leaf
def best_of(
    items: Items, state: State, entries: Entries, opened: Opened, room: Room, counts: Any, first: int, size: int,
    gamma: float, tolerance: float, guess: int,
) -> int:  # fmt: skip
    """Index on the shortlist of the highest score, the lowest row of equals. ``guess`` (-1: none) is where to begin.

    First the guess is scored, then the highest bound of the others: where one of them wins, few more need to be.
    """
    bound, level = opened.numbers[BEST_BOUND], opened.level
    best, rival = -1, guess
    for turn in range(3):
        if turn == 1:
            rival = -1
            highest = bound[best] if best >= 0 else -np.inf
            for i in range(size):
                if bound[i] < highest:
                    continue
                if level[i] == 0:
                    mean = mean_of(entries.item[first + i], items, room.left, state.weights)
                    bound[i] = mean + gamma * entries.numbers[SEEN, first + i] + tolerance
                    level[i] = 1
                if bound[i] >= highest and i != best and (rival < 0 or bound[i] > bound[rival]):
                    rival = i
            if rival < 0:
                return best
        for i in range(max(rival, 0) if turn < 2 else 0, rival + 1 if turn < 2 else size):
            if i == best or (best >= 0 and bound[i] < bound[best]):
                continue
            if level[i] < 2:
                _score(i, items, state, entries, opened, room, counts, first, gamma)
            higher = best < 0 or bound[i] > bound[best]
            equal = best >= 0 and bound[i] == bound[best]
            if higher or (equal and entries.item[first + i] < entries.item[first + best]):
                best = i
    return best


@leaf
def _insert_best(i: int, bound: Any, best: Any, filled: int) -> int:
    """Put an index where it belongs among the ``best``, by falling bound and then in order; how many there are now."""
    last = len(best) - 1
    if filled > last:
        if not bound[i] > bound[best[last]] and not (bound[i] == bound[best[last]] and i < best[last]):
            return filled
        at = last
    else:
        at = filled
        filled += 1
    while at > 0 and (bound[i] > bound[best[at - 1]] or (bound[i] == bound[best[at - 1]] and i < best[at - 1])):
        best[at] = best[at - 1]
        at -= 1
    best[at] = i
    return filled


@inner
def _all_best(
    items: Items, state: State, entries: Entries, opened: Opened, room: Room, counts: Any, first: int, size: int,
    gamma: float, tolerance: float, guess: Any, best: Any,
) -> int:  # fmt: skip
    """Where nothing diminishes: fill ``best`` with the indices of the highest scores, in order; how many there are.

    Those of the last list (``guess``), or else of the highest bounds, are scored first. Few others can beat them.
    """
    bound, level = opened.numbers[BEST_BOUND], opened.level
    k, filled = len(best), 0
    if guess[0] < 0:
        for i in range(size):
            filled = _insert_best(i, bound, best, filled)
        for position in range(filled):
            guess[position] = best[position]
        filled = 0
    for turn in range(k + size):
        i = guess[turn] if turn < k else turn - k
        if i < 0 or level[i] == 2 or (filled == k and bound[i] < bound[best[k - 1]]):
            continue
        if level[i] == 0:
            mean = mean_of(entries.item[first + i], items, room.left, state.weights)
            bound[i] = mean + gamma * entries.numbers[SEEN, first + i] + tolerance
            level[i] = 1
            if filled == k and bound[i] < bound[best[k - 1]]:
                continue
        _score(i, items, state, entries, opened, room, counts, first, gamma)
        filled = _insert_best(i, bound, best, filled)
    for position in range(filled):
        guess[position] = best[position]
    return filled


@inlined_entry
def rank(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    lists: Shortlists,
    out: Any,
    features: Any,
    means: Any,
    widths: Any,
) -> bool:
    """Fill ``out`` (rows, best first), ``features``, ``means`` and ``widths``, as the greedy ranker does.

    ``vectors`` are those of all items. Returns False where the greedy ranker must make the list; it may use
    ``lists.bounds`` then.
    """
    counts, nodes, entries, opened, room = lists.counts, lists.nodes, lists.entries, lists.opened, lists.room
    k = len(out)
    drift, fresh = begin_list(state, lists.epoch, nodes, counts, position_cost(items, vectors), len(opened.level), k)
    if counts[PLAINLY] != 0:
        return False
    still = not (items.coverage_diminishes or items.relevance_diminishes)  # one shortlist serves every position
    room.left[:] = 1.0
    key = np.uint64(0)
    tolerance = tolerance_in(vectors.norm, vectors.rounding, state.weights, lists.epoch.weights, room.left)
    position = 0
    dense_known = False
    while position < k:
        length = 0 if still else position
        node, at = find(nodes, room.prefix, key, length)
        if node < 0:
            node = build(vectors, lists, gamma, k if still else 1, key, length, at)
        if node >= 0:
            first, size = nodes.whole[node, FIRST], nodes.whole[node, SIZE]
            if items.relevance_diminishes:
                tolerance = tolerance_in(vectors.norm, vectors.rounding, state.weights, lists.epoch.weights, room.left)
            long = size > LONG + len(opened.level) // 16
            if long:
                means_of_today(vectors, state.weights, room, vectors.diminishes or not dense_known)
                dense_known = True
            open_shortlist(entries, first, size, opened, room.today, gamma, drift, tolerance, long)
            counts[VISITED] += size
        beaten = node < 0
        if not beaten:
            outside = nodes.outside[node, 0] + tolerance
            if still:
                winners = room.prefix[:k]
                filled = _all_best(
                    items, state, entries, opened, room, counts, first, size, gamma, tolerance, nodes.guess, winners
                )
                beaten = filled < k or not opened.numbers[BEST_BOUND, winners[k - 1]] > outside
            else:
                best = best_of(
                    items, state, entries, opened, room, counts, first, size, gamma, tolerance, nodes.whole[node, GUESS]
                )
                nodes.whole[node, GUESS] = best
                beaten = not opened.numbers[BEST_BOUND, best] > outside
        if beaten:  # an item left out might win, or there is no room: a new epoch, or else all items
            if fresh or node == NOT_YET:
                leave(counts, node == NOT_YET)
                return False
            start_epoch(state, lists.epoch, nodes, counts, False)
            counts[LISTS] = 1
            drift, fresh = 0.0, True
            continue
        if still:
            for position in range(k):
                best = winners[position]
                out[position] = entries.item[first + best]
                means[position], widths[position] = opened.numbers[EXACT_MEAN, best], opened.numbers[EXACT_WIDTH, best]
                place(out[position], items, room.left, features[position])
            return True
        item = entries.item[first + best]
        out[position] = item
        means[position], widths[position] = opened.numbers[EXACT_MEAN, best], opened.numbers[EXACT_WIDTH, best]
        place(item, items, room.left, features[position])
        insert(room.prefix, position, item)
        key ^= hash_of(item)
        position += 1
    return True
