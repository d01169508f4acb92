"""Items laid out for loops over many of them at once: column by column, topic by topic, pair of topics by pair."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items
from rankfall.kernels.jit import compiled

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
    entries, pairs, longest = 0, 0, 0.0
    for i in range(n_items):
        item = rows[i]
        begin, end = items.start[item], items.start[item + 1]
        entries += end - begin
        pairs += (end - begin) * (end - begin - 1) // 2
        square = 0.0
        for p in range(begin, end):
            square += items.weight[p] * items.weight[p]
        for q in range(m):
            square += items.dense[item, q] * items.dense[item, q]
        longest = max(longest, square)
    sparse = pairs <= PAIRS_AT_MOST * entries
    first_dense = d if sparse else 0
    diminishes = items.relevance_diminishes or (items.coverage_diminishes and not sparse)
    dense = np.zeros((d + m - first_dense, n_items))
    for i in range(n_items):
        for q in range(m):
            dense[d - first_dense + q, i] = items.dense[rows[i], q]
    first = np.zeros(d + 1, dtype=np.int64)
    pair_first = np.zeros(d * d + 1, dtype=np.int64)
    if not sparse:
        entries = pairs = 0
        for i in range(n_items):
            for p in range(items.start[rows[i]], items.start[rows[i] + 1]):
                dense[items.topic[p], i] = items.weight[p]
    row, weight, copied = np.empty(entries, dtype=np.int64), np.empty(entries), np.empty((m, entries))
    pair_row, pair_weight = np.empty(pairs, dtype=np.int64), np.empty(pairs)
    if sparse:
        for i in range(n_items):
            for p in range(items.start[rows[i]], items.start[rows[i] + 1]):
                first[items.topic[p] + 1] += 1
                for o in range(items.start[rows[i]], p):
                    pair_first[items.topic[p] * d + items.topic[o] + 1] += 1
        for j in range(d):
            first[j + 1] += first[j]
        for j in range(d * d):
            pair_first[j + 1] += pair_first[j]
        at, pair_at = first.copy(), pair_first.copy()
        for i in range(n_items):
            item = rows[i]
            for p in range(items.start[item], items.start[item + 1]):
                j = items.topic[p]
                e = at[j]
                at[j] += 1
                row[e] = i
                weight[e] = items.weight[p]
                for q in range(m):
                    copied[q, e] = items.dense[item, q]
                for o in range(items.start[item], p):
                    pair = j * d + items.topic[o]
                    e = pair_at[pair]
                    pair_at[pair] += 1
                    pair_row[e] = i
                    pair_weight[e] = items.weight[p] * items.weight[o]
    return ItemVectors(
        rows, dense, first_dense, diminishes, first, row, weight, copied, pair_first, pair_row, pair_weight,
        np.sqrt(longest),
    )  # fmt: skip
