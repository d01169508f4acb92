"""Items laid out for loops over many of them at once: column by column, topic by topic, pair of topics by pair."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items
from rankfall.kernels.jit import compiled, inner

PAIRS_AT_MOST = 4
"""Per coverage entry, on average. Where items have more pairs of topics, their coverage is laid out as dense."""


class ItemVectors(NamedTuple):
    """L of the items, over the n columns of the model: d topics, then m relevance features.

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


@compiled
def vectors_of(items: Items, rows: Any) -> ItemVectors:
    """Lay out these rows, given in ascending order."""
    n_items, m, d = len(rows), items.dense.shape[1], items.topics
    entries, pairs = _sizes(items, rows)
    sparse = pairs <= PAIRS_AT_MOST * entries
    if not sparse:
        entries = pairs = 0
    dense = np.empty((m if sparse else d + m, n_items))
    longest = _lay_out_dense(items, rows, dense, np.empty(n_items))
    vectors = ItemVectors(
        rows,
        dense,
        d if sparse else 0,
        items.relevance_diminishes or (items.coverage_diminishes and not sparse),
        np.zeros(d + 1, dtype=np.int64),
        np.empty(entries, dtype=np.int64),
        np.empty(entries),
        np.empty((m, entries)),
        np.zeros(d * d + 1, dtype=np.int64),
        np.empty(pairs, dtype=np.int64),
        np.empty(pairs),
        np.sqrt(longest),
    )
    if sparse:
        _lay_out_entries(items, vectors, np.empty(d + 1, dtype=np.int64), np.empty(d * d + 1, dtype=np.int64))
    return vectors


@inner
def _sizes(items: Items, rows: Any) -> tuple[int, int]:
    """Entries of coverage, and pairs of topics."""
    entries, pairs = 0, 0
    for i in range(len(rows)):
        n = items.start[rows[i] + 1] - items.start[rows[i]]
        entries += n
        pairs += n * (n - 1) // 2
    return entries, pairs


@inner
def _lay_out_dense(items: Items, rows: Any, dense: Any, square: Any) -> float:
    """Fill the dense columns: relevance, and coverage if it is dense too. Returns the largest ``|phi|^2``.

    Relevance comes first, without a branch: so the processor can fetch many items that are far apart at once.
    """
    m = items.dense.shape[1]
    before = len(dense) - m
    for i in range(len(rows)):
        item, total = rows[i], 0.0
        for q in range(m):
            value = items.dense[item, q]
            dense[before + q, i] = value
            total += value * value
        square[i] = total
    dense[:before] = 0.0
    longest = 0.0
    for i in range(len(rows)):
        total = square[i]
        for p in range(items.start[rows[i]], items.start[rows[i] + 1]):
            total += items.weight[p] * items.weight[p]
            if before > 0:
                dense[items.topic[p], i] = items.weight[p]
        longest = max(longest, total)
    return longest


@inner
def _lay_out_entries(items: Items, vectors: ItemVectors, at: Any, pair_at: Any) -> None:
    """Fill what is kept by topic and by pair of topics; ``at`` and ``pair_at`` are work space."""
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
