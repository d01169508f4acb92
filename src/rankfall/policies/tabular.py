"""What tabular policies share: a table of how often each item was observed and clicked."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, fill
from rankfall.kernels import bounds
from rankfall.policies.base import BasePolicy, Size, as_shown
from rankfall.policies.ranking import Ranking


class TabularPolicy(BasePolicy):
    """What tabular policies share: counts by item, and lists of those with the highest bounds or samples.

    A policy says by ``_place`` which of the eligible rows make the list, and by ``_count`` what an answer means.
    """

    def __init__(self, items: Size) -> None:
        super().__init__(items)
        self._observed: FloatArray = np.zeros(self._n_items)
        self._clicked: FloatArray = np.zeros(self._n_items)
        self._n_updates = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n_items} items, {self._n_updates} updates)"

    @property
    def n_updates(self) -> int:
        """How many lists it has learned from."""
        return self._n_updates

    def arrays(self) -> dict[str, FloatArray | IntArray]:
        """All it has learned, by name: a copy."""
        return {
            "observed": self._observed.copy(),
            "clicked": self._clicked.copy(),
            "n_updates": np.array(self._n_updates),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this, as :meth:`arrays` gave it; raises ValueError where it cannot be."""
        if set(arrays) != {"observed", "clicked", "n_updates"}:
            raise ValueError(f"counts are observed, clicked and n_updates; got {', '.join(arrays) or 'nothing'}")
        observed, clicked, n_updates = np.empty(self._n_items), np.empty(self._n_items), np.array(0)
        for name, own in (("observed", observed), ("clicked", clicked), ("n_updates", n_updates)):
            fill(own, name, arrays[name])
        if (clicked < 0).any() or (clicked > observed * (1 + 1e-9)).any() or n_updates < 0:
            raise ValueError(f"{n_updates} updates, or clicks that are not between 0 and what was observed")
        self._observed, self._clicked, self._n_updates = observed, clicked, int(n_updates)

    def grow(self, size: int) -> None:
        """Have rows up to ``size``, if there are fewer; nothing is known of the new ones."""
        more = size - self._n_items
        if more > 0:
            self._resize(size)
            self._observed = np.concatenate([self._observed, np.zeros(more)])
            self._clicked = np.concatenate([self._clicked, np.zeros(more)])

    def seeing(self, other: TabularPolicy, rows: IntArray, size: int) -> Self:
        """A policy that ranks ``size`` items as this one does, by what another has learned, and learns nothing.

        What the other knows of its row i is known of ``rows[i]`` here, or of none if that is -1.
        """
        twin = copy.copy(self)
        twin._resize(size)
        twin._observed, twin._clicked = np.zeros(size), np.zeros(size)
        there = np.flatnonzero(rows >= 0)
        twin._observed[rows[there]] = other._observed[there]
        twin._clicked[rows[there]] = other._clicked[there]
        twin._n_updates = other._n_updates
        return twin

    def best(self, k: int, rows: IntArray, rng: np.random.Generator | None = None) -> tuple[IntArray, FloatArray]:
        """The best ``k`` of ``rows``, equals in the order of ``rows``, and what they are ordered by."""
        items, scores = np.empty(k, dtype=np.int64), np.empty(k)
        if k:
            self._place(rows, items, scores, rng)
        return items, scores

    @property
    def observed(self) -> FloatArray:
        """How often each item was observed: a copy."""
        return self._observed.copy()

    def means(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Share of clicks of these rows, and its standard deviation as if one more of each answer had been seen."""
        observed, clicked = self._observed[rows], self._clicked[rows]
        share = (clicked + 1.0) / (observed + 2.0)
        return clicked / np.maximum(observed, 1e-300), np.sqrt(share * (1.0 - share) / (observed + 3.0))

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:
        items, scores = self.best(k, rows, rng)
        return as_shown(items, scores=scores)

    def _learn(self, ranking: Ranking, clicks: list[int]) -> None:
        self._count(ranking.items, clicks)
        self._n_updates += 1

    @abstractmethod
    def _place(self, rows: IntArray, items: IntArray, scores: FloatArray, rng: np.random.Generator | None) -> None:
        """Fill ``items`` with the best of ``rows``, and ``scores`` with what they were ordered by."""

    def _count(self, items: IntArray, clicks: list[int]) -> None:
        """Count an answer to the cascade: observed is all down to the first click, or the whole list without one."""
        hit = clicks[0] if clicks else -1
        seen = hit + 1 if clicks else len(items)
        bounds.observe(items, seen, hit, 1.0, self._observed, self._clicked)
