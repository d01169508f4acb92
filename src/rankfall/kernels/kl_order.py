"""The list of :func:`rankfall.kernels.item_bounds.kl_list`, in a loop that makes one list after the other.

The KL bound of an item moves little from list to list, so that an interval around the last one mostly says how two
items stand to each other. Only where intervals overlap are the bounds solved for, as ``kl_list`` solves them: the list
is the same. With ``f(q) = kl(w, q) - delta``, which is convex and rises for q > w, and q near its root:

- ``q - f(q) / f'(q)``, a step of Newton's method, is at or above the root, on whichever side q is.
- q is below the root if ``f(q) <= 0``. Otherwise ``l = q - 2 f(q) / f'(q)`` is, if ``f'(l) >= f'(q) / 2``: from l to q
  the slope of f is no less than that. Then so is ``q - f(q) / f'(l)``.
- When the budget rises by b, the root moves up by ``b / (N f'(l))`` at most, for any l below it.
"""

import math
from typing import Any, NamedTuple

from rankfall.kernels.item_bounds import kl_above, kl_bound
from rankfall.kernels.jit import leaf


class Intervals(NamedTuple):
    """For each of L items an interval around its bound, and what it was worked out for."""

    observed: Any  # (L) N, X and the budget at that time
    clicked: Any
    budget: Any
    low: Any
    high: Any
    reach: Any  # (L) how far the root moves up at most with the budget
    solved: Any  # (L) the number of the list for which the bound was solved, from 1
    bound: Any  # (L) that bound


@leaf
def _slope(w: float, q: float) -> float:
    """``f'(q)``."""
    return (q - w) / (q * (1.0 - q))


@leaf
def _keep(at: Intervals, e: int, n: float, x: float, budget: float, low: float, high: float, slope: float) -> None:
    """An interval, a little wider than rounding may matter."""
    margin = 1e-13 / slope + 1e-14
    at.observed[e], at.clicked[e], at.budget[e] = n, x, budget
    at.low[e], at.high[e] = low - margin, high + margin
    at.reach[e] = 1.0 / (n * slope)


@leaf
def _solve(at: Intervals, e: int, n: float, x: float, budget: float, number: int) -> None:
    """The bound itself, to the bits of ``kl_list``."""
    if at.solved[e] == number:
        return
    at.solved[e] = number
    if n <= 0.0:
        at.bound[e] = at.low[e] = at.high[e] = math.inf
        at.observed[e] = -1.0
        return
    w = x / n
    delta = budget / n
    q = at.bound[e] = kl_bound(w, delta, kl_above(w, delta))
    if w < q < 1.0:
        _keep(at, e, n, x, budget, q, q, _slope(w, q))
    else:
        at.low[e] = at.high[e] = q
        at.observed[e] = -1.0  # for this list only


@leaf
def _locate(at: Intervals, e: int, n: float, x: float, budget: float, number: int) -> None:
    """An interval around the bound of an item, from the last one if that is of use."""
    if n == at.observed[e] and x == at.clicked[e] and budget >= at.budget[e]:
        at.high[e] += (budget - at.budget[e]) * at.reach[e]
        at.budget[e] = budget
        if at.high[e] - at.low[e] < 1e-4:
            return
    w = x / max(n, 1.0)
    q = 0.5 * (at.low[e] + at.high[e])
    if at.observed[e] > 0.0 and 0.0 < w < q < 1.0:
        excess = w * math.log(w / q) + (1.0 - w) * math.log((1.0 - w) / (1.0 - q)) - budget / n
        slope = _slope(w, q)
        high = q - excess / slope
        low = q
        if excess > 0.0:
            low = q - 2.0 * excess / slope
            less = _slope(w, low) if low > w else 0.0
            low = q - excess / less if 2.0 * less >= slope else -1.0
        if w < low <= high < 1.0 and high - low < 1e-4:
            _keep(at, e, n, x, budget, low, high, _slope(w, low))
            return
    _solve(at, e, n, x, budget, number)


@leaf
def kl_order(N: Any, X: Any, budget: float, number: int, at: Intervals, items: Any) -> None:
    """Fill ``items`` with the rows of the highest KL bounds, equals by the lower row; ``number`` is the list's own."""
    size = 0
    for e in range(len(N)):
        _locate(at, e, N[e], X[e], budget, number)
        place = size
        while place > 0:
            other = items[place - 1]
            if at.high[e] < at.low[other]:
                break
            if at.low[e] <= at.high[other]:
                _solve(at, e, N[e], X[e], budget, number)
                _solve(at, other, N[other], X[other], budget, number)
                if at.bound[e] <= at.bound[other]:
                    break
            place -= 1
        if place == len(items):
            continue
        size = min(size + 1, len(items))
        for i in range(size - 1, place, -1):
            items[i] = items[i - 1]
        items[place] = e
