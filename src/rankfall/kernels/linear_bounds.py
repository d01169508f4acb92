"""Bounds on the scores of many items at once, for a linear model and what a list leaves of each column.

They are scores in single precision, which takes half the memory and twice the lanes, and are carried along as a list
grows: after a choice only the entries and pairs of its topics change. No score by :mod:`rankfall.kernels.item_scores`
is above its bound, by this reckoning.

A sum of N terms, each of which was rounded r times, is off by at most ``(N + r) u`` of the sum of their magnitudes, in
whatever order they are added; u is 2^-24. :attr:`ItemVectors.rounding` has that factor for all that is ever added up
for an item. Magnitudes: of a mean ``|w| |phi|``; of the square of a width ``(sum of s_p |phi_p|)^2`` with
``s_p^2 = P_pp``, as ``|P_pq| <= s_p s_q``. Squares are raised by that much, means by :func:`tolerance_of`. What is too
small for single precision is off by less than TINY of the largest that can occur. Where that is beyond HUGE, or the
matrix is not a covariance, nothing is bounded, and every item has to be scored.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_vectors import CHANGES, ItemVectors
from rankfall.kernels.jit import bounding, bounding_leaf, inner, leaf, part

BLOCK = 64
CHUNK = 512  # items or entries that are computed together
TINY = 1e-36
HUGE = 1e30
OUT = np.float32(-1e38)
"""The mean of an item that cannot be chosen."""
LOWEST = -1e37
"""Below all bounds but those of items that cannot be chosen."""

BASE_MEAN, BASE_SQUARE, MEAN, SQUARE, TERMS = range(5)
"""Rows of :attr:`Bounds.numbers`: mean and square of the width while nothing is used up; both as it is now; and the
root of the magnitude of what is added up for the square."""


AT, SPREAD, NONE = range(3)
"""Rows of :attr:`Bounds.columns`: what is left of each where mean and square hold; s, of the model; zeros."""
EACH_MEAN, EACH_TERM, CROSS, PRODUCTS = range(4)
"""Rows of :attr:`Bounds.dense`: what each dense column counts in means; in TERMS; work space; and from here on, what
its product with each of the dense columns counts in squares. Beyond the last column all are 0."""
LARGEST, ADDED, USABLE = range(3)
"""Of :attr:`Bounds.model`: the largest s^2; how often something was added to one item since the start, at most; whether
anything is bounded."""


class Bounds(NamedTuple):
    """Room for the bounds of L items, over n columns of which c are dense, rounded up to fours."""

    numbers: Any  # (5, L)
    top: Any  # (blocks) the highest bound of each block of items
    cross: Any  # (E) 2 P[topic] . z
    dense: Any  # (3 + c, c)
    columns: Any  # (3, n)
    model: Any  # (3)
    line: Any  # (3, BLOCK) bounds and widths of one block, see bound_block; and work space


def new_bounds(vectors: ItemVectors) -> Bounds:
    """Room for the bounds of these items."""
    n, dense = len(vectors.rows), len(vectors.dense)
    fours, single = (dense + 3) // 4 * 4, np.float32
    return Bounds(
        numbers=np.empty((5, n), dtype=single),
        top=np.empty((n + BLOCK - 1) // BLOCK, dtype=single),
        cross=np.empty(len(vectors.row), dtype=single),
        dense=np.zeros((3 + fours, fours), dtype=single),
        columns=np.zeros((3, vectors.first_dense + dense)),
        model=np.zeros(3),
        line=np.empty((3, BLOCK), dtype=single),
    )


@bounding_leaf
def _lengths(weights: Any, left: Any) -> tuple[float, float]:
    """``|w|``, and how many times its size a column may have grown to."""
    size, growth = 0.0, 1.0
    for j in range(len(weights)):
        size += weights[j] * weights[j]
        growth = max(growth, abs(left[j]))
    return np.sqrt(size), growth


@leaf
def tolerance_of(norm: float, rounding: float, weights: Any, left: Any) -> float:
    """By how much a mean may be above its bound; infinite where single precision cannot say.

    ``norm`` and ``rounding`` are those of the vectors: to hand over all of them takes longer.
    """
    size, growth = _lengths(weights, left)
    largest = (1.0 + size) * (1.0 + norm * growth)
    return rounding * size * norm * growth + TINY * largest if largest <= HUGE else np.inf


@part
def _spread(covariance: Any, spread: Any) -> float:
    """Write s, and return the largest variance of a column; infinite if the matrix is not a covariance."""
    largest = 0.0
    for p in range(len(spread)):
        if not covariance[p, p] <= HUGE:
            return np.inf
        largest = max(largest, covariance[p, p])
    for p in range(len(spread)):  # rounding may have left a variance of nearly 0 below it
        spread[p] = np.sqrt(max(covariance[p, p], 0.0) + 1e-10 * largest)
    for p in range(len(spread)):
        row, most = covariance[p], 1.001 * spread[p]
        fits = True
        for q in range(p):
            fits = fits and abs(row[q]) <= most * spread[q]
        if not fits:
            return np.inf
    return largest


@part
def _prepare(begin: int, n: int, weights: Any, covariance: Any, left: Any, spread: Any, out: Any) -> None:
    """Write what dense columns and their products count, each pair of columns once; ``out`` is Bounds.dense."""
    for p in range(n):
        row, c = covariance[begin + p], left[begin + p]
        out[EACH_MEAN, p] = c * weights[begin + p]
        out[EACH_TERM, p] = abs(c) * spread[begin + p]
        for q in range(p):
            out[PRODUCTS + p, q] = 2.0 * c * row[begin + q] * left[begin + q]
        out[PRODUCTS + p, p] = c * c * row[begin + p]


@bounding
def _add_each(dense: Any, p: int, low: int, n: int, counts: Any, mean: Any, size: Any) -> None:
    """What four columns from ``p`` on give to the means and sizes of a block of items."""
    high, last = low + n, len(dense) - 1  # beyond the last column, which counts for nothing, it stands in
    z0, z1 = dense[p, low:high], dense[min(p + 1, last), low:high]
    z2, z3 = dense[min(p + 2, last), low:high], dense[min(p + 3, last), low:high]
    w, s = counts[EACH_MEAN], counts[EACH_TERM]
    w0, w1, w2, w3 = w[p], w[p + 1], w[p + 2], w[p + 3]
    s0, s1, s2, s3 = s[p], s[p + 1], s[p + 2], s[p + 3]
    for i in range(n):
        mean[i] += (w0 * z0[i] + w1 * z1[i]) + (w2 * z2[i] + w3 * z3[i])
        size[i] += (s0 * abs(z0[i]) + s1 * abs(z1[i])) + (s2 * abs(z2[i]) + s3 * abs(z3[i]))


@bounding
def _add_products(dense: Any, p: int, q: int, low: int, n: int, counts: Any, square: Any) -> None:
    """What products of four columns from ``p`` on and four from ``q`` on give to the squares of a block of items."""
    high, last = low + n, len(dense) - 1
    y0, y1 = dense[q, low:high], dense[min(q + 1, last), low:high]
    y2, y3 = dense[min(q + 2, last), low:high], dense[min(q + 3, last), low:high]
    z0, z1 = dense[p, low:high], dense[min(p + 1, last), low:high]
    z2, z3 = dense[min(p + 2, last), low:high], dense[min(p + 3, last), low:high]
    row = PRODUCTS + p
    c00, c01, c02, c03 = counts[row, q], counts[row, q + 1], counts[row, q + 2], counts[row, q + 3]
    c10, c11, c12, c13 = counts[row + 1, q], counts[row + 1, q + 1], counts[row + 1, q + 2], counts[row + 1, q + 3]
    c20, c21, c22, c23 = counts[row + 2, q], counts[row + 2, q + 1], counts[row + 2, q + 2], counts[row + 2, q + 3]
    c30, c31, c32, c33 = counts[row + 3, q], counts[row + 3, q + 1], counts[row + 3, q + 2], counts[row + 3, q + 3]
    for i in range(n):
        a, b, c, d = y0[i], y1[i], y2[i], y3[i]
        one, two = (c00 * a + c01 * b) + (c02 * c + c03 * d), (c10 * a + c11 * b) + (c12 * c + c13 * d)
        three, four = (c20 * a + c21 * b) + (c22 * c + c23 * d), (c30 * a + c31 * b) + (c32 * c + c33 * d)
        square[i] += (z0[i] * one + z1[i] * two) + (z2[i] * three + z3[i] * four)


@leaf
def _dense_columns(dense: Any, counts: Any, mean: Any, square: Any, terms: Any) -> None:
    """What the dense columns give to mean, square and size of every item, four columns at a time."""
    columns, n_items = dense.shape
    for low in range(0, n_items, CHUNK):
        n = min(CHUNK, n_items - low)
        means, squares, sizes = mean[low : low + n], square[low : low + n], terms[low : low + n]
        means[:] = np.float32(0.0)
        squares[:] = np.float32(0.0)
        sizes[:] = np.float32(0.0)
        for p in range(0, columns, 4):
            _add_each(dense, p, low, n, counts, means, sizes)
            for q in range(0, p + 1, 4):
                _add_products(dense, p, q, low, n, counts, squares)


@bounding_leaf
def _cross_terms(copied: Any, row: Any, low: int, high: int, cross: Any) -> None:
    """``2 P[topic] . z`` for the coverage entries of a topic, whose row of 2 P is given."""
    m, last = len(copied), len(copied) - 1
    for begin in range(low, high, CHUNK):
        end = min(begin + CHUNK, high)
        out = cross[begin:end]
        if m == 0:
            out[:] = np.float32(0.0)
        for q in range(0, m, 4):  # four at a time; beyond the last, it stands in and counts for nothing
            z0, z1 = copied[q, begin:end], copied[min(q + 1, last), begin:end]
            z2, z3 = copied[min(q + 2, last), begin:end], copied[min(q + 3, last), begin:end]
            c0, c1, c2, c3 = row[q], row[q + 1], row[q + 2], row[q + 3]
            if q == 0:
                for e in range(end - begin):
                    out[e] = (c0 * z0[e] + c1 * z1[e]) + (c2 * z2[e] + c3 * z3[e])
            else:
                for e in range(end - begin):
                    out[e] += (c0 * z0[e] + c1 * z1[e]) + (c2 * z2[e] + c3 * z3[e])


@bounding_leaf
def _add_topic(row: Any, x: Any, cross: Any, mean: Any, square: Any, more: float, once: float, twice: float) -> None:
    """A topic counts more or less than before: its part in the items that have it."""
    a, b, c = np.float32(more), np.float32(once), np.float32(twice)
    for e in range(len(row)):
        i = row[e]
        mean[i] += a * x[e]
        square[i] += (b * cross[e] + c * x[e]) * x[e]


@bounding_leaf
def _add_size(row: Any, x: Any, size: Any, more: float) -> None:
    """The magnitude of a topic, in the items that have it."""
    a = np.float32(more)
    for e in range(len(row)):
        size[row[e]] += a * x[e]


@bounding_leaf
def _add_pair(row: Any, product: Any, square: Any, more: float) -> None:
    """A pair of topics counts more or less than before: its part in the items that have both."""
    a = np.float32(more)
    for e in range(len(row)):
        square[row[e]] += a * product[e]


@leaf
def _add_topics(
    vectors: ItemVectors, weights: Any, covariance: Any, left: Any, bounds: Bounds, mean: Any, square: Any, all_of: bool
) -> None:
    """Topics count as much as is ``left`` instead of as in ``bounds.at``, or instead of nothing (``all_of`` them)."""
    d = len(vectors.first) - 1
    at, spread, row = bounds.columns[AT], bounds.columns[SPREAD], bounds.dense[CROSS]
    for j in range(d):
        low, high = vectors.first[j], vectors.first[j + 1]
        if high == low or (not all_of and left[j] == at[j]):
            continue
        own, before = covariance[j, j], 0.0 if all_of else at[j]
        if all_of:
            for q in range(len(vectors.copied)):
                row[q] = 2.0 * covariance[j, d + q] * left[d + q]
            _cross_terms(vectors.copied, row, low, high, bounds.cross)
            size = abs(left[j]) * spread[j]
            _add_size(vectors.row[low:high], vectors.weight[low:high], bounds.numbers[TERMS], size)
        once, twice = left[j] - before, (left[j] * left[j] - before * before) * own
        _add_topic(
            vectors.row[low:high], vectors.weight[low:high], bounds.cross[low:high], mean, square,
            once * weights[j], once, twice,
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


@bounding_leaf
def _raise(square: Any, size: Any, rounding: float, least: float) -> None:
    """Raise squares by what rounding may have taken from them."""
    a, b = np.float32(rounding), np.float32(least)
    for i in range(len(square)):
        square[i] += a * size[i] * size[i] + b


@bounding
def dense_means(vectors: ItemVectors, weights: Any, left: Any, mean: Any) -> None:
    """What the dense columns give to the mean of every item."""
    begin = vectors.first_dense
    for low in range(0, len(mean), CHUNK):
        part = mean[low : min(low + CHUNK, len(mean))]
        part[:] = np.float32(0.0)
        for p in range(len(vectors.dense)):
            z, weight = vectors.dense[p, low : low + len(part)], np.float32(weights[begin + p] * left[begin + p])
            for i in range(len(part)):
                part[i] += weight * z[i]


@bounding
def add_topic_means(vectors: ItemVectors, weights: Any, left: Any, before: Any, mean: Any) -> None:
    """What topics give to the mean of every item, where they count as much as is ``left`` instead of ``before``."""
    for j in range(len(vectors.first) - 1):
        more = np.float32(weights[j] * (left[j] - before[j]))
        if more != np.float32(0.0):
            for e in range(vectors.first[j], vectors.first[j + 1]):
                mean[vectors.row[e]] += more * vectors.weight[e]


@inner
def _anew(
    vectors: ItemVectors, weights: Any, covariance: Any, gamma: float, bounds: Bounds, model: bool, widths: bool
) -> bool:
    """Compute everything for what is left in ``bounds.at``; False if single precision cannot."""
    numbers, at, spread = bounds.numbers, bounds.columns[AT], bounds.columns[SPREAD]
    mean, square = numbers[BASE_MEAN], numbers[BASE_SQUARE]
    if vectors.diminishes:
        mean, square = numbers[MEAN], numbers[SQUARE]
    if not widths:
        dense_means(vectors, weights, at, mean)
        add_topic_means(vectors, weights, at, bounds.columns[NONE], mean)
        square[:] = np.float32(0.0)
        return True
    if model:
        bounds.model[LARGEST] = _spread(covariance, spread)
    growth = _lengths(at, at)[1]
    largest = (1.0 + vectors.norm * growth) ** 2 * (1.0 + bounds.model[LARGEST])
    if not largest * (1.0 + gamma) ** 2 <= HUGE:
        return False
    _prepare(vectors.first_dense, len(vectors.dense), weights, covariance, at, spread, bounds.dense)
    _dense_columns(vectors.dense, bounds.dense, mean, square, numbers[TERMS])
    _add_topics(vectors, weights, covariance, at, bounds, mean, square, True)
    _raise(square, numbers[TERMS], vectors.rounding, TINY * largest)
    return True


@inner
def bring(
    vectors: ItemVectors,
    weights: Any,
    covariance: Any,
    gamma: float,
    left: Any,
    bounds: Bounds,
    model: bool,
    again: bool,
    widths: bool,
) -> tuple[bool, float]:
    """Make mean and square hold for what is ``left``; without ``widths`` squares are 0.

    They are carried from where they are, or ``again`` from where nothing is used up, or because too much was added.
    With another ``model`` than before, everything is computed. Returns whether it was one of the latter, so that items
    which cannot be chosen must be taken out again; and by how much a score may be above its bound.
    """
    numbers, at, model_of = bounds.numbers, bounds.columns[AT], bounds.model
    mean, square = numbers[MEAN], numbers[SQUARE]
    tolerance = tolerance_of(vectors.norm, vectors.rounding, weights, left)
    if model or vectors.diminishes:
        for j in range(len(at)):
            at[j] = left[j] if vectors.diminishes else 1.0
        model_of[USABLE] = tolerance < np.inf and _anew(vectors, weights, covariance, gamma, bounds, model, widths)
    if model_of[USABLE] == 0.0:
        mean[:] = np.float32(0.0)
        square[:] = np.float32(0.0)
        return True, np.inf
    if vectors.diminishes:
        return True, tolerance
    changed = 0
    for j in range(len(vectors.first) - 1):
        changed += left[j] != at[j]
    at_most = vectors.most * (vectors.most + 1) // 2
    more = min(changed * vectors.most, at_most)
    again = again or model or model_of[ADDED] + more > CHANGES + at_most
    if again:
        for i in range(len(mean)):
            mean[i] = numbers[BASE_MEAN, i]
            square[i] = numbers[BASE_SQUARE, i]
        at[:] = 1.0
        more = at_most
        model_of[ADDED] = 0.0
    model_of[ADDED] += more
    if widths:
        _add_topics(vectors, weights, covariance, left, bounds, mean, square, False)
    else:
        add_topic_means(vectors, weights, left, at, mean)
    for j in range(len(at)):
        at[j] = left[j]
    return again, tolerance


@bounding_leaf
def _bound(mean: Any, square: Any, i: int, times: Any) -> Any:
    return mean[i] + times * np.sqrt(max(square[i], np.float32(0.0)))


@bounding_leaf
def _of_four(lanes: Any, i: int, step: int) -> Any:
    return max(max(lanes[i], lanes[i + step]), max(lanes[i + 2 * step], lanes[i + 3 * step]))


@bounding_leaf
def _highest(mean: Any, square: Any, low: int, high: int, times: Any, lanes: Any) -> Any:
    """The highest bound in a block; found by halving, which runs on vectors."""
    if high < low + BLOCK:
        highest = OUT
        for i in range(low, high):
            highest = max(highest, _bound(mean, square, i, times))
        return highest
    means, squares = mean[low : low + BLOCK], square[low : low + BLOCK]
    for i in range(16):
        one, two = _bound(means, squares, i, times), _bound(means, squares, i + 16, times)
        three, four = _bound(means, squares, i + 32, times), _bound(means, squares, i + 48, times)
        lanes[i] = max(max(one, two), max(three, four))
    for i in range(4):
        lanes[i] = _of_four(lanes, i, 4)
    return _of_four(lanes, 0, 1)


@bounding
def highest_with(numbers: Any, line: Any, block: int, gamma: float) -> float:
    """The highest bound in a block, with so many widths above the mean; ``line`` has work space."""
    low = block * BLOCK
    high, times = min(low + BLOCK, numbers.shape[1]), np.float32(min(gamma, HUGE))
    return _highest(numbers[MEAN], numbers[SQUARE], low, high, times, line[2])


@bounding
def bound_all(bounds: Bounds, gamma: float) -> None:
    """The highest bound of every block."""
    numbers, times, n_items = bounds.numbers, np.float32(min(gamma, HUGE)), bounds.numbers.shape[1]
    mean, square = numbers[MEAN], numbers[SQUARE]
    for block in range(len(bounds.top)):
        low = block * BLOCK
        bounds.top[block] = _highest(mean, square, low, min(low + BLOCK, n_items), times, bounds.line[2])


@bounding
def bound_block(numbers: Any, line: Any, block: int, gamma: float) -> int:
    """Write bounds and widths of the items of a block to ``line``; how many items it has."""
    low = block * BLOCK
    high = min(low + BLOCK, numbers.shape[1])
    mean, square = numbers[MEAN, low:high], numbers[SQUARE, low:high]
    bound, width, times = line[0], line[1], np.float32(min(gamma, HUGE))
    for i in range(high - low):
        width[i] = np.sqrt(max(square[i], np.float32(0.0)))
        bound[i] = mean[i] + times * width[i]
    return high - low
