"""Search for a good list by single exchanges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankfall.arrays import FloatArray, IntArray


def improve_by_exchanges(items: IntArray, n_items: int, rewards: Callable[[IntArray], FloatArray]) -> IntArray:
    """Make the best exchange of two items, or of one for an item not in the list, until no exchange helps.

    Parameters
    ----------
    items : (k,) the list to begin with.
    n_items : how many items there are.
    rewards : expected reward (lists,) of each list (lists, k).

    Returns
    -------
    items : (k,) a list that no single exchange improves; it need not be the best of all.

    >>> improve_by_exchanges(np.array([0, 1]), 3, lambda lists: lists[:, 0] + 2.0 * lists[:, 1])
    array([1, 2])
    """
    k = len(items)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    highest = rewards(items[None])[0]
    while True:
        swapped = np.tile(items, (len(pairs), 1))
        for row, (i, j) in zip(swapped, pairs, strict=True):
            row[[i, j]] = row[[j, i]]
        outside = np.setdiff1d(np.arange(n_items), items)
        replaced = np.tile(items, (k, len(outside), 1))
        for i in range(k):
            replaced[i, :, i] = outside
        near = np.concatenate([swapped, replaced.reshape(-1, k)])
        found = rewards(near)
        if not len(near) or found.max() <= highest + 1e-12:
            return items
        items, highest = near[found.argmax()], found.max()
