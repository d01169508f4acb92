"""What came of a simulation of many users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray, whole
from rankfall.errors import ProblemError


@dataclass(frozen=True, eq=False, repr=False)
class UsersRun:
    """One policy and a stream of users.

    Attributes
    ----------
    user : (lists,) who came.
    regret : (lists,) expected regret of each list: reward of the best list for this user less reward of the one shown.
    clicked : (lists,) whether it was clicked.
    best : (users,) expected reward of the best list of each user.
    """

    user: IntArray
    regret: FloatArray
    clicked: BoolArray
    best: FloatArray

    def __repr__(self) -> str:
        users, lists = len(np.unique(self.user)), len(self.user)
        return f"UsersRun({lists:,} lists, {users:,} users, regret {self.total:.4g}, {self.clicked.sum():,} clicks)"

    @property
    def total(self) -> float:
        """Regret of all lists."""
        return float(self.regret.sum())

    @cached_property
    def turn(self) -> IntArray:
        """(lists,) how many lists the user had seen before this one."""
        order = np.argsort(self.user, kind="stable")
        ordered = self.user[order]
        first = np.searchsorted(ordered, ordered)
        turns = np.empty(len(order), dtype=np.int64)
        turns[order] = np.arange(len(order)) - first
        return turns

    @cached_property
    def lists(self) -> IntArray:
        """(users,) how many lists each user has seen."""
        return np.bincount(self.user, minlength=len(self.best))

    def by_user(self, first: int | None = None, after: int = 0) -> FloatArray:
        """(users,) regret of each user, over the lists after so many up to the ``first``; NaN for who has seen fewer.

        >>> run = UsersRun(
        ...     np.array([0, 1, 0, 0]), np.array([0.5, 0.4, 0.2, 0.1]), np.zeros(4, dtype=bool), np.array([0.9, 0.8])
        ... )
        >>> run.by_user(), run.by_user(2), run.by_user(3, after=1)
        (array([0.8, 0.4]), array([0.7, nan]), array([0.3, nan]))
        """
        whole("after", after, ProblemError, low=0)
        counted = self.turn >= after
        if first is not None:
            counted &= self.turn < whole("first", first, ProblemError, low=after + 1)
        sums = np.zeros(len(self.best))
        np.add.at(sums, self.user[counted], self.regret[counted])
        sums[self.lists < (after + 1 if first is None else first)] = np.nan
        return sums

    def by_lists(self, last: int | None = None) -> FloatArray:
        """(last,) mean regret of a user's first list, second list, and so on, over the users who have seen as many.

        >>> run = UsersRun(
        ...     np.array([0, 1, 0, 0]), np.array([0.5, 0.4, 0.2, 0.1]), np.zeros(4, dtype=bool), np.array([0.9, 0.8])
        ... )
        >>> run.by_lists()
        array([0.45, 0.2 , 0.1 ])
        """
        counts = np.bincount(self.turn)
        means: FloatArray = np.bincount(self.turn, self.regret) / counts
        return means if last is None else means[: whole("last", last, ProblemError, low=1)]
