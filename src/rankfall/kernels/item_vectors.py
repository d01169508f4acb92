"""Items laid out for loops over many of them at once: column by column, topic by topic, pair of topics by pair."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items
from rankfall.kernels.jit import entry

UNIT = 2.0**-24
"""What a number in single precision loses at most, of its size."""
CHANGES = 128
"""How often something may be added to the sums of one item while a list is made, before they start anew."""
PAIRS_AT_MOST = 4
"""Per coverage entry, on average. Where items have more pairs of topics, their coverage is laid out as dense."""


class ItemVectors(NamedTuple):
    """L of the items, over the n columns of the model: d topics, then m relevance features; in single precision.

    Where most items have few topics, coverage is kept as entries. Where they have many, it is dense as well.
    """

    rows: Any  # (L) which items, ascending
    dense: Any  # (n - first_dense, L) the dense columns
    first_dense: int  # d, or 0 if coverage is dense too
    diminishes: bool  # whether dense columns diminish
    first: Any  # (d + 1) coverage by topic: entries first[j] to first[j + 1]; none if coverage is dense
    row: Any  # (E) the item of each entry, as an index to ``rows``
    weight: Any  # (E) and its coverage
    copied: Any  # (m, E) and its relevance
    pair_first: Any  # (d * d + 1) items with topics j > l: pairs pair_first[j * d + l] to the next
    pair_row: Any  # (Q) the item of each pair
    pair_weight: Any  # (Q) the product of both coverages
    norm: float  # the largest |phi| of any item while nothing grows
    most: int  # the most topics of any item, where coverage is kept as entries
    rounding: float  # what sums over columns lose at most, of the size of their terms; see linear_bounds


def vectors_of(items: Items, rows: Any) -> ItemVectors:
    """Lay out these rows, given in ascending order."""
    n_items, m, d = len(rows), items.dense.shape[1], items.topics
    entries, pairs, most, longest = _sizes(items, rows)
    sparse = pairs <= PAIRS_AT_MOST * entries
    if not sparse:
        entries = pairs = most = 0
    columns, single, index = m if sparse else d + m, np.float32, np.uint32
    fours, once = (columns + 3) // 4, most * (most + 1) // 2
    additions = 40 + 2 * columns + fours * (fours + 1) // 2 + 2 * once + CHANGES
    vectors = ItemVectors(
        rows=rows,
        dense=np.empty((columns, n_items), dtype=single),
        first_dense=d if sparse else 0,
        diminishes=items.relevance_diminishes or (items.coverage_diminishes and not sparse),
        first=np.zeros(d + 1, dtype=np.int64),
        row=np.empty(entries, dtype=index),
        weight=np.empty(entries, dtype=single),
        copied=np.empty((m, entries), dtype=single),
        pair_first=np.zeros(d * d + 1, dtype=np.int64),
        pair_row=np.empty(pairs, dtype=index),
        pair_weight=np.empty(pairs, dtype=single),
        norm=longest**0.5,
        most=most,
        rounding=1.25 * UNIT * additions,
    )
    _lay_out(items, vectors, np.empty(d + 1, dtype=np.int64), np.empty(d * d + 1, dtype=np.int64))
    return vectors


@entry
def _sizes(items: Items, rows: Any) -> tuple[int, int, int, float]:
    """Entries of coverage, pairs of topics, the most topics of an item, and the largest ``|phi|^2``."""
    entries, pairs, most, longest = 0, 0, 0, 0.0
    for i in range(len(rows)):
        item = rows[i]
        begin, end = items.start[item], items.start[item + 1]
        entries += end - begin
        most = max(most, end - begin)
        pairs += (end - begin) * (end - begin - 1) // 2
        square = 0.0
        for p in range(begin, end):
            square += items.weight[p] * items.weight[p]
        for q in range(items.dense.shape[1]):
            square += items.dense[item, q] * items.dense[item, q]
        longest = max(longest, square)
    return entries, pairs, most, longest


@entry
def _lay_out(items: Items, vectors: ItemVectors, at: Any, pair_at: Any) -> None:
    """Fill the dense columns, and what is kept by topic and by pair; ``at`` and ``pair_at`` are work space."""
    before = items.topics - vectors.first_dense
    for i in range(len(vectors.rows)):
        item = vectors.rows[i]
        for j in range(before):
            vectors.dense[j, i] = 0.0
        if before > 0:
            for p in range(items.start[item], items.start[item + 1]):
                vectors.dense[items.topic[p], i] = items.weight[p]
        for q in range(items.dense.shape[1]):
            vectors.dense[before + q, i] = items.dense[item, q]
    if before > 0:
        return
    d, first, pair_first = items.topics, vectors.first, vectors.pair_first
    for i in range(len(vectors.rows)):
        item = vectors.rows[i]
        for p in range(items.start[item], items.start[item + 1]):
            first[items.topic[p] + 1] += 1
            for o in range(items.start[item], p):
                pair_first[items.topic[p] * d + items.topic[o] + 1] += 1
    at[0] = pair_at[0] = 0
    for j in range(d):
        first[j + 1] += first[j]
        at[j + 1] = first[j + 1]
    for j in range(d * d):
        pair_first[j + 1] += pair_first[j]
        pair_at[j + 1] = pair_first[j + 1]
    for i in range(len(vectors.rows)):
        item = vectors.rows[i]
        for p in range(items.start[item], items.start[item + 1]):
            j = items.topic[p]
            e = at[j]
            at[j] += 1
            vectors.row[e] = i
            vectors.weight[e] = items.weight[p]
            for o in range(items.start[item], p):
                pair = j * d + items.topic[o]
                e = pair_at[pair]
                pair_at[pair] += 1
                vectors.pair_row[e] = i
                vectors.pair_weight[e] = items.weight[p] * items.weight[o]
    for q in range(items.dense.shape[1]):
        for e in range(len(vectors.row)):
            vectors.copied[q, e] = vectors.dense[q, vectors.row[e]]
