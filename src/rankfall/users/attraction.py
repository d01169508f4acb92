"""What attracts a user: how likely an item is clicked once it is looked at."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, frozen, number
from rankfall.errors import ProblemError
from rankfall.kernels import cascade
from rankfall.users.cascade import CascadeUser


@runtime_checkable
class Attraction(Protocol):
    """Attraction of items, alone or given those above them in a list."""

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
        """Topics a list touches, and topics it covers weighted by how well; NaN where there are no topics."""
        ...


class Table:
    """Attraction given item by item, each in [0, 1].

    >>> Table([0.5, 0.1, 0.3]).greedy(2)
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


class Linear(Table):
    """Attraction ``z . beta`` of each item, clipped to [0, 1]; the items above do not matter.

    Parameters
    ----------
    relevance : (items, features).
    beta : (features,) what the user makes of them.

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


class Hybrid:
    """Attraction of section 4.1, ``tradeoff * z . beta + (1 - tradeoff) * omega . theta``, clipped to [0, 1].

    ``omega`` is the coverage that an item adds to those above it. With :class:`Cascade` clicks this is
    :class:`CascadeUser`, which is faster.

    Parameters
    ----------
    coverage : (items, topics) in [0, 1].
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
        tradeoff = number("tradeoff", tradeoff, ProblemError, low=0.0, high=1.0)
        self._user = CascadeUser(coverage, relevance, theta, beta, tradeoff)

    @staticmethod
    def of_user(user: CascadeUser) -> Hybrid:
        """What attracts this user."""
        hybrid = Hybrid.__new__(Hybrid)
        hybrid._user = user
        return hybrid

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items)"

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self._user.n_items

    def of(self, lists: IntArray) -> FloatArray:
        """(lists, k) attraction of each item of each list, given those above it."""
        alpha, left = np.empty(lists.shape), np.empty(len(self._user.theta))
        for items, out in zip(lists, alpha, strict=True):
            cascade.attraction(items, self._user.compiled, left, out)
        return alpha

    def greedy(self, k: int) -> IntArray:
        """At each position the item that attracts most, given those above; of equals the lowest row."""
        return self._user.best(k)

    def covered(self, items: IntArray) -> tuple[float, float]:
        """Topics a list touches, and topics it covers weighted by how well."""
        return self._user.covered(items)


class Coverage(Hybrid):
    """Attraction ``omega . theta``: nothing but the coverage that an item adds to those above it.

    >>> Coverage([[0.5], [0.5]], [1.0]).of(np.array([[0, 1]]))
    array([[0.5 , 0.25]])
    """

    def __init__(self, coverage: ArrayLike, theta: ArrayLike) -> None:
        block = finite("coverage", coverage, 2, ProblemError)
        super().__init__(block, np.empty((len(block), 0)), theta, [], tradeoff=0.0)


class Between:
    """A mixture of two attractions: ``(1 - weight) * first + weight * second``, item by item as shown."""

    def __init__(self, first: Attraction, second: Attraction, weight: float) -> None:
        self._first, self._second, self._weight = first, second, weight
        one, other = first.alone, second.alone
        self.alone = None if one is None or other is None else self._mix(one, other)

    def __repr__(self) -> str:
        return f"Between({self._first}, {self._second}, {self._weight:.3g})"

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
        """Topics as the first sees them."""
        return self._first.covered(items)
