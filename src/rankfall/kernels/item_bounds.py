"""Upper confidence bounds for a table of items, and the list they make.

Symbols: for item e, ``N[e]`` is how often it was observed and ``X[e]`` how often it was clicked then (both may be
discounted, so they are floats); ``w = X[e] / N[e]`` is its mean. An item never observed has an infinite bound, so it
is shown before any other. Lists are ordered by bound, equals by the lower row. Nothing here allocates.
"""

import math
from typing import Any, NamedTuple

from rankfall.kernels.jit import entry, inlined_entry, leaf


@leaf
def insert(item: int, score: float, size: int, items: Any, scores: Any) -> int:
    """Put an item into the list of the best so far, ``size`` long; it stands below its equals. The new size."""
    at = size
    while at > 0 and scores[at - 1] < score:
        at -= 1
    if at == len(items):
        return size
    new = min(size + 1, len(items))
    for i in range(new - 1, at, -1):
        items[i] = items[i - 1]
        scores[i] = scores[i - 1]
    items[at] = item
    scores[at] = score
    return new


@inlined_entry
def posterior(N: Any, X: Any, alpha: float, beta: float, out: Any) -> None:
    """The two shapes of every item's Beta posterior, ``alpha + X`` and ``beta + N - X``, as rows of ``out`` (2, L)."""
    for e in range(len(N)):
        out[0, e] = alpha + X[e]
        out[1, e] = beta + (N[e] - X[e])


@inlined_entry
def share_list(rows: Any, gammas: Any, items: Any, scores: Any) -> None:
    """The rows with the highest ``g / (g + h)``: where g and h are Gamma samples (2, L), these are Beta samples."""
    size = 0
    for e in rows:
        total = gammas[0, e] + gammas[1, e]
        share = gammas[0, e] / total if total > 0.0 else 0.5  # shapes so small that both underflow
        size = insert(e, share, size, items, scores)


@inlined_entry
def width_list(rows: Any, N: Any, X: Any, budget: float, items: Any, scores: Any) -> None:
    """The rows with the highest ``w + sqrt(budget / N)``: UCB1 and its forgetting forms."""
    size = 0
    for e in rows:
        bound = X[e] / N[e] + math.sqrt(budget / N[e]) if N[e] > 0.0 else math.inf
        size = insert(e, bound, size, items, scores)


@entry
def width_bounds(N: Any, X: Any, budget: float, out: Any) -> None:
    """For every item the bound that :func:`width_list` orders by."""
    for e in range(len(N)):
        out[e] = X[e] / N[e] + math.sqrt(budget / N[e]) if N[e] > 0.0 else math.inf


@entry
def shares(gammas: Any, out: Any) -> None:
    """For every item the share that :func:`share_list` orders by."""
    for e in range(len(out)):
        total = gammas[0, e] + gammas[1, e]
        out[e] = gammas[0, e] / total if total > 0.0 else 0.5


@leaf
def kl_above(w: float, delta: float) -> float:
    """A number in [w, 1] no smaller than the largest q with ``kl(w, q) <= delta``, and near it.

    The least of three: ``kl(w, q) >= 2 (q - w)^2`` (Pinsker), ``kl(w, q) >= (q - w)^2 / (2 q)`` for small w, and
    ``kl(w, q) >= w log w + (1 - w) log((1 - w) / (1 - q))`` near 1, where it misses 1 - q by a factor e at most.
    """
    if w <= 0.0:
        return -math.expm1(-delta)
    if w >= 1.0:
        return 1.0
    high = min(w + math.sqrt(0.5 * delta), w + delta + math.sqrt(delta * (delta + 2.0 * w)))
    return min(high, 1.0 - (1.0 - w) * math.exp((w * math.log(w) - delta) / (1.0 - w)))


@leaf
def kl_bound(w: float, delta: float, above: float) -> float:
    """The largest q in [w, 1] with ``kl(w, q) = w log(w / q) + (1 - w) log((1 - w) / (1 - q)) <= delta``.

    Newton's method from ``above``: kl is convex in q, so that each step stays at or above the root. It ends when a
    step no longer goes down, which is as exact as doubles are; at most 100 steps, of which about five are needed.
    """
    if w <= 0.0 or w >= 1.0 or above >= 1.0:
        return above
    known = w * math.log(w) + (1.0 - w) * math.log(1.0 - w) - delta
    q = above
    for _ in range(100):
        if q <= w:
            return w
        excess = known - w * math.log(q) - (1.0 - w) * math.log(1.0 - q)
        lower = q - excess * q * (1.0 - q) / (q - w)
        if not lower < q:
            break
        small = q - lower < 1e-15
        q = lower
        if small:
            break
    return max(q, w)


@entry
def kl_bounds(N: Any, X: Any, budget: float, out: Any) -> None:
    """For every item the largest q with ``N kl(w, q) <= budget``; infinite where nothing was observed."""
    for e in range(len(N)):
        if N[e] > 0.0:
            w = X[e] / N[e]
            delta = budget / N[e]
            out[e] = kl_bound(w, delta, kl_above(w, delta))
        else:
            out[e] = math.inf


@entry
def kl_list(rows: Any, N: Any, X: Any, budget: float, items: Any, scores: Any) -> None:
    """The rows with the highest :func:`kl_bounds`; those that cannot make the list are not solved for."""
    size = 0
    full = len(items)
    for e in rows:
        bound = math.inf
        if N[e] > 0.0:
            w = X[e] / N[e]
            delta = budget / N[e]
            bound = kl_above(w, delta)
            if size == full and bound <= scores[full - 1]:
                continue
            bound = kl_bound(w, delta, bound)
        size = insert(e, bound, size, items, scores)


@inlined_entry
def observe(items: Any, seen: int, hit: int, weight: float, N: Any, X: Any) -> None:
    """The first ``seen`` items were observed, the one at ``hit`` (-1: none) clicked; ``weight`` -1 takes it back."""
    for i in range(seen):
        N[items[i]] += weight
    if hit >= 0:
        X[items[hit]] += weight


@inlined_entry
def observe_all(items: Any, seen: int, clicked: Any, N: Any, X: Any) -> None:
    """The first ``seen`` items were observed; ``clicked`` says of each position whether it was clicked."""
    for i in range(seen):
        N[items[i]] += 1.0
        if clicked[i]:
            X[items[i]] += 1.0


class Ring(NamedTuple):
    """The last lists, in a ring that has room for some."""

    lists: Any  # (room, longest list) rows, as far as they were observed
    spans: Any  # (room, 2) how many were observed, and the position clicked or -1
    place: Any  # (2) where the oldest list is, and how many there are


@inlined_entry
def slide(items: Any, hit: int, window: int, ring: Ring, N: Any, X: Any) -> None:
    """A list was observed down to ``hit``, or whole for -1; the oldest one no longer counts if there are ``window``."""
    room = len(ring.spans)
    if ring.place[1] == window:
        oldest = ring.place[0]
        observe(ring.lists[oldest], ring.spans[oldest, 0], ring.spans[oldest, 1], -1.0, N, X)
        ring.place[0] = (oldest + 1) % room
        ring.place[1] -= 1
    seen = len(items) if hit < 0 else hit + 1
    observe(items, seen, hit, 1.0, N, X)
    newest = (ring.place[0] + ring.place[1]) % room
    for i in range(seen):
        ring.lists[newest, i] = items[i]
    ring.spans[newest, 0] = seen
    ring.spans[newest, 1] = hit
    ring.place[1] += 1


@inlined_entry
def fade(discount: float, N: Any, X: Any) -> None:
    """Everything observed so far counts ``discount`` times what it did."""
    for e in range(len(N)):
        N[e] *= discount
        X[e] *= discount
