"""The user of the paper: attraction from relevance and coverage, one click, the cascade."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, frozen, number, rows, whole
from rankfall.errors import ProblemError
from rankfall.kernels import cascade
from rankfall.users.brute_force import every_list


class CascadeUser:
    """The click simulator of section 4.1: reads from the top, clicks the first attractive item, and leaves.

    Attraction of the i-th item is ``tradeoff * z . beta + (1 - tradeoff) * omega . theta``, clipped to [0, 1], where
    ``omega`` is the coverage it adds to the items above it.

    Parameters
    ----------
    coverage : (items, topics) in [0, 1]; the user's own, which policies may know only roughly.
    relevance : (items, features).
    theta, beta : the user's preferences for topics and features.
    tradeoff : the paper's lambda; 1 is all relevance, 0 all diversity.

    >>> user = CascadeUser([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]], [[0], [0], [0]], [0.6, 0.4], [0], tradeoff=0)
    >>> user.attraction([0, 1, 2])
    array([0.3 , 0.15, 0.16])
    >>> user.best(2)
    array([0, 2])
    """

    def __init__(
        self,
        coverage: ArrayLike,
        relevance: ArrayLike,
        theta: ArrayLike,
        beta: ArrayLike,
        tradeoff: float = 0.5,
    ) -> None:
        self.coverage = finite("coverage", coverage, 2, ProblemError)
        self.relevance = finite("relevance", relevance, 2, ProblemError)
        self.theta = finite("theta", theta, 1, ProblemError)
        self.beta = finite("beta", beta, 1, ProblemError)
        self.tradeoff = number("tradeoff", tradeoff, ProblemError, low=0.0, high=1.0)
        if len(self.coverage) != len(self.relevance):
            raise ProblemError(f"coverage has {len(self.coverage)} rows, relevance {len(self.relevance)}; one an item")
        for name, weights, block in (
            ("theta", self.theta, self.coverage),
            ("beta", self.beta, self.relevance),
        ):
            if len(weights) != block.shape[1]:
                raise ProblemError(f"{name} has {len(weights)} entries for {block.shape[1]} columns")
        if not len(self.coverage):
            raise ProblemError("coverage has no rows; a user needs at least one item to look at")
        if self.coverage.size and not (self.coverage.min() >= 0 and self.coverage.max() <= 1):
            raise ProblemError("coverage must lie in [0, 1]")
        self._appeal: FloatArray = frozen(self.tradeoff * (self.relevance @ self.beta))
        self._theta: FloatArray = frozen((1.0 - self.tradeoff) * self.theta)
        self.compiled = cascade.user_of(self.coverage, self._appeal, self._theta)

    def __repr__(self) -> str:
        return f"CascadeUser({self.n_items} items, tradeoff={self.tradeoff:g})"

    @property
    def n_items(self) -> int:
        """How many items the user may be shown."""
        return len(self.coverage)

    @property
    def share_clipped(self) -> float:
        """Share of items whose attraction at the top of a list had to be clipped to [0, 1]."""
        raw = self._appeal + self.coverage @ self._theta
        return float(np.mean((raw < 0) | (raw > 1)))

    def attraction(self, items: Iterable[int]) -> FloatArray:
        """Probability that each item is clicked if it is looked at, given the items above it."""
        shown = rows("items", items, self.n_items, ProblemError)
        alpha = np.empty(len(shown))
        cascade.attraction(shown, self.compiled, np.empty(len(self._theta)), alpha)
        return alpha

    def reward(self, items: Iterable[int]) -> float:
        """Probability of a click: ``1 - prod (1 - alpha_i)``."""
        return float(cascade.some_click(self.attraction(items)))

    def covered(self, items: Iterable[int]) -> tuple[float, float]:
        """How diverse a list is: the topics it touches, and the topics it covers, weighted by how well."""
        left = np.empty(len(self._theta))
        shown = rows("items", items, self.n_items, ProblemError)
        cascade.attraction(shown, self.compiled, left, np.empty(len(shown)))
        touched, weighted = cascade.covered(left)
        return float(touched), float(weighted)

    def click(self, items: Iterable[int], coins: ArrayLike) -> int | None:
        """Position of the first item whose coin falls below its attraction, or None."""
        alpha = self.attraction(items)
        flips = finite("coins", coins, 1, ProblemError)
        if len(flips) < len(alpha):
            raise ProblemError(f"{len(flips)} coins for {len(alpha)} positions; one for each")
        position = cascade.first_click(alpha, flips)
        return None if position < 0 else int(position)

    def best(self, k: int) -> IntArray:
        """The greedy benchmark (section 3.2): at each position the item that attracts most, given those above."""
        items = np.empty(whole("k", k, ProblemError, low=1, high=self.n_items), dtype=np.int64)
        cascade.greedy_list(self.compiled, items)
        return items

    def optimum(self, k: int) -> IntArray:
        """The list with the highest expected reward, by trying all of them; the first one of equals.

        Refuses problems with more than two million lists.
        """
        k = whole("k", k, ProblemError, low=1, high=self.n_items)
        lists = every_list(self.n_items, k)
        count = len(lists)
        left = np.ones((count, len(self._theta)))
        none = np.ones(count)
        for position in range(k):
            x = self.coverage[lists[:, position]]
            alpha = self._appeal[lists[:, position]] + (left * x) @ self._theta
            none *= 1.0 - np.clip(alpha, 0.0, 1.0)
            left *= 1.0 - x
        best: IntArray = lists[np.argmin(none)]
        return best

    def eta(self, k: int) -> float:
        """What share of the optimum the greedy list earns at least (section 3.2).

        ``(1 - 1/e) max(1/K, 1 - (K - 1)/2 alpha_max)``, with the highest attraction an item can have.
        """
        k = whole("k", k, ProblemError, low=1)
        highest = float(np.clip(self._appeal + self.coverage @ self._theta, 0.0, 1.0).max())
        return (1 - 1 / math.e) * max(1 / k, 1 - (k - 1) / 2 * highest)
