"""Attraction between two others, for users who change little by little."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.users.attraction import Attraction


class Mixture:
    """Attraction ``(1 - weight) * first + weight * second`` of each item as shown."""

    def __init__(self, first: Attraction, second: Attraction, weight: float) -> None:
        self._first, self._second, self._weight = first, second, weight
        one, other = first.alone, second.alone
        self.alone = None if one is None or other is None else self._mix(one, other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._first}, {self._second}, {self._weight:.3g})"

    def _mix(self, one: FloatArray, other: FloatArray) -> FloatArray:
        return (1.0 - self._weight) * one + self._weight * other

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self._first.n_items

    def of(self, lists: IntArray) -> FloatArray:
        """(lists, k) attraction of each item of each list, given those above it."""
        return self._mix(self._first.of(lists), self._second.of(lists))

    def greedy(self, k: int) -> IntArray:
        """At each position the item that attracts most, given those above; of equals the lowest row."""
        if self.alone is not None:
            return np.argsort(-self.alone, kind="stable")[:k]
        items: list[int] = []
        for _ in range(k):
            left = np.array([row for row in range(self.n_items) if row not in items])
            lists = np.column_stack([np.tile(np.array(items, dtype=np.int64), (len(left), 1)), left])
            items.append(int(left[np.argmax(self.of(lists)[:, -1])]))
        return np.array(items)

    def covered(self, items: IntArray) -> tuple[float, float]:
        """Topics as the first attraction has them."""
        return self._first.covered(items)
