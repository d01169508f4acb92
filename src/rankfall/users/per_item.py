"""Attraction of each item on its own: the items above it do not matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, frozen
from rankfall.errors import ProblemError


class PerItem:
    """Attraction given item by item, each in [0, 1].

    >>> PerItem([0.5, 0.1, 0.3]).greedy(2)
    array([0, 2])
    """

    def __init__(self, alpha: ArrayLike) -> None:
        self.alone: FloatArray = finite("alpha", alpha, 1, ProblemError)
        if not len(self.alone):
            raise ProblemError("alpha is empty; a user needs at least one item to look at")
        outside = (self.alone < 0) | (self.alone > 1)
        if outside.any():
            raise ProblemError(f"alpha holds {self.alone[outside][0]:g}; attraction is a probability, from 0 to 1")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items)"

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.alone)

    def of(self, lists: IntArray) -> FloatArray:
        """(lists, k) attraction of each item of each list."""
        return self.alone[lists]

    def greedy(self, k: int) -> IntArray:
        """The most attractive items; of equals the lowest row first."""
        return np.argsort(-self.alone, kind="stable")[:k]

    def covered(self, items: IntArray) -> tuple[float, float]:  # noqa: ARG002
        """Unknown: there are no topics."""
        return np.nan, np.nan


class Linear(PerItem):
    """Attraction ``z . beta`` of each item, clipped to [0, 1].

    Parameters
    ----------
    relevance : (items, features).
    beta : (features,) the user's preferences for features.

    >>> Linear([[1.0, 0.0], [0.5, 0.5]], [0.2, 0.6]).alone
    array([0.2, 0.4])
    """

    def __init__(self, relevance: ArrayLike, beta: ArrayLike) -> None:
        self.relevance = finite("relevance", relevance, 2, ProblemError)
        self.beta = finite("beta", beta, 1, ProblemError)
        if len(self.beta) != self.relevance.shape[1]:
            raise ProblemError(f"beta has {len(self.beta)} entries for {self.relevance.shape[1]} columns")
        if not len(self.relevance):
            raise ProblemError("relevance has no rows; a user needs at least one item to look at")
        self.alone = frozen(np.clip(self.relevance @ self.beta, 0.0, 1.0))
