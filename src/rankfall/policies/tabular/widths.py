"""Bounds by item that are a mean and a width."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.kernels import item_bounds
from rankfall.policies.tabular.policy import Rng, Table, TabularPolicy


class WidthPolicy(TabularPolicy):
    """Orders items by ``mean + sqrt(budget / n)``, where n is how often an item was observed."""

    @property
    @abstractmethod
    def budget(self) -> float:
        """What is under the root, over how often an item was observed."""

    def place(self, table: Table, rows: IntArray, items: IntArray, scores: FloatArray, rng: Rng) -> None:  # noqa: ARG002
        """The highest bounds."""
        item_bounds.width_list(rows, *table, self.budget, items, scores)

    def judge(self, table: Table, rng: Rng) -> FloatArray:  # noqa: ARG002
        """The bound of every item."""
        bounds = np.empty(self.n_items)
        item_bounds.width_bounds(*table, self.budget, bounds)
        return bounds
