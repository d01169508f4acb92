"""How likely a policy shows a list, position by position."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite
from rankfall.errors import ProblemError

NOTHING = -1
"""Stands in a list below its last item, where others are longer."""


@dataclass(frozen=True, eq=False)
class ListChances:
    """Chances of lists (lists, k) under a policy. Below the end of a shorter list they go on as if nothing stood there.

    Attributes
    ----------
    down_to : (lists, k) probability of the list from the top down to each position; in the last column, of all of it.
    at_position : (lists, k) probability of the item at its position, whatever stands above; None if nobody knows.

    >>> chances = ListChances.given_above([[0.5, 0.5], [0.5, 1.0]])
    >>> chances.down_to
    array([[0.5 , 0.25],
           [0.5 , 0.5 ]])
    """

    down_to: FloatArray
    at_position: FloatArray | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.down_to)
        for name in ("down_to", "at_position"):
            values = getattr(self, name)
            if values is None:
                continue
            made = finite(name, values, 2, ProblemError)
            if made.shape != shape:
                raise ProblemError(f"{name} has shape {made.shape}, and down_to {shape}; expected the same")
            if made.size and not 0.0 <= made.min() <= made.max() <= 1.0 + 1e-9:
                raise ProblemError(f"{name} must hold probabilities, got {made.min():g} to {made.max():g}")
            object.__setattr__(self, name, made)
        if (np.diff(self.down_to, axis=1) > 1e-9).any():
            raise ProblemError("down_to grows from one position to the next; a longer list cannot be likelier")

    @classmethod
    def given_above(cls, chances: ArrayLike, at_position: ArrayLike | None = None) -> ListChances:
        """From the chance of each item given those above it (lists, k)."""
        given = finite("chances given those above", chances, 2, ProblemError)
        alone = None if at_position is None else finite("at_position", at_position, 2, ProblemError)
        return cls(np.asarray(np.cumprod(given, axis=1), dtype=np.float64), alone)

    @classmethod
    def uniform(cls, pool: ArrayLike, free: ArrayLike) -> ListChances:
        """Of lists drawn at random without replacement, out of ``pool`` (lists,) items.

        ``free`` (lists, k) are the positions that are drawn; at others an item is held, or nothing is there.

        >>> ListChances.uniform([4], [[True, True, False]]).down_to
        array([[0.25      , 0.08333333, 0.08333333]])
        """
        items, drawn = np.asarray(pool, dtype=np.float64), np.asarray(free, dtype=bool)
        if items.ndim != 1 or drawn.ndim != 2 or len(items) != len(drawn):
            raise ProblemError(f"pool must be (lists,) and free (lists, k), got {items.shape} and {drawn.shape}")
        items = items[:, None]
        left = items - np.cumsum(drawn, axis=1) + drawn
        if (drawn & ~(left >= 1.0)).any():
            raise ProblemError("more positions are drawn than there are items in the pool")
        alone = np.where(drawn, 1.0 / np.maximum(items, 1.0), 1.0)
        return cls.given_above(np.where(drawn, 1.0 / np.maximum(left, 1.0), 1.0), alone)

    @classmethod
    def of_drawn(cls, shown: ArrayLike, drawn: ArrayLike) -> ListChances:
        """Of the lists ``shown`` (lists, k), if for each of them one of ``drawn`` (lists, draws, k) is shown.

        Of a policy that draws these are estimates without bias; of one that does not, one draw is enough.

        >>> ListChances.of_drawn(np.array([[1, 2]]), np.array([[[1, 2], [1, 0]]])).down_to
        array([[1. , 0.5]])
        """
        were, are = np.asarray(shown), np.asarray(drawn)
        if were.ndim != 2 or are.ndim != 3 or (len(are), are.shape[2]) != were.shape:
            raise ProblemError(
                f"shown must be (lists, k) and drawn (lists, draws, k), got {were.shape} and {are.shape}"
            )
        same = were[:, None, :] == are
        return cls(np.logical_and.accumulate(same, axis=2).mean(axis=1), same.mean(axis=1))

    @classmethod
    def mixture(cls, parts: Iterable[tuple[ArrayLike, ListChances]]) -> ListChances:
        """Of a policy that follows one of several, each with its share: a number, or one for each list."""
        shares, chances = zip(*parts, strict=True)
        weights = [np.reshape(np.asarray(share, dtype=np.float64), (-1, 1)) for share in shares]
        down_to = sum(share * one.down_to for share, one in zip(weights, chances, strict=True))
        if any(one.at_position is None for one in chances):
            return cls(np.asarray(down_to))
        alone = sum(share * one.at_position for share, one in zip(weights, chances, strict=True))
        return cls(np.asarray(down_to), np.asarray(alone))

    def __len__(self) -> int:
        return len(self.down_to)

    @property
    def above(self) -> FloatArray:
        """(lists, k) probability of what stands above each position; 1 at the top."""
        return np.column_stack([np.ones(len(self)), self.down_to[:, :-1]])

    def given(self) -> FloatArray:
        """(lists, k) chance of each item given those above it; NaN where those above are impossible."""
        with np.errstate(invalid="ignore", divide="ignore"):
            given: FloatArray = self.down_to / self.above
        return given

    def plain(self) -> dict[str, list[float]]:
        """Of one list, for JSON; :meth:`given_above` makes it again from this.

        >>> ListChances.uniform([4], [[True, True]]).plain()
        {'given_above': [0.25, 0.3333333333333333], 'at_position': [0.25, 0.25]}
        """
        plain = {"given_above": np.nan_to_num(self.given()[0]).tolist()}
        return plain if self.at_position is None else {**plain, "at_position": self.at_position[0].tolist()}

    def take(self, which: IntArray) -> ListChances:
        """Those of these lists."""
        return ListChances(self.down_to[which], None if self.at_position is None else self.at_position[which])
