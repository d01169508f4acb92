"""What attracts a user: how likely an item is clicked once it is examined."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rankfall.arrays import FloatArray, IntArray


@runtime_checkable
class Attraction(Protocol):
    """Attraction of items, alone or given the items above them in a list."""

    @property
    def n_items(self) -> int:
        """How many items there are."""
        ...

    @property
    def alone(self) -> FloatArray | None:
        """(items,) attraction of each item wherever it stands; None if it depends on the items above."""
        ...

    def of(self, lists: IntArray) -> FloatArray:
        """(lists, k) attraction of each item of each list (lists, k), given those above it."""
        ...

    def greedy(self, k: int) -> IntArray:
        """At each position the item that attracts most, given those above; of equals the lowest row."""
        ...

    def covered(self, items: IntArray) -> tuple[float, float]:
        """How many topics a list touches, and how many it covers, each weighted by how well; NaN without topics."""
        ...
