"""The items laid out by their topics, so that loops over a group of them run on vectors."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_scores import Items


class Groups(NamedTuple):
    """The items again, those with the same topics side by side. Slot i holds item ``item[i]``."""

    item: Any  # (L)
    slot: Any  # (L) where an item is: slot[item[i]] == i
    first: Any  # (G + 1) a group's slots: first[g] to first[g + 1]
    topics: Any  # its topics: topic[topics[g]] to topic[topics[g + 1]]
    topic: Any
    entry: Any  # (G) and where its coverage begins in ``weight``, topic by topic
    weight: Any  # (nnz)
    dense: Any  # (m, L) relevance
    norm: float  # the largest |phi| of any item while nothing grows


def groups_of(items: Items) -> Groups:
    """Lay out the items by their topics."""
    n_items = len(items.dense)
    width = np.diff(items.start)
    row = np.repeat(np.arange(n_items), width)
    words = int(items.topic.max(initial=0)) // 64 + 1
    signature = np.zeros((n_items, words), dtype=np.uint64)  # one bit a topic
    np.bitwise_or.at(signature, (row, items.topic // 64), np.uint64(1) << (items.topic % 64).astype(np.uint64))
    kinds = signature[:, 0] if words == 1 else signature.view([("", np.uint64)] * words)[:, 0]
    _, first_of, group_of, sizes = np.unique(kinds, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(group_of, kind="stable")
    slot = np.empty(n_items, dtype=np.int64)
    slot[order] = np.arange(n_items)
    first = np.concatenate([[0], np.cumsum(sizes)])
    widths = width[first_of]
    nothing = np.empty(0, dtype=np.int64)
    entries = [  # of a group, topic by topic
        (items.start[order[first[g] : first[g + 1]]] + np.arange(widths[g])[:, None]).ravel() for g in range(len(sizes))
    ]
    topics = [items.topic[items.start[item] : items.start[item] + width[item]] for item in first_of]
    square = np.zeros(n_items)
    np.add.at(square, row, items.weight**2)
    return Groups(
        item=order,
        slot=slot,
        first=first,
        topics=np.concatenate([[0], np.cumsum(widths)]),
        topic=np.concatenate([nothing, *topics]),
        entry=np.concatenate([[0], np.cumsum(sizes * widths)])[:-1],
        weight=items.weight[np.concatenate([nothing, *entries])],
        dense=np.array(items.dense[order].T, order="C"),
        norm=float(np.sqrt((square + (items.dense**2).sum(axis=1)).max(initial=0.0))),
    )
