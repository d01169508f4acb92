"""Attraction by relevance and by the coverage that an item adds to the items above it: section 4.1 of the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, frozen, number
from rankfall.errors import ProblemError
from rankfall.kernels import cascade


class Hybrid:
    """Attraction of section 4.1, ``tradeoff * z . beta + (1 - tradeoff) * omega . theta``, clipped to [0, 1].

    ``omega`` is the coverage that an item adds to the items above it.

    Parameters
    ----------
    coverage : (items, topics) in [0, 1]; the user's own, which policies may know only roughly.
    relevance : (items, features).
    theta, beta : the user's preferences for topics and features.
    tradeoff : the paper's lambda; 1 is all relevance, 0 all diversity.

    >>> Hybrid([[0.5], [0.5]], [[0.2], [0.4]], [1.0], [1.0], tradeoff=0.5).of(np.array([[0, 1]]))
    array([[0.35 , 0.325]])
    """

    alone = None

    def __init__(
        self, coverage: ArrayLike, relevance: ArrayLike, theta: ArrayLike, beta: ArrayLike, tradeoff: float = 0.5
    ) -> None:
        self.coverage = finite("coverage", coverage, 2, ProblemError)
        self.relevance = finite("relevance", relevance, 2, ProblemError)
        self.theta = finite("theta", theta, 1, ProblemError)
        self.beta = finite("beta", beta, 1, ProblemError)
        self.tradeoff = number("tradeoff", tradeoff, ProblemError, low=0.0, high=1.0)
        if len(self.coverage) != len(self.relevance):
            raise ProblemError(
                f"coverage has {len(self.coverage)} rows, relevance {len(self.relevance)}; both need one for each item"
            )
        for name, weights, block in (("theta", self.theta, self.coverage), ("beta", self.beta, self.relevance)):
            if len(weights) != block.shape[1]:
                raise ProblemError(f"{name} has {len(weights)} entries for {block.shape[1]} columns")
        if not len(self.coverage):
            raise ProblemError("coverage has no rows; a user needs at least one item to look at")
        if self.coverage.size and not (self.coverage.min() >= 0 and self.coverage.max() <= 1):
            raise ProblemError("coverage must lie in [0, 1]")
        appeal: FloatArray = frozen(self.tradeoff * (self.relevance @ self.beta))
        theta_used: FloatArray = frozen((1.0 - self.tradeoff) * self.theta)
        self.arrays = cascade.user_arrays(self.coverage, appeal, theta_used)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items, tradeoff={self.tradeoff:g})"

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.coverage)

    @property
    def share_clipped(self) -> float:
        """Share of items whose attraction at the top of a list had to be clipped to [0, 1]."""
        top = self._at_the_top()
        return float(np.mean((top < 0) | (top > 1)))

    @property
    def highest(self) -> float:
        """The highest attraction of an item at the top of a list; the paper's alpha_max."""
        return float(np.clip(self._at_the_top(), 0.0, 1.0).max())

    def _at_the_top(self) -> FloatArray:
        """(items,) attraction of each item at the top of a list, before it is clipped."""
        top: FloatArray = self.arrays.appeal + self.coverage @ self.arrays.theta
        return top

    def of(self, lists: IntArray) -> FloatArray:
        """(lists, k) attraction of each item of each list, given those above it."""
        alpha = np.empty(lists.shape)
        cascade.attractions(np.ascontiguousarray(lists, dtype=np.int64), self.arrays, alpha)
        return alpha

    def greedy(self, k: int) -> IntArray:
        """At each position the item that attracts most, given those above (section 3.2); of equals the lowest row."""
        items = np.empty(k, dtype=np.int64)
        cascade.greedy_list(self.arrays, items)
        return items

    def covered(self, items: IntArray) -> tuple[float, float]:
        """How many topics a list touches, and how many it covers, each weighted by how well."""
        left = np.empty(len(self.theta))
        cascade.attraction(items, self.arrays, left, np.empty(len(items)))
        touched, weighted = cascade.covered(left)
        return float(touched), float(weighted)


class Coverage(Hybrid):
    """Attraction ``omega . theta``: nothing but the coverage that an item adds to the items above it.

    >>> Coverage([[0.5], [0.5]], [1.0]).of(np.array([[0, 1]]))
    array([[0.5 , 0.25]])
    """

    def __init__(self, coverage: ArrayLike, theta: ArrayLike) -> None:
        block = finite("coverage", coverage, 2, ProblemError)
        super().__init__(block, np.empty((len(block), 0)), theta, [], tradeoff=0.0)
