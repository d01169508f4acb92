"""What shortlists keep within an epoch: the model it began with, the sets of items met, and a shortlist for each.

Why a shortlist holds the winner for as long as the epoch lasts is said in :mod:`rankfall.kernels.shortlists`.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import inner, leaf
from rankfall.kernels.linear_bounds import (
    BLOCK,
    MEAN,
    OUT,
    TERMS,
    Bounds,
    bound_block,
    bring,
    highest_with,
    new_bounds,
)

MAX_DRIFT = 0.2
SHORT = 4  # lists that a new model ranks without shortlists
LONG = 128
TOO_LONG = 4096
SLACK = 1e-8  # far above what rounding may raise the square of a width within an epoch, of the size of its terms
NO_ROOM, NOT_YET = -1, -2  # instead of a node

NODES, ENTRIES, EPOCH, BUILT, LISTS, PLAINLY, PREPARED, WAIT, BEFORE = range(9)
"""Of :attr:`Shortlists.counts`: sets and entries in use; refreshes when the epoch began; length of the set that the
bounds hold for; lists ranked in the epoch; whether they are left to the greedy ranker; whether the bounds are those of
the epoch's model; after how many lists shortlists are tried again or given up; entries gone through before the epoch.
"""
SCORED, BOUNDED, EPOCHS, SHORTLISTS, PLAIN, VISITED = range(9, 15)
"""Of :attr:`Shortlists.counts`, for whoever measures: items scored, items bounded, epochs, shortlists made, lists left
to the greedy ranker, entries gone through."""

LENGTH, FIRST, SIZE, GUESS = range(4)  # columns of Nodes.whole; the set itself, ascending, comes after them
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
    outside: Any  # (N, 1) what no item left out exceeds in the epoch
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
    today: Any  # (2, L) what dense columns give to the mean of every item today, and its whole mean
    none: Any  # (n) zeros


class Shortlists(NamedTuple):
    """What is remembered between steps. Dropping it costs time and nothing else."""

    epoch: Epoch
    nodes: Nodes
    entries: Entries
    opened: Opened
    room: Room
    bounds: Bounds
    counts: Any  # (15)


def new_shortlists(items: Items, vectors: ItemVectors, columns: int, k: int) -> Shortlists:
    """Room for lists of up to ``k`` items."""
    n_items, m = items.dense.shape
    n_nodes = 2048
    n_entries = max(1 << 16, min(16 * n_items, 1_600_000), 4 * n_items)  # memory is taken as they are used
    counts = np.zeros(15, dtype=np.int64)
    counts[EPOCH], counts[PLAINLY], counts[WAIT] = -1, 1, SHORT
    return Shortlists(
        Epoch(np.empty(columns), np.empty((columns, columns)), np.empty((columns, columns))),
        Nodes(
            table=np.empty(4 * n_nodes, dtype=np.int64),
            key=np.empty(n_nodes, dtype=np.uint64),
            whole=np.empty((n_nodes, 4 + k), dtype=np.int64),
            outside=np.empty((n_nodes, 1)),
            guess=np.empty(k, dtype=np.int64),
        ),
        Entries(np.empty(n_entries, dtype=np.int64), np.empty((4, n_entries))),
        Opened(np.empty((3, n_items)), np.empty(n_items, dtype=np.int8)),
        Room(
            top=np.empty(k),
            left=np.empty(columns),
            scaled=np.empty(m),
            prefix=np.empty(k, dtype=np.int64),
            today=np.empty((2, n_items), dtype=np.float32),
            none=np.zeros(columns),
        ),
        new_bounds(vectors),
        counts,
    )


def room_for(lists: Shortlists) -> int:
    """How long lists may be."""
    return len(lists.room.top)


# Sets of items, and where their shortlists are


@leaf
def hash_of(item: int) -> Any:
    """A well-mixed 64-bit number for an item (splitmix64's finaliser); a set is the exclusive or of its items."""
    x = np.uint64(item) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@leaf
def find(nodes: Nodes, prefix: Any, key: Any, length: int) -> tuple[int, Any]:
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
def insert(prefix: Any, length: int, item: int) -> None:
    """Put an item into the ascending ``prefix[:length]``."""
    i = length
    while i > 0 and prefix[i - 1] > item:
        prefix[i] = prefix[i - 1]
        i -= 1
    prefix[i] = item


# Making a shortlist


@inner
def _cut(bounds: Bounds, top: Any, gamma: float, wanted: int) -> float:
    """A score that the ``wanted`` best items will most likely keep to the end of the epoch.

    They may sink by MAX_DRIFT widths, and by what their widths shrink. A wrong guess costs an epoch, not a wrong list.
    """
    less = 0.95 * gamma - MAX_DRIFT
    best, value = top[:wanted], bounds.line[0]  # best: ascending
    best[:] = -np.inf
    for block in range(len(bounds.top)):
        if highest_with(bounds.numbers, bounds.line, block, less) <= best[0]:
            continue
        for item in range(bound_block(bounds.numbers, bounds.line, block, less)):
            if value[item] > best[0]:
                i = 1
                while i < wanted and best[i] < value[item]:
                    best[i - 1] = best[i]
                    i += 1
                best[i - 1] = value[item]
    return best[0]


@inner
def bound_what_follows(vectors: ItemVectors, lists: Shortlists, gamma: float, length: int) -> bool:
    """Bound every item that may follow the present set, which has this length, with the model of the epoch.

    False if single precision cannot.
    """
    bounds, counts, room, epoch = lists.bounds, lists.counts, lists.room, lists.epoch
    follows = counts[BUILT] >= 0 and counts[BUILT] == length - 1
    _, tolerance = bring(
        vectors, epoch.weights, epoch.covariance, gamma, room.left, bounds, counts[PREPARED] == 0, not follows, True
    )
    counts[PREPARED], counts[BUILT] = 1, length
    for i in range(length):
        bounds.numbers[MEAN, room.prefix[i]] = OUT
    return tolerance < np.inf


@leaf
def write_entry(entries: Entries, entry: int, item: int, bounds: Bounds) -> None:
    """Put an item on a shortlist; its width is in ``bounds.line``."""
    width = bounds.line[1, item % BLOCK]
    entries.item[entry] = item
    entries.numbers[ITEM_MEAN, entry] = bounds.numbers[MEAN, item]
    entries.numbers[ITEM_WIDTH, entry] = width
    entries.numbers[SEEN, entry] = width
    entries.numbers[ITEM_SLACK, entry] = SLACK * bounds.numbers[TERMS, item] ** 2


@inner
def write_node(lists: Shortlists, node: int, key: Any, length: int, at: int, size: int) -> None:
    """Keep the shortlist of the present set, whose ``size`` entries are written, as this node."""
    nodes, counts = lists.nodes, lists.counts
    whole = nodes.whole[node]
    whole[LENGTH], whole[FIRST], whole[SIZE], whole[GUESS] = length, counts[ENTRIES], size, -1
    for i in range(length):
        whole[4 + i] = lists.room.prefix[i]
    nodes.key[node] = key
    nodes.table[at] = node
    counts[NODES], counts[ENTRIES] = node + 1, counts[ENTRIES] + size
    counts[SHORTLISTS] += 1
    counts[BOUNDED] += len(lists.opened.level)


@inner
def build(vectors: ItemVectors, lists: Shortlists, gamma: float, wanted: int, key: Any, length: int, at: int) -> int:
    """Make the node of the present set, with a shortlist for its ``wanted`` best items; or NO_ROOM, or NOT_YET."""
    nodes, entries, bounds, counts, room = lists.nodes, lists.entries, lists.bounds, lists.counts, lists.room
    node, first, n_items = counts[NODES], counts[ENTRIES], len(vectors.rows)
    if node == len(nodes.key) or first + n_items > len(entries.item):
        return NO_ROOM
    most = max(TOO_LONG, n_items // 16)
    if not bound_what_follows(vectors, lists, gamma, length):
        return NOT_YET
    cut = _cut(bounds, room.top, gamma, wanted)
    later, size = bounds.line[0], 0
    for block in range(len(bounds.top)):
        if highest_with(bounds.numbers, bounds.line, block, gamma + MAX_DRIFT) < cut:
            continue
        for i in range(bound_block(bounds.numbers, bounds.line, block, gamma + MAX_DRIFT)):
            if later[i] >= cut:
                if size == most:
                    return NOT_YET
                write_entry(entries, first + size, block * BLOCK + i, bounds)
                size += 1
    nodes.outside[node, 0] = cut if size < n_items - length else OUT
    write_node(lists, node, key, length, at, size)
    return node
