"""The greedy ranker again, exact, looking only at items that can still win.

At every position the ranker is LinUCB on features fixed by the *set* of items above. Sets recur from step to step, and
the model moves little. So an **epoch** starts with a copy of the model (w0, P0, O0), and for every set met in it keeps
a **shortlist** that holds the winner for as long as the epoch lasts:

- Within an epoch O only grows, so the width of an item only shrinks: ``|phi|_P <= |phi|_P0``.
- By Cauchy-Schwarz its mean moves by at most ``|phi|_P0 * drift``, with ``drift = |w - w0|_O0``.
- Hence ``score <= phi . w0 + (gamma + drift) |phi|_P0``. For the items left out of a shortlist the highest such bound
  is convex in ``drift``, so it stays below the chord between its values at 0 and MAX_DRIFT (``out_now``, ``out_end``).

A step goes through a shortlist with three bounds, each costlier and sharper than the one before: the one above with the
width last seen; the mean of today with that width; the score itself. If the winner does not beat what was left out, a
new epoch starts; if it does not even then, :func:`rankfall.kernels.greedy.rank_in` has to make the list. A refresh of
the covariance, which may raise it by rounding, also starts a new epoch.

A model that has seen little moves so fast that shortlists do not pay. While epochs are shorter than SHORT lists,
every list is left to :func:`rankfall.kernels.greedy.rank_in`; and the next SHORT lists, where a shortlist would hold a
sixteenth of many items. Which of the two makes a list never changes it.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items, mean_of, place, variance_of
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import bounding, entry, inner, leaf
from rankfall.kernels.linear_bounds import (
    BLOCK,
    BOUND,
    MEAN,
    OUT,
    SLACKS,
    WIDTH,
    Bounds,
    bound_all,
    bring,
    new_bounds,
    tolerance_of,
)
from rankfall.kernels.ridge import REFRESHES, State

MAX_DRIFT = 0.2
SHORT = 4
LONG = 128
TOO_LONG = 4096
NO_ROOM, NOT_YET = -1, -2  # instead of a node

NODES, ENTRIES, EPOCH, BUILT, LISTS, PLAINLY, PREPARED = range(7)
"""Of :attr:`Shortlists.counts`: sets and entries in use; refreshes when the epoch began; length of the set that the
bounds hold for; lists ranked in the epoch; whether they are left to the greedy ranker; whether the bounds are those of
the epoch's model."""
SCORED, BOUNDED, EPOCHS, SHORTLISTS, PLAIN, VISITED = range(7, 13)
"""Of :attr:`Shortlists.counts`, for whoever measures: items scored, items bounded, epochs, shortlists made, lists left
to the greedy ranker, entries gone through."""

LENGTH, FIRST, SIZE, GUESS = range(4)  # columns of Nodes.whole; the set itself, ascending, comes after them
NOW, END = range(2)  # columns of Nodes.outside
ITEM_MEAN, ITEM_WIDTH, SEEN, ITEM_SLACK = range(4)  # rows of Entries.numbers
BEST_BOUND, EXACT_MEAN, EXACT_WIDTH = range(3)  # rows of Opened.numbers
DENSE, WHOLE = range(2)  # rows of Room.today


class Epoch(NamedTuple):
    """The model when the epoch began."""

    weights: Any  # (n) w0
    covariance: Any  # (n, n) P0
    gram: Any  # (n, n) O0


class Nodes(NamedTuple):
    """One node for each set of items met in the epoch."""

    table: Any  # hash table of nodes, -1 for none
    key: Any  # (N) hash of the set
    whole: Any  # (N, 4 + k) its size; where its shortlist begins in Entries, and its length; the winner last time or -1
    outside: Any  # (N, 2) highest bound of the items left out, at drift 0 and at MAX_DRIFT
    guess: Any  # (k) the winner last time at each position, where one shortlist serves all


class Entries(NamedTuple):
    """The items on shortlists."""

    item: Any  # (E)
    numbers: Any  # (4, E) mean and width when the epoch began; width last seen, an upper bound; what rounding may hide


class Opened(NamedTuple):
    """A shortlist that is gone through."""

    numbers: Any  # (3, L) bound; mean and width, where they are exact
    level: Any  # (L) how sharp the bound is: 0, 1, or 2 for exact


class Room(NamedTuple):
    """Work space."""

    top: Any  # (k)
    left: Any  # (n)
    scaled: Any  # (m)
    prefix: Any  # (k) items placed, ascending
    today: Any  # (2, L) what dense columns give to the mean of every item today, and its whole mean; see _means


class Shortlists(NamedTuple):
    """What is remembered between steps. Dropping it costs time and nothing else."""

    epoch: Epoch
    nodes: Nodes
    entries: Entries
    opened: Opened
    room: Room
    bounds: Bounds
    counts: Any  # (13)


def new_shortlists(items: Items, vectors: ItemVectors, columns: int, k: int) -> Shortlists:
    """Room for lists of up to ``k`` items."""
    n_items, m = items.dense.shape
    n_nodes = 2048
    n_entries = max(1 << 16, min(16 * n_items, 1_600_000), 4 * n_items)  # memory is taken as they are used
    counts = np.zeros(13, dtype=np.int64)
    counts[EPOCH], counts[PLAINLY] = -1, 1
    return Shortlists(
        Epoch(np.empty(columns), np.empty((columns, columns)), np.empty((columns, columns))),
        Nodes(
            table=np.empty(4 * n_nodes, dtype=np.int64),
            key=np.empty(n_nodes, dtype=np.uint64),
            whole=np.empty((n_nodes, 4 + k), dtype=np.int64),
            outside=np.empty((n_nodes, 2)),
            guess=np.empty(k, dtype=np.int64),
        ),
        Entries(np.empty(n_entries, dtype=np.int64), np.empty((4, n_entries))),
        Opened(np.empty((3, n_items)), np.empty(n_items, dtype=np.int8)),
        Room(np.empty(k), np.empty(columns), np.empty(m), np.empty(k, dtype=np.int64), np.empty((2, n_items))),
        new_bounds(vectors),
        counts,
    )


def room_for(lists: Shortlists) -> int:
    """How long lists may be."""
    return len(lists.room.top)


# Sets of items, and where their shortlists are


@leaf
def _hash(item: int) -> Any:
    """A well-mixed 64-bit number for an item (splitmix64's finaliser); a set is the exclusive or of its items."""
    x = np.uint64(item) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@leaf
def _find(nodes: Nodes, prefix: Any, key: Any, length: int) -> tuple[int, Any]:
    """The node of the set in ``prefix[:length]``, or -1; and where in the table it is or would be."""
    at = np.int64(key & np.uint64(len(nodes.table) - 1))
    while True:
        node = nodes.table[at]
        if node < 0:
            return -1, at
        if nodes.key[node] == key and nodes.whole[node, LENGTH] == length:
            same = True
            for i in range(length):
                same = same and nodes.whole[node, 4 + i] == prefix[i]
            if same:
                return node, at
        at = (at + 1) & (len(nodes.table) - 1)


@leaf
def _insert(prefix: Any, length: int, item: int) -> None:
    """Put an item into the ascending ``prefix[:length]``."""
    i = length
    while i > 0 and prefix[i - 1] > item:
        prefix[i] = prefix[i - 1]
        i -= 1
    prefix[i] = item


# Making a shortlist


@bounding
def _highest(bound: Any, width: Any, more: float) -> float:
    """The highest bound, with so many widths more."""
    highest = OUT
    for i in range(len(bound)):
        highest = max(highest, bound[i] + more * width[i])
    return highest


@inner
def _cut(bound: Any, width: Any, top: Any, gamma: float, wanted: int) -> float:
    """A score that the ``wanted`` best items will most likely keep to the end of the epoch.

    They may sink by MAX_DRIFT widths, and by what their widths shrink. A wrong guess costs an epoch, not a wrong list.
    """
    back = 0.05 * gamma + MAX_DRIFT
    if wanted == 1:
        return _highest(bound, width, -back)
    best = top[:wanted]  # ascending
    best[:] = -np.inf
    for item in range(len(bound)):
        value = bound[item] - back * width[item]
        if value > best[0]:
            i = 1
            while i < wanted and best[i] < value:
                best[i - 1] = best[i]
                i += 1
            best[i - 1] = value
    return best[0]


@inner
def _build(vectors: ItemVectors, lists: Shortlists, gamma: float, wanted: int, key: Any, length: int, at: int) -> int:
    """Make the node of the present set, with a shortlist for its ``wanted`` best items; or NO_ROOM, or NOT_YET."""
    nodes, entries, bounds, counts, room = lists.nodes, lists.entries, lists.bounds, lists.counts, lists.room
    bound, width, mean, slack = (
        bounds.numbers[BOUND],
        bounds.numbers[WIDTH],
        bounds.numbers[MEAN],
        bounds.numbers[SLACKS],
    )
    node, first = counts[NODES], counts[ENTRIES]
    if node == len(nodes.key) or first + len(bound) > len(entries.item):
        return NO_ROOM
    most = max(TOO_LONG, len(bound) // 16)
    follows = counts[BUILT] >= 0 and counts[BUILT] == length - 1
    other_model = counts[PREPARED] == 0
    bring(vectors, lists.epoch.weights, lists.epoch.covariance, room.left, bounds, other_model, not follows)
    counts[PREPARED], counts[BUILT] = 1, length
    for i in range(length):
        mean[room.prefix[i]] = OUT
    bound_all(bounds, gamma)
    cut = _cut(bound, width, room.top, gamma, wanted)
    size, now, end = 0, OUT, OUT
    for low in range(0, len(bound), BLOCK):
        high = min(low + BLOCK, len(bound))
        highest = _highest(bound[low:high], width[low:high], MAX_DRIFT)
        if highest < cut:
            now, end = max(now, bounds.top[low // BLOCK]), max(end, highest)
            continue
        for item in range(low, high):
            later = bound[item] + MAX_DRIFT * width[item]
            if later >= cut:
                if size == most:
                    return NOT_YET
                entry = first + size
                entries.item[entry] = item
                entries.numbers[ITEM_MEAN, entry] = mean[item]
                entries.numbers[ITEM_WIDTH, entry] = width[item]
                entries.numbers[SEEN, entry] = width[item]
                entries.numbers[ITEM_SLACK, entry] = slack[item]
                size += 1
            else:
                now, end = max(now, bound[item]), max(end, later)
    nodes.outside[node, NOW], nodes.outside[node, END] = now, end
    whole = nodes.whole[node]
    whole[LENGTH], whole[FIRST], whole[SIZE], whole[GUESS] = length, first, size, -1
    for i in range(length):
        whole[4 + i] = room.prefix[i]
    nodes.key[node] = key
    nodes.table[at] = node
    counts[NODES], counts[ENTRIES] = node + 1, first + size
    counts[SHORTLISTS] += 1
    counts[BOUNDED] += len(bound)
    return node


# Epochs


@inner
def _start_epoch(state: State, epoch: Epoch, nodes: Nodes, counts: Any, plainly: bool) -> None:
    """Copy the model and forget every shortlist."""
    n = len(state.weights)
    for i in range(n):
        epoch.weights[i] = state.weights[i]
        for j in range(n):
            epoch.covariance[i, j] = state.covariance[i, j]
            epoch.gram[i, j] = state.gram[i, j]
    if not plainly:
        nodes.table[:] = -1
        nodes.guess[:] = -1
    counts[NODES], counts[ENTRIES], counts[EPOCH], counts[LISTS] = 0, 0, state.counts[REFRESHES], 0
    counts[BUILT], counts[PLAINLY], counts[PREPARED] = -1, plainly, 0
    counts[EPOCHS] += 1


@bounding
def _drift(gram: Any, now: Any, then: Any) -> float:
    """``|w - w0|`` in the norm of O0, rounded up."""
    total = 0.0
    for i in range(len(now)):
        inside = 0.0
        for j in range(len(now)):
            inside += gram[i, j] * (now[j] - then[j])
        total += inside * (now[i] - then[i])
    return np.sqrt(max(total, 0.0)) * (1.0 + 1e-6)


# Going through a shortlist


@bounding
def _means(vectors: ItemVectors, weights: Any, left: Any, today: Any, dense_too: bool) -> None:
    """``phi . w`` of every item, with the weights of today: worth it where a shortlist is long."""
    columns, n_items = vectors.dense.shape
    begin = vectors.first_dense
    if dense_too:
        for low in range(0, n_items, BLOCK):
            means = today[DENSE, low : min(low + BLOCK, n_items)]
            means[:] = 0.0
            for p in range(columns):
                z = vectors.dense[p, low : low + len(means)]
                weight = weights[begin + p] * left[begin + p]
                for i in range(len(means)):
                    means[i] += weight * z[i]
    whole = today[WHOLE]
    for i in range(n_items):
        whole[i] = today[DENSE, i]
    for j in range(len(vectors.first) - 1):
        weight = weights[j] * left[j]
        for e in range(vectors.first[j], vectors.first[j + 1]):
            whole[vectors.row[e]] += weight * vectors.weight[e]


@leaf
def _open(
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
def _best(
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


@entry
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
    k, drift = len(out), np.inf
    if counts[EPOCH] == state.counts[REFRESHES]:
        drift = _drift(lists.epoch.gram, state.weights, lists.epoch.weights)
    ended = not drift <= MAX_DRIFT
    fresh = ended or (counts[PLAINLY] != 0 and counts[LISTS] >= SHORT)
    if fresh:
        _start_epoch(state, lists.epoch, nodes, counts, ended and counts[LISTS] < SHORT)
        drift = 0.0
    counts[LISTS] += 1
    if counts[PLAINLY] != 0:
        counts[PLAIN] += 1
        return False
    still = not (items.coverage_diminishes or items.relevance_diminishes)  # one shortlist serves every position
    room.left[:] = 1.0
    counts[BUILT] = -1
    key = np.uint64(0)
    tolerance = tolerance_of(vectors, state.weights, room.left)
    position = 0
    dense_known = False
    while position < k:
        length = 0 if still else position
        node, at = _find(nodes, room.prefix, key, length)
        if node < 0:
            node = _build(vectors, lists, gamma, k if still else 1, key, length, at)
        if node >= 0:
            first, size = nodes.whole[node, FIRST], nodes.whole[node, SIZE]
            if items.relevance_diminishes:
                tolerance = tolerance_of(vectors, state.weights, room.left)
            long = size > LONG + len(opened.level) // 16
            if long:
                _means(vectors, state.weights, room.left, room.today, vectors.diminishes or not dense_known)
                dense_known = True
            _open(entries, first, size, opened, room.today, gamma, drift, tolerance, long)
            counts[VISITED] += size
        beaten = node < 0
        if not beaten:
            now, end = nodes.outside[node, NOW], nodes.outside[node, END]
            outside = now + (end - now) * (drift / MAX_DRIFT) + tolerance
            if still:
                winners = room.prefix[:k]
                filled = _all_best(
                    items, state, entries, opened, room, counts, first, size, gamma, tolerance, nodes.guess, winners
                )
                beaten = filled < k or not opened.numbers[BEST_BOUND, winners[k - 1]] > outside
            else:
                best = _best(
                    items, state, entries, opened, room, counts, first, size, gamma, tolerance, nodes.whole[node, GUESS]
                )
                nodes.whole[node, GUESS] = best
                beaten = not opened.numbers[BEST_BOUND, best] > outside
        if beaten:  # an item left out might win, or there is no room: a new epoch, or else all items
            if node == NOT_YET:
                counts[PLAINLY], counts[LISTS] = 1, 0
            if fresh or node == NOT_YET:
                counts[PREPARED] = 0
                counts[PLAIN] += 1
                return False
            _start_epoch(state, lists.epoch, nodes, counts, False)
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
        _insert(room.prefix, position, item)
        key ^= _hash(item)
        position += 1
    return True
