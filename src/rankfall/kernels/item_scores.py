"""Items as the kernels see them, and the one definition of an item's score.

An item is ``phi = [c * x, c * z]``. Its coverage ``x`` is kept sparse, because items have few topics; its relevance
``z`` is dense. ``c`` (called ``left``) is what the list so far leaves of each column: for the columns that diminish
``c_j = prod (1 - x_b(j))`` over the items placed (z likewise), and 1 for the others.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.jit import leaf


class Items(NamedTuple):
    """Features of L items in d topics and m relevance columns."""

    start: Any  # (L + 1) coverage by item: entries start[a] to start[a + 1]
    topic: Any  # (nnz) the topic of each entry
    weight: Any  # (nnz) and its coverage
    dense: Any  # (L, m) relevance
    topics: int  # d
    coverage_diminishes: bool
    relevance_diminishes: bool


def items_of(coverage: Any, relevance: Any, coverage_diminishes: bool, relevance_diminishes: bool) -> Items:
    """Lay out coverage (L, d) and relevance (L, m) for the kernels."""
    row, column = np.nonzero(coverage)
    return Items(
        start=np.searchsorted(row, np.arange(len(coverage) + 1)),
        topic=np.ascontiguousarray(column),  # a view otherwise, and for kernels of another type
        weight=coverage[row, column],
        dense=np.array(relevance, order="C"),
        topics=coverage.shape[1],
        coverage_diminishes=coverage_diminishes,
        relevance_diminishes=relevance_diminishes,
    )


@leaf
def mean_of(item: int, items: Items, left: Any, weights: Any) -> float:
    """``phi . w``."""
    d = len(weights) - items.dense.shape[1]
    covered = 0.0
    for p in range(items.start[item], items.start[item + 1]):
        j = items.topic[p]
        covered += left[j] * items.weight[p] * weights[j]
    relevant = 0.0
    for p in range(items.dense.shape[1]):
        relevant += left[d + p] * items.dense[item, p] * weights[d + p]
    return covered + relevant


@leaf
def variance_of(item: int, items: Items, left: Any, covariance: Any, scaled: Any) -> float:
    """``phi' P phi``; ``scaled`` (m) is work space.

    Every ranker calls this and :func:`mean_of` for an item it scores, so that equal states give equal bits.
    """
    m = items.dense.shape[1]
    d = len(covariance) - m
    total = 0.0
    for p in range(m):
        row = covariance[d + p]
        value = left[d + p] * items.dense[item, p]
        scaled[p] = value
        cross = 0.0
        for q in range(p):
            cross += row[d + q] * scaled[q]
        total += value * (2.0 * cross + row[d + p] * value)
    for p in range(items.start[item], items.start[item + 1]):
        row = covariance[items.topic[p]]
        omega = left[items.topic[p]] * items.weight[p]
        cross = 0.0
        for q in range(m):
            cross += row[d + q] * scaled[q]
        for q in range(items.start[item], p):
            cross += row[items.topic[q]] * (left[items.topic[q]] * items.weight[q])
        total += omega * (2.0 * cross + row[items.topic[p]] * omega)
    return max(total, 0.0)


@leaf
def place(item: int, items: Items, left: Any, phi: Any) -> None:
    """Write the item's features as shown to ``phi``, and take what it covers from ``left``."""
    d = len(left) - items.dense.shape[1]
    for j in range(d):
        phi[j] = 0.0
    for p in range(items.start[item], items.start[item + 1]):
        j = items.topic[p]
        phi[j] = left[j] * items.weight[p]
        if items.coverage_diminishes:
            left[j] *= 1.0 - items.weight[p]
    for p in range(items.dense.shape[1]):
        phi[d + p] = left[d + p] * items.dense[item, p]
        if items.relevance_diminishes:
            left[d + p] *= 1.0 - items.dense[item, p]
