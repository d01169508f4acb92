"""Lists for a sum of means and one confidence bonus of the whole list: linear plus submodular, greedily.

Symbols as in :mod:`rankfall.kernels.item_bounds`: item e was observed ``N[e]`` times, clicked ``X[e]`` times, and has
``w = X[e] / N[e]``. The value of a list S is ``sum of w + sqrt(sum of budget / N)``.
"""

import math
from typing import Any

from rankfall.kernels.jit import entry, leaf


@leaf
def _mean(e: int, N: Any, X: Any) -> float:
    return X[e] / N[e] if N[e] > 0.0 else 0.0


@leaf
def _square(e: int, N: Any, budget: float) -> float:
    return budget / N[e] if N[e] > 0.0 else math.inf


@entry
def greedy_list(rows: Any, N: Any, X: Any, budget: float, items: Any, scores: Any) -> None:
    """Fill ``items`` with rows, at each position the one that adds most to the value, and ``scores`` with what it adds.

    Items never observed come first, in the order of rows; equals by the lower row. They add nothing to the bonus of
    those below, as the list has no bound anyhow.
    """
    squares, size = 0.0, 0
    for e in rows:
        if size < len(items) and N[e] <= 0.0:
            items[size], scores[size] = e, math.inf
            size += 1
    for position in range(size, len(items)):
        best, highest, root = -1, -math.inf, math.sqrt(squares)
        for e in rows:
            if N[e] <= 0.0:
                continue
            gain = X[e] / N[e] + (math.sqrt(squares + budget / N[e]) - root)
            if gain > highest:
                taken = False
                for i in range(size, position):
                    taken = taken or items[i] == e
                if not taken:
                    best, highest = e, gain
        items[position], scores[position] = best, highest
        squares += budget / N[best]


@entry
def exchange(rows: Any, N: Any, X: Any, budget: float, least: float, items: Any) -> int:
    """Exchange an item of the list for one outside while the value grows by more than ``least``; how often it was done.

    Each time the exchange that gains most is made, of equals the first. Nothing is done while the list has an item that
    was never observed.
    """
    done = 0
    for e in items:
        if N[e] <= 0.0:
            return done
    while True:
        squares = 0.0
        for e in items:
            squares += _square(e, N, budget)
        root, most = math.sqrt(squares), least
        out, comes = -1, -1
        for position in range(len(items)):
            old = items[position]
            rest = squares - _square(old, N, budget)
            for e in rows:
                gain = _mean(e, N, X) - _mean(old, N, X)
                gain += math.sqrt(max(rest + _square(e, N, budget), 0.0)) - root
                if gain > most:
                    inside = False
                    for other in items:
                        inside = inside or other == e
                    if not inside:
                        out, comes, most = position, e, gain
        if out < 0:
            return done
        items[out] = comes
        done += 1
