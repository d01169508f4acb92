"""Bounds on the scores of many items at once, for a linear model and what a list leaves of each column.

They are scores whose sums are in another order, and carried along as a list grows: after a choice only the entries and
pairs of its topics change. They are raised by more than rounding can lose in these sums (:data:`SLACK` of the square
of a width, :data:`TOLERANCE` of a mean), so that no score by :mod:`rankfall.kernels.item_scores` is above its bound.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import bounding, inner

BLOCK = 256
SLACK = 1e-8
TOLERANCE = 1e-12
OUT = -1e300
"""The mean of an item that cannot be chosen."""

BASE_MEAN, BASE_SQUARE, MEAN, SQUARE, SLACKS, WIDTH, BOUND = range(7)
"""Rows of :attr:`Bounds.numbers`: mean and square of the width while nothing is used up; both as it is now; what
rounding may hide of the square; width; and bound."""


class Bounds(NamedTuple):
    """Room for the bounds of L items."""

    numbers: Any  # (7, L)
    top: Any  # (blocks) the highest bound of each block of items
    cross: Any  # (E) 2 P[topic] . z
    at: Any  # (n) what is left of each column where mean and square hold
    line: Any  # (BLOCK)


def new_bounds(vectors: ItemVectors) -> Bounds:
    """Room for the bounds of these items."""
    n, columns = len(vectors.rows), vectors.first_dense + len(vectors.dense)
    blocks = (n + BLOCK - 1) // BLOCK
    return Bounds(np.empty((7, n)), np.empty(blocks), np.empty(len(vectors.row)), np.empty(columns), np.empty(BLOCK))


@bounding
def _dense_columns(
    dense: Any, begin: int, weights: Any, covariance: Any, left: Any, mean: Any, square: Any, slack: Any, line: Any
) -> None:
    """What the dense columns, from ``begin`` on, give to mean and square of every item."""
    columns, n_items = dense.shape
    for low in range(0, n_items, BLOCK):
        n = min(BLOCK, n_items - low)
        means, squares, slacks = mean[low : low + n], square[low : low + n], slack[low : low + n]
        for i in range(n):
            means[i] = 0.0
            squares[i] = 0.0
            slacks[i] = 0.0
        for p in range(columns):
            z = dense[p, low : low + n]
            c = left[begin + p]
            row = covariance[begin + p]
            own = c * c * row[begin + p]
            for i in range(n):
                line[i] = own * z[i]
            odd = p % 4
            for q in range(odd):
                other, both = dense[q, low : low + n], 2.0 * c * row[begin + q] * left[begin + q]
                for i in range(n):
                    line[i] += both * other[i]
            for q in range(odd, p, 4):  # four at a time, to load and store the line less often
                z0, c0 = dense[q, low : low + n], 2.0 * c * row[begin + q] * left[begin + q]
                z1, c1 = dense[q + 1, low : low + n], 2.0 * c * row[begin + q + 1] * left[begin + q + 1]
                z2, c2 = dense[q + 2, low : low + n], 2.0 * c * row[begin + q + 2] * left[begin + q + 2]
                z3, c3 = dense[q + 3, low : low + n], 2.0 * c * row[begin + q + 3] * left[begin + q + 3]
                for i in range(n):
                    line[i] += (c0 * z0[i] + c1 * z1[i]) + (c2 * z2[i] + c3 * z3[i])
            weight, hidden = c * weights[begin + p], SLACK * own
            for i in range(n):
                means[i] += weight * z[i]
                squares[i] += line[i] * z[i]
                slacks[i] += hidden * z[i] * z[i]


@bounding
def _cross_terms(copied: Any, d: int, row: Any, left: Any, low: int, high: int, cross: Any) -> None:
    """``2 P[topic] . z`` for the coverage entries of a topic, whose row of P is given."""
    m = len(copied)
    for begin in range(low, high, BLOCK):
        n = min(BLOCK, high - begin)
        out = cross[begin : begin + n]
        for e in range(n):
            out[e] = 0.0
        odd = m % 4
        for q in range(odd):
            z, both = copied[q, begin : begin + n], 2.0 * row[d + q] * left[d + q]
            for e in range(n):
                out[e] += both * z[e]
        for q in range(odd, m, 4):
            z0, c0 = copied[q, begin : begin + n], 2.0 * row[d + q] * left[d + q]
            z1, c1 = copied[q + 1, begin : begin + n], 2.0 * row[d + q + 1] * left[d + q + 1]
            z2, c2 = copied[q + 2, begin : begin + n], 2.0 * row[d + q + 2] * left[d + q + 2]
            z3, c3 = copied[q + 3, begin : begin + n], 2.0 * row[d + q + 3] * left[d + q + 3]
            for e in range(n):
                out[e] += (c0 * z0[e] + c1 * z1[e]) + (c2 * z2[e] + c3 * z3[e])


@bounding
def _add_topic(
    row: Any,
    x: Any,
    cross: Any,
    mean: Any,
    square: Any,
    slack: Any,
    more: float,
    once: float,
    twice: float,
    hide: float,
) -> None:
    """A topic counts more or less than before: its part in the items that have it."""
    for e in range(len(row)):
        i = row[e]
        mean[i] += more * x[e]
        square[i] += (once * cross[e] + twice * x[e]) * x[e]
        slack[i] += hide * x[e] * x[e]


@bounding
def _add_pair(row: Any, product: Any, square: Any, more: float) -> None:
    """A pair of topics counts more or less than before: its part in the items that have both."""
    for e in range(len(row)):
        square[row[e]] += more * product[e]


@inner
def _add_topics(
    vectors: ItemVectors, weights: Any, covariance: Any, left: Any, bounds: Bounds, mean: Any, square: Any, all_of: bool
) -> None:
    """Topics count as much as is ``left`` instead of as in ``bounds.at``, or instead of nothing (``all_of`` them)."""
    d = len(vectors.first) - 1
    at, slack = bounds.at, bounds.numbers[SLACKS]
    for j in range(d):
        low, high = vectors.first[j], vectors.first[j + 1]
        if high == low or (not all_of and left[j] == at[j]):
            continue
        own, before = covariance[j, j], 0.0 if all_of else at[j]
        if all_of:
            _cross_terms(vectors.copied, d, covariance[j], left, low, high, bounds.cross)
        once, twice = left[j] - before, (left[j] * left[j] - before * before) * own
        hide = SLACK * left[j] * left[j] * own if all_of else 0.0
        _add_topic(
            vectors.row[low:high], vectors.weight[low:high], bounds.cross[low:high], mean, square, slack,
            once * weights[j], once, twice, hide,
        )  # fmt: skip
        for other in range(j if all_of else d):
            if other == j or (not all_of and other < j and left[other] != at[other]):
                continue  # a pair of which both have changed is moved once
            pair = max(j, other) * d + min(j, other)
            low, high = vectors.pair_first[pair], vectors.pair_first[pair + 1]
            if high > low:
                both = left[j] * left[other] - (0.0 if all_of else at[j] * at[other])
                more = 2.0 * both * covariance[j, other]
                _add_pair(vectors.pair_row[low:high], vectors.pair_weight[low:high], square, more)


@inner
def bring(
    vectors: ItemVectors, weights: Any, covariance: Any, left: Any, bounds: Bounds, model: bool, again: bool
) -> None:
    """Make mean and square hold for what is ``left``.

    They are carried from where they are, or ``again`` from where nothing is used up. With another ``model`` than
    before, everything is computed.
    """
    numbers, at = bounds.numbers, bounds.at
    mean, square = numbers[MEAN], numbers[SQUARE]
    if model or vectors.diminishes:
        for j in range(len(at)):
            at[j] = left[j] if vectors.diminishes else 1.0
        base_mean, base_square = (mean, square) if vectors.diminishes else (numbers[BASE_MEAN], numbers[BASE_SQUARE])
        _dense_columns(
            vectors.dense, vectors.first_dense, weights, covariance, at, base_mean, base_square, numbers[SLACKS],
            bounds.line,
        )  # fmt: skip
        _add_topics(vectors, weights, covariance, at, bounds, base_mean, base_square, True)
    if not vectors.diminishes:
        if model or again:
            for i in range(len(mean)):
                mean[i] = numbers[BASE_MEAN, i]
                square[i] = numbers[BASE_SQUARE, i]
            at[:] = 1.0
        _add_topics(vectors, weights, covariance, left, bounds, mean, square, False)
        for j in range(len(at)):
            at[j] = left[j]


@bounding
def bound_all(bounds: Bounds, gamma: float) -> None:
    """Widths and bounds of all items, from their means and squares."""
    n_items = bounds.numbers.shape[1]
    for low in range(0, n_items, BLOCK):
        high = min(low + BLOCK, n_items)
        mean, square = bounds.numbers[MEAN, low:high], bounds.numbers[SQUARE, low:high]
        slack = bounds.numbers[SLACKS, low:high]
        width, bound = bounds.numbers[WIDTH, low:high], bounds.numbers[BOUND, low:high]
        for i in range(high - low):
            w = np.sqrt(max(square[i], 0.0) + slack[i])
            width[i] = w
            bound[i] = mean[i] + gamma * w
        top = OUT
        for i in range(high - low):
            top = max(top, bound[i])
        bounds.top[low // BLOCK] = top


@bounding
def tolerance_of(vectors: ItemVectors, weights: Any, left: Any) -> float:
    """By how much a mean may be above its bound."""
    size, growth = 0.0, 1.0
    for j in range(len(weights)):
        size += weights[j] * weights[j]
        growth = max(growth, abs(left[j]))
    return TOLERANCE * np.sqrt(size) * vectors.norm * growth
