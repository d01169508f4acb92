"""The columns that attraction is linear in: coverage that diminishes, and plain features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.kernels.cascade import UserArrays, user_arrays

AttractionKind: TypeAlias = Literal["hybrid", "topics", "features", "constant"]
"""Coverage gains and features; coverage and features, whatever is above; features alone; the same for every item."""

HybridModel: TypeAlias = Literal["cascade", "examined_cascade", "position_based"]
"""How people go through a list."""

WHOLE = ""
"""The name of the group that everybody is in."""


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of items, as one kind of attraction uses it.

    Attributes
    ----------
    diminishing : (items, d) coverage that items above use up.
    plain : (items, m) what counts wherever the item stands.
    added : whether the last plain column is a constant that was added.
    """

    diminishing: FloatArray
    plain: FloatArray
    added: bool

    @classmethod
    def of(cls, kind: AttractionKind, coverage: FloatArray, relevance: FloatArray) -> Columns:
        """The columns of a kind of attraction; a constant is added unless a feature is one."""
        none = np.empty((len(coverage), 0))
        plain = {"hybrid": relevance, "topics": np.hstack([coverage, relevance]), "features": relevance}.get(kind, none)
        added = not _constant(relevance).any() or kind == "constant"
        if added:
            plain = np.hstack([plain, np.ones((len(plain), 1))])
        return cls(coverage if kind == "hybrid" else none, np.ascontiguousarray(plain), added)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.diminishing.shape[1] + self.plain.shape[1])

    def take(self, items: IntArray) -> Columns:
        """The columns of these items."""
        return Columns(self.diminishing[items], self.plain[items], self.added)

    def user(self, weights: FloatArray) -> UserArrays:
        """A user with these weights (d + m,), for the kernels."""
        d = self.diminishing.shape[1]
        return user_arrays(self.diminishing, self.plain @ weights[d:], weights[:d])

    def spread(self, views: FloatArray) -> FloatArray:
        """(d + m,) variance of each column over items that were seen so often: 0 for a constant."""
        both = np.hstack([self.diminishing, self.plain])
        share = views / views.sum()
        mean = share @ both
        variance: FloatArray = share @ (both - mean) ** 2
        constant = _constant(both)
        constant[: self.diminishing.shape[1]] = False  # coverage gains are not constant where coverage is
        variance[~constant] = np.maximum(variance, 1e-6 * (share @ both**2))[~constant]
        variance[constant] = 0.0
        return variance

    def constant_weights(self, rate: float) -> FloatArray:
        """Weights under which every item attracts with this probability, as far as the columns allow."""
        weights = np.zeros(self.width)
        constant = np.flatnonzero(_constant(self.plain))
        if len(constant):
            column = int(constant[-1])
            weights[self.diminishing.shape[1] + column] = rate / self.plain[0, column]
        return weights


def _constant(block: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(columns,) which of them hold one number, and not 0."""
    if not len(block):
        return np.zeros(block.shape[1], dtype=bool)
    same: np.ndarray[tuple[int], np.dtype[np.bool_]] = (block == block[0]).all(axis=0) & (block[0] != 0.0)
    return same
