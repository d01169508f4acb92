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
new epoch starts; if it does not even then, :func:`rankfall.kernels.greedy.rank` decides. A refresh of the covariance,
which may raise it by rounding, also starts a new epoch.

Rounding: the square of a width is raised by ``SLACK * sum P_jj phi_j^2`` and a bound on a mean by
``TOLERANCE * |w||phi|`` before they are compared; both are far above what double precision loses in these sums.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels import greedy
from rankfall.kernels.item_scores import Items, mean_of, place, variance_of
from rankfall.kernels.jit import bounding, bounding_leaf, inner, leaf
from rankfall.kernels.ridge import REFRESHES, State
from rankfall.kernels.topic_groups import Groups

MAX_DRIFT = 0.2
SLACK = 1e-8
TOLERANCE = 1e-12
LONG = 128

NODES, ENTRIES, EPOCH, BUILT = 0, 1, 2, 3  # sizes: sets and entries in use, refreshes at the start, see _bound_all
SCORED, BOUNDED, EPOCHS, SHORTLISTS, PLAIN, VISITED = 0, 1, 2, 3, 4, 5  # counters
OUT = -1e300  # the score of an item that is placed already


class Shortlists(NamedTuple):
    """What is remembered between steps. Dropping it costs time and nothing else."""

    # the epoch's model, and what it says of every slot
    weights: Any  # (n) w0
    covariance: Any  # (n, n) P0
    gram: Any  # (n, n) O0
    dense_mean: Any  # (L) z . w0
    dense_variance: Any  # (L) z' P0 z
    dense_scale: Any  # (L) sum P_jj z_j^2
    cross: Any  # (nnz) 2 P0[topic] . z for each coverage entry
    mean: Any  # (L) bounds for the set last built: mean,
    score: Any  # (L) score at drift 0,
    width: Any  # (L) width,
    slack: Any  # (L) and what rounding may hide of its square
    # one node for each set met
    table: Any  # hash table of nodes, -1 for none
    key: Any  # (N) hash of the set
    members: Any  # (N, k) the set, ascending
    length: Any  # (N) its size
    first: Any  # (N) its shortlist: entries first to first + size
    size: Any  # (N)
    out_now: Any  # (N) highest score of the items left out, at drift 0
    out_end: Any  # (N) and at MAX_DRIFT
    guess: Any  # (N) the winner last time, or -1; by position where one shortlist serves all
    # shortlist entries
    slot: Any  # (E)
    item_mean: Any  # (E) mean at the start of the epoch
    item_width: Any  # (E) width at the start of the epoch
    item_seen: Any  # (E) width last seen, an upper bound
    item_slack: Any  # (E)
    # work space
    rows: Any  # (L) 0, 1, ...
    block: Any  # (512)
    top: Any  # (k)
    left: Any  # (n)
    ones: Any  # (n)
    scaled: Any  # (m)
    prefix: Any  # (k) items placed, ascending
    dense_today: Any  # (L) z . w of every slot,
    mean_today: Any  # (L) and its whole mean, see _means
    bound: Any  # (L) of the items on a shortlist,
    level: Any  # (L) and how sharp it is: 0, 1, or 2 for exact
    exact_mean: Any  # (L)
    exact_width: Any  # (L)
    sizes: Any  # (4)
    counters: Any  # (6)


def new_shortlists(items: Items, columns: int, k: int) -> Shortlists:
    """Room for lists of up to ``k`` items."""
    n_items, m = items.dense.shape
    nodes = 2048
    entries = max(1 << 16, min(16 * n_items, 1_600_000), 4 * n_items)  # memory is taken as they are used
    names_of_items = (
        "mean",
        "score",
        "width",
        "slack",
        "dense_today",
        "mean_today",
        "bound",
        "exact_mean",
        "exact_width",
    )
    numbers = {
        "weights": columns,
        "covariance": (columns, columns),
        "gram": (columns, columns),
        **dict.fromkeys(names_of_items, n_items),
        **dict.fromkeys(("out_now", "out_end"), nodes),
        **dict.fromkeys(("item_mean", "item_width", "item_seen", "item_slack"), entries),
        "block": 512,
        "top": k,
        "left": columns,
        "scaled": m,
    }
    wholes = {"members": (nodes, k), "length": nodes, "first": nodes, "size": nodes, "slot": entries, "prefix": k}
    return Shortlists(
        **{name: np.empty(shape) for name, shape in numbers.items()},
        **{name: np.empty(shape, dtype=np.int64) for name, shape in wholes.items()},
        dense_mean=np.zeros(n_items),
        dense_variance=np.zeros(n_items),
        dense_scale=np.zeros(n_items),
        cross=np.zeros(len(items.topic)),
        table=np.full(4 * nodes, -1, dtype=np.int64),
        key=np.empty(nodes, dtype=np.uint64),
        guess=np.full(max(nodes, k), -1, dtype=np.int64),
        rows=np.arange(n_items),
        ones=np.ones(columns),
        level=np.empty(n_items, dtype=np.int8),
        sizes=np.array([0, 0, -1, -1]),
        counters=np.zeros(6, dtype=np.int64),
    )


@leaf
def _hash(item: int) -> Any:
    """A well-mixed 64-bit number for an item (splitmix64's finaliser); a set is the exclusive or of its items."""
    x = np.uint64(item) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@leaf
def _find(lists: Shortlists, key: Any, length: int) -> tuple[int, Any]:
    """The node of the set in ``lists.prefix[:length]``, or -1; and where in the table it is or would be."""
    at = np.int64(key & np.uint64(len(lists.table) - 1))
    while True:
        node = lists.table[at]
        if node < 0:
            return -1, at
        if lists.key[node] == key and lists.length[node] == length:
            same = True
            for i in range(length):
                same = same and lists.members[node, i] == lists.prefix[i]
            if same:
                return node, at
        at = (at + 1) & (len(lists.table) - 1)


@bounding
def _dense_parts(groups: Groups, lists: Shortlists, left: Any) -> None:
    """What relevance contributes to mean and variance of every slot under (w0, P0)."""
    m, n_items = groups.dense.shape
    d = len(lists.weights) - m
    row = lists.block
    for low in range(0, n_items, len(row)):
        n = min(len(row), n_items - low)
        mean = lists.dense_mean[low : low + n]
        variance = lists.dense_variance[low : low + n]
        scale = lists.dense_scale[low : low + n]
        mean[:] = 0.0
        variance[:] = 0.0
        scale[:] = 0.0
        for p in range(m):
            z = groups.dense[p, low : low + n]
            weight = lists.weights[d + p] * left[d + p]
            own = lists.covariance[d + p, d + p] * left[d + p] * left[d + p]
            for i in range(n):
                row[i] = own * z[i]
            for q in range(p):
                other = groups.dense[q, low : low + n]
                both = 2.0 * lists.covariance[d + p, d + q] * left[d + p] * left[d + q]
                for i in range(n):
                    row[i] += both * other[i]
            for i in range(n):
                mean[i] += weight * z[i]
                variance[i] += row[i] * z[i]
                scale[i] += own * z[i] * z[i]
    for g in range(len(groups.entry)):
        low = groups.first[g]
        n = groups.first[g + 1] - low
        at = groups.entry[g]
        for t in range(groups.topics[g], groups.topics[g + 1]):
            cross = lists.cross[at : at + n]
            cross[:] = 0.0
            for q in range(m):
                z = groups.dense[q, low : low + n]
                both = 2.0 * lists.covariance[groups.topic[t], d + q] * left[d + q]
                for i in range(n):
                    cross[i] += both * z[i]
            at += n


@bounding_leaf
def _bound_group(g: int, groups: Groups, lists: Shortlists, gamma: float) -> None:
    """Mean, score at drift 0, width and slack of the items of a group, under (w0, P0) and what the set leaves."""
    low = groups.first[g]
    n = groups.first[g + 1] - low
    mean = lists.mean[low : low + n]
    score = lists.score[low : low + n]
    width = lists.width[low : low + n]
    slack = lists.slack[low : low + n]
    dense_mean = lists.dense_mean[low : low + n]
    dense_variance = lists.dense_variance[low : low + n]
    dense_scale = lists.dense_scale[low : low + n]
    for i in range(n):
        mean[i] = dense_mean[i]
        width[i] = dense_variance[i]
        slack[i] = dense_scale[i]
    first = groups.topics[g]
    for t in range(first, groups.topics[g + 1]):
        j = groups.topic[t]
        left = lists.left[j]
        at = groups.entry[g] + (t - first) * n
        x = groups.weight[at : at + n]
        cross = lists.cross[at : at + n]
        weight = left * lists.weights[j]
        own = left * left * lists.covariance[j, j]
        for i in range(n):
            mean[i] += weight * x[i]
            width[i] += (left * cross[i] + own * x[i]) * x[i]
            slack[i] += own * x[i] * x[i]
        for u in range(first, t):
            at = groups.entry[g] + (u - first) * n
            other = groups.weight[at : at + n]
            both = 2.0 * left * lists.left[groups.topic[u]] * lists.covariance[j, groups.topic[u]]
            for i in range(n):
                width[i] += both * other[i] * x[i]
    for i in range(n):
        slack[i] *= SLACK
        width[i] = np.sqrt(max(width[i], 0.0) + slack[i])
        score[i] = mean[i] + gamma * width[i]


@bounding
def _bound_all(items: Items, groups: Groups, lists: Shortlists, gamma: float, length: int, last: int) -> None:
    """Bring the bounds of all slots to the present set of ``length`` items, of which ``last`` came last.

    If they hold for the set without it (``sizes[BUILT]``), only groups that share a topic with it have moved.
    """
    only_near = lists.sizes[BUILT] >= 0 and lists.sizes[BUILT] == length - 1 and not items.relevance_diminishes
    if items.relevance_diminishes:
        _dense_parts(groups, lists, lists.left)
    for g in range(len(groups.entry)):
        moved = not only_near
        if only_near:
            for t in range(groups.topics[g], groups.topics[g + 1]):
                for p in range(items.start[last], items.start[last + 1]):
                    moved = moved or groups.topic[t] == items.topic[p]
        if moved:
            _bound_group(g, groups, lists, gamma)
            lists.counters[BOUNDED] += groups.first[g + 1] - groups.first[g]
    for i in range(length):
        slot = groups.slot[lists.prefix[i]]
        lists.score[slot] = OUT
        lists.width[slot] = 0.0
    lists.sizes[BUILT] = length


@bounding
def _highest(lists: Shortlists, back: float) -> float:
    """The highest score, less ``back`` widths."""
    highest = OUT
    for i in range(len(lists.score)):
        highest = max(highest, lists.score[i] - back * lists.width[i])
    return highest


@inner
def _cut(lists: Shortlists, gamma: float, wanted: int) -> float:
    """A score that the ``wanted`` best items will most likely keep to the end of the epoch.

    They may sink by MAX_DRIFT widths, and by what their widths shrink. A wrong guess costs an epoch, not a wrong list.
    """
    back = 0.05 * gamma + MAX_DRIFT
    if wanted == 1:
        return _highest(lists, back)
    top = lists.top[:wanted]  # ascending
    top[:] = -np.inf
    for slot in range(len(lists.score)):
        value = lists.score[slot] - back * lists.width[slot]
        if value > top[0]:
            i = 1
            while i < wanted and top[i] < value:
                top[i - 1] = top[i]
                i += 1
            top[i - 1] = value
    return top[0]


@inner
def _build(
    items: Items,
    groups: Groups,
    lists: Shortlists,
    gamma: float,
    wanted: int,
    key: Any,
    length: int,
    last: int,
    at: int,
) -> int:
    """Make the node of the present set, with a shortlist for its ``wanted`` best items; -1 if there is no room."""
    node = lists.sizes[NODES]
    first = lists.sizes[ENTRIES]
    if node == len(lists.length) or first + len(lists.score) > len(lists.slot):
        return -1
    _bound_all(items, groups, lists, gamma, length, last)
    cut = _cut(lists, gamma, wanted)
    size = 0
    out_now = OUT
    out_end = OUT
    for slot in range(len(lists.score)):
        end = lists.score[slot] + MAX_DRIFT * lists.width[slot]
        if end >= cut:
            entry = first + size
            lists.slot[entry] = slot
            lists.item_mean[entry] = lists.mean[slot]
            lists.item_width[entry] = lists.width[slot]
            lists.item_seen[entry] = lists.width[slot]
            lists.item_slack[entry] = lists.slack[slot]
            size += 1
        else:
            out_now = max(out_now, lists.score[slot])
            out_end = max(out_end, end)
    lists.first[node] = first
    lists.size[node] = size
    lists.out_now[node] = out_now
    lists.out_end[node] = out_end
    lists.key[node] = key
    lists.length[node] = length
    for i in range(length):
        lists.members[node, i] = lists.prefix[i]
    lists.table[at] = node
    lists.sizes[NODES] = node + 1
    lists.sizes[ENTRIES] = first + size
    lists.counters[SHORTLISTS] += 1
    return node


@inner
def _start_epoch(items: Items, state: State, groups: Groups, lists: Shortlists) -> None:
    """Copy the model and forget every shortlist."""
    n = len(lists.weights)
    for i in range(n):
        lists.weights[i] = state.weights[i]
        for j in range(n):
            lists.covariance[i, j] = state.covariance[i, j]
            lists.gram[i, j] = state.gram[i, j]
    for i in range(len(lists.table)):
        lists.table[i] = -1
    for i in range(len(lists.guess)):
        lists.guess[i] = -1
    lists.sizes[NODES] = 0
    lists.sizes[ENTRIES] = 0
    lists.sizes[EPOCH] = state.counts[REFRESHES]
    lists.sizes[BUILT] = -1
    lists.counters[EPOCHS] += 1
    if items.dense.shape[1] and not items.relevance_diminishes:
        _dense_parts(groups, lists, lists.ones)


@inner
def _drift(state: State, lists: Shortlists) -> float:
    """``|w - w0|`` in the norm of O0, rounded up."""
    n = len(state.weights)
    total = 0.0
    for i in range(n):
        inside = 0.0
        for j in range(n):
            inside += lists.gram[i, j] * (state.weights[j] - lists.weights[j])
        total += inside * (state.weights[i] - lists.weights[i])
    return np.sqrt(max(total, 0.0)) * (1.0 + 1e-6)


@bounding
def _means(groups: Groups, lists: Shortlists, weights: Any, dense_too: bool) -> None:
    """``phi . w`` of every slot, with the weights of today: worth it where a shortlist is long."""
    m, n_items = groups.dense.shape
    d = len(weights) - m
    if dense_too:
        lists.dense_today[:] = 0.0
        for low in range(0, n_items, 512):
            today = lists.dense_today[low : min(low + 512, n_items)]
            for p in range(m):
                z = groups.dense[p, low : low + len(today)]
                weight = weights[d + p] * lists.left[d + p]
                for i in range(len(today)):
                    today[i] += weight * z[i]
    for g in range(len(groups.entry)):
        low = groups.first[g]
        n = groups.first[g + 1] - low
        mean = lists.mean_today[low : low + n]
        today = lists.dense_today[low : low + n]
        for i in range(n):
            mean[i] = today[i]
        for t in range(groups.topics[g], groups.topics[g + 1]):
            at = groups.entry[g] + (t - groups.topics[g]) * n
            x = groups.weight[at : at + n]
            weight = weights[groups.topic[t]] * lists.left[groups.topic[t]]
            for i in range(n):
                mean[i] += weight * x[i]


@leaf
def _open(lists: Shortlists, node: int, gamma: float, drift: float, tolerance: float, long: bool) -> None:
    """Bound every item of a shortlist: by its mean of today if that is known (``long``), or else by the drift."""
    first = lists.first[node]
    for i in range(lists.size[node]):
        entry = first + i
        mean = lists.item_mean[entry] + drift * lists.item_width[entry]
        if long:
            mean = lists.mean_today[lists.slot[entry]]
        lists.bound[i] = mean + gamma * lists.item_seen[entry] + tolerance
        lists.level[i] = 1 if long else 0
    lists.counters[VISITED] += lists.size[node]


@leaf
def _use_mean(
    i: int, entry: int, items: Items, state: State, groups: Groups, lists: Shortlists, gamma: float, tolerance: float
) -> None:
    """Sharpen the bound of shortlist item ``i`` with its mean of today."""
    mean = mean_of(groups.item[lists.slot[entry]], items, lists.left, state.weights)
    lists.bound[i] = mean + gamma * lists.item_seen[entry] + tolerance
    lists.level[i] = 1


@leaf
def _use_score(i: int, entry: int, items: Items, state: State, groups: Groups, lists: Shortlists, gamma: float) -> None:
    """Make the bound of shortlist item ``i`` its exact score."""
    item = groups.item[lists.slot[entry]]
    variance = variance_of(item, items, lists.left, state.covariance, lists.scaled)
    lists.exact_mean[i] = mean_of(item, items, lists.left, state.weights)
    lists.exact_width[i] = np.sqrt(variance)
    lists.bound[i] = lists.exact_mean[i] + gamma * lists.exact_width[i]
    lists.level[i] = 2
    lists.item_seen[entry] = np.sqrt(variance + lists.item_slack[entry])
    lists.counters[SCORED] += 1


@leaf
def _best(
    items: Items,
    state: State,
    groups: Groups,
    lists: Shortlists,
    node: int,
    gamma: float,
    tolerance: float,
    guess: int,
) -> int:
    """Index on the shortlist of the highest score, the lowest row of equals. ``guess`` (-1: none) is where to begin."""
    first = lists.first[node]
    size = lists.size[node]
    best = guess
    if best >= 0 and lists.level[best] < 2:
        _use_score(best, first + best, items, state, groups, lists, gamma)
    highest = lists.bound[best] if best >= 0 else -np.inf
    rival = -1
    for i in range(size):
        if lists.level[i] == 0 and lists.bound[i] >= highest:
            _use_mean(i, first + i, items, state, groups, lists, gamma, tolerance)
        if lists.bound[i] >= highest and i != best and (rival < 0 or lists.bound[i] > lists.bound[rival]):
            rival = i
    if rival < 0:
        return best
    if lists.level[rival] < 2:
        _use_score(rival, first + rival, items, state, groups, lists, gamma)
    if best < 0:
        best = rival
    for i in range(size):
        if lists.bound[i] >= lists.bound[best] and i != best:
            if lists.level[i] < 2:
                _use_score(i, first + i, items, state, groups, lists, gamma)
            higher = lists.bound[i] > lists.bound[best]
            equal = lists.bound[i] == lists.bound[best]
            if higher or (equal and groups.item[lists.slot[first + i]] < groups.item[lists.slot[first + best]]):
                best = i
    return best


@inner
def rank(
    items: Items,
    state: State,
    gamma: float,
    groups: Groups,
    lists: Shortlists,
    out: Any,
    features: Any,
    means: Any,
    widths: Any,
) -> None:
    """Fill ``out`` (rows, best first), ``features``, ``means`` and ``widths``, as ``greedy.rank`` does."""
    k = len(out)
    still = not (items.coverage_diminishes or items.relevance_diminishes)  # one shortlist serves every position
    drift = _drift(state, lists) if lists.sizes[EPOCH] == state.counts[REFRESHES] else np.inf
    fresh = not drift <= MAX_DRIFT
    if fresh:
        _start_epoch(items, state, groups, lists)
        drift = 0.0
    norm = 0.0
    for j in range(len(state.weights)):
        norm += state.weights[j] * state.weights[j]
    norm = np.sqrt(norm)
    lists.left[:] = 1.0
    lists.sizes[BUILT] = -1
    key = np.uint64(0)
    tolerance = TOLERANCE * norm * groups.norm
    position = 0
    node = -1
    best = -1
    dense_known = False
    while position < k:
        if node < 0 or not still:
            length = 0 if still else position
            node, at = _find(lists, key, length)
            if node < 0:
                wanted = k if still else 1
                node = _build(items, groups, lists, gamma, wanted, key, length, out[max(length - 1, 0)], at)
            if node >= 0:
                if items.relevance_diminishes:
                    growth = 1.0
                    for j in range(len(lists.left)):
                        growth = max(growth, abs(lists.left[j]))
                    tolerance = TOLERANCE * norm * groups.norm * growth
                long = lists.size[node] > LONG + len(lists.score) // 16
                if long:
                    _means(groups, lists, state.weights, items.relevance_diminishes or not dense_known)
                    dense_known = True
                _open(lists, node, gamma, drift, tolerance, long)
        beaten = node < 0
        if not beaten:
            hint = position if still else node
            guess = lists.guess[hint]
            if guess >= 0 and lists.bound[guess] == -np.inf:  # placed already
                guess = -1
            best = _best(items, state, groups, lists, node, gamma, tolerance, guess)
            lists.guess[hint] = best
            outside = lists.out_now[node] + (lists.out_end[node] - lists.out_now[node]) * (drift / MAX_DRIFT)
            beaten = not lists.bound[best] > outside + tolerance
        if beaten:  # an item left out might win, or there is no room: a new epoch, or else all items
            if fresh:
                out[:] = -1
                lists.counters[SCORED] += greedy.rank(items, state, gamma, lists.rows, out, features, means, widths)
                lists.counters[PLAIN] += 1
                return
            _start_epoch(items, state, groups, lists)
            drift = 0.0
            fresh = True
            node = -1
            if still:
                position = 0
                lists.left[:] = 1.0
            continue
        item = groups.item[lists.slot[lists.first[node] + best]]
        out[position] = item
        means[position] = lists.exact_mean[best]
        widths[position] = lists.exact_width[best]
        place(item, items, lists.left, features[position])
        if still:
            lists.bound[best] = -np.inf
        else:
            i = position
            while i > 0 and lists.prefix[i - 1] > item:
                lists.prefix[i] = lists.prefix[i - 1]
                i -= 1
            lists.prefix[i] = item
            key ^= _hash(item)
        position += 1
