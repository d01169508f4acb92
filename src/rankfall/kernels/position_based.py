"""Bounds and samples of attraction under position-based clicks.

``N[i, l]`` is how often item i was shown at position l, ``S[i, l]`` how often it was clicked there, ``kappa[l]`` how
likely the position is examined. The log-likelihood of an attraction x of item i is, with F = N - S,
``h(x) = sum_l S[i, l] log(x) + F[i, l] log(1 - kappa[l] x)``, a concave function.
"""

import math
from typing import Any, NamedTuple

from rankfall.kernels.item_bounds import insert
from rankfall.kernels.jit import entry, inlined_entry, leaf
from rankfall.kernels.policy_steps import steps


@inlined_entry
def upper_bounds(N: Any, S: Any, kappa: Any, budget: float, out: Any) -> None:
    """``S / M + sqrt(N / M) sqrt(budget / (2 M))`` with ``M = sum_l kappa[l] N[i, l]``; infinite if never shown."""
    for i in range(len(out)):
        clicks, views, weighed = 0.0, 0.0, 0.0
        for p in range(len(kappa)):
            clicks += S[i, p]
            views += N[i, p]
            weighed += kappa[p] * N[i, p]
        out[i] = math.inf
        if views > 0.0:
            out[i] = clicks / weighed + math.sqrt(views / weighed) * math.sqrt(budget / (2.0 * weighed))


@leaf
def log_likelihood(i: int, clicks: float, N: Any, S: Any, kappa: Any, x: float) -> float:
    """h(x), without what does not depend on x."""
    if x <= 0.0:
        return 0.0 if clicks == 0.0 else -math.inf
    total = clicks * math.log(x)
    for p in range(len(kappa)):
        missed = N[i, p] - S[i, p]
        if missed > 0.0:
            left = 1.0 - kappa[p] * x
            if left <= 0.0:
                return -math.inf
            total += missed * math.log(left)
    return total


@leaf
def slope(i: int, clicks: float, N: Any, S: Any, kappa: Any, x: float) -> float:
    """h'(x); minus infinity where the likelihood is 0."""
    total = clicks / x if clicks > 0.0 else 0.0
    for p in range(len(kappa)):
        missed = N[i, p] - S[i, p]
        if missed > 0.0:
            left = 1.0 - kappa[p] * x
            if left <= 0.0:
                return -math.inf
            total -= missed * kappa[p] / left
    return total


@leaf
def mode(i: int, clicks: float, N: Any, S: Any, kappa: Any) -> float:
    """Where h is largest, by halving, for an item with clicks."""
    if slope(i, clicks, N, S, kappa, 1.0) >= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if slope(i, clicks, N, S, kappa, middle) > 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@leaf
def spread(i: int, clicks: float, N: Any, S: Any, kappa: Any, x: float) -> float:
    """About how wide the likelihood is around x: ``1 / sqrt(-h''(x))``, and ``1 / |h'(x)|`` if that is less."""
    curve = clicks / (x * x)
    for p in range(len(kappa)):
        missed = N[i, p] - S[i, p]
        left = 1.0 - kappa[p] * x
        if missed > 0.0 and left > 0.0:
            curve += missed * (kappa[p] / left) ** 2
    steep = abs(slope(i, clicks, N, S, kappa, x)) if x >= 1.0 else 0.0
    return 1.0 / max(math.sqrt(curve), steep)


@leaf
def draw(i: int, N: Any, S: Any, kappa: Any, coins: Any) -> float:
    """A sample of the density in proportion to exp(h) on [0, 1], or NaN if no candidate was accepted.

    Candidates come from ``exp(min of two tangents of h)``, which is nowhere below exp(h): two pieces of exponentials
    that meet at ``m``. For items without clicks there is one tangent, at 0, where h is largest. ``coins`` (tries, 2).
    """
    clicks, fall = 0.0, 0.0
    for p in range(len(kappa)):
        clicks += S[i, p]
        fall += (N[i, p] - S[i, p]) * kappa[p]
    if clicks == 0.0:
        for c in range(len(coins)):
            x = coins[c, 0] if fall == 0.0 else -math.log1p(coins[c, 0] * math.expm1(-fall)) / fall
            if math.log(1.0 - coins[c, 1]) <= log_likelihood(i, clicks, N, S, kappa, x) + fall * x:
                return x
        return math.nan
    top = mode(i, clicks, N, S, kappa)
    width = spread(i, clicks, N, S, kappa, top)
    a, b = max(top - width, 0.5 * top), min(top + width, 0.5 * (1.0 + top))
    at_a, at_b = log_likelihood(i, clicks, N, S, kappa, a), log_likelihood(i, clicks, N, S, kappa, b)
    up, down = slope(i, clicks, N, S, kappa, a), slope(i, clicks, N, S, kappa, b)
    m = min(max((at_b - down * b - at_a + up * a) / (up - down), a), b)
    height = at_a + up * (m - a)
    left = -math.expm1(-up * m) / up
    right = 1.0 - m if down == 0.0 else math.expm1(down * (1.0 - m)) / down
    for c in range(len(coins)):
        area = coins[c, 0] * (left + right)
        if area < left:
            inside = math.exp(-up * m) + up * area
            x = m + math.log(inside) / up if inside > 0.0 else 0.0
            bound = height + up * (x - m)
        else:
            area -= left
            x = m + (area if down == 0.0 else math.log1p(down * area) / down)
            bound = height + down * (x - m)
        x = min(max(x, 0.0), 1.0)
        if math.log(1.0 - coins[c, 1]) <= log_likelihood(i, clicks, N, S, kappa, x) - bound:
            return x
    return math.nan


@entry
def sample(items: Any, N: Any, S: Any, kappa: Any, coins: Any, out: Any) -> None:
    """For each of these items a sample of its attraction, or NaN if more ``coins`` (items, tries, 2) are needed."""
    for at in range(len(items)):
        out[items[at]] = draw(items[at], N, S, kappa, coins[at])


class Places(NamedTuple):
    """What was shown and clicked where, and room to order items by a score."""

    N: Any  # (L, K)
    S: Any  # (L, K)
    kappa: Any  # (K)
    order: Any  # (k) positions, from the one that gets the highest score
    scores: Any  # (L) work space
    best: Any  # (k) work space
    highest: Any  # (k) work space


@leaf
def _place(at: Places, shown: Any) -> None:
    """Show the items with the highest scores, equals by the lower row."""
    size = 0
    for e in range(len(at.scores)):
        size = insert(e, at.scores[e], size, at.best, at.highest)
    for i in range(len(shown)):
        shown[at.order[i]] = at.best[i]


@leaf
def _count(at: Places, shown: Any, clicked: Any) -> None:
    for p in range(min(len(at.kappa), len(shown))):
        at.N[shown[p], p] += 1.0
        at.S[shown[p], p] += clicked[p]


class PBMUCBSteps(NamedTuple):
    """PBMUCB."""

    places: Places
    exploration: float  # 1 + epsilon
    lists: Any  # (1) learned from


@leaf
def _show_bounds(state: PBMUCBSteps, _: Any, shown: Any) -> None:
    at, budget = state.places, state.exploration * math.log(state.lists[0] + 1)
    upper_bounds(at.N, at.S, at.kappa, budget, at.scores)
    _place(at, shown)


@leaf
def _learn_bounds(state: PBMUCBSteps, shown: Any, clicked: Any) -> bool:
    _count(state.places, shown, clicked)
    state.lists[0] += 1
    return True


steps(PBMUCBSteps, _show_bounds, _learn_bounds)


class PBMTSSteps(NamedTuple):
    """PBMTS."""

    places: Places
    coins: Any  # (tries, 2) work space
    rng: Any


@leaf
def _show_samples(state: PBMTSSteps, _: Any, shown: Any) -> None:
    at, coins = state.places, state.coins
    at.scores[:] = math.nan
    missing = len(at.scores)
    while missing > 0:
        missing = 0
        for e in range(len(at.scores)):
            if math.isnan(at.scores[e]):
                for c in range(len(coins)):
                    coins[c, 0] = state.rng.random()
                    coins[c, 1] = state.rng.random()
                at.scores[e] = draw(e, at.N, at.S, at.kappa, coins)
                missing += math.isnan(at.scores[e])
    _place(at, shown)


@leaf
def _learn_samples(state: PBMTSSteps, shown: Any, clicked: Any) -> bool:
    _count(state.places, shown, clicked)
    return True


steps(PBMTSSteps, _show_samples, _learn_samples)
