"""Who comes when: streams of users, one for each list that is shown.

Users are numbers from 0 on. Any array of them is a stream; these are the usual kinds.
"""

from __future__ import annotations

import numpy as np

from rankfall.arrays import IntArray, number, whole
from rankfall.errors import ProblemError
from rankfall.experiments.simulation import Seed


def uniform(users: int, lists: int, *, seed: Seed = 0) -> IntArray:
    """(lists,) every user as likely as any other, at any time.

    >>> uniform(3, 6, seed=1).tolist()
    [1, 1, 2, 2, 0, 0]
    """
    users, lists, rng = _checked(users, lists, seed)
    return rng.integers(users, size=lists)


def heavy_tailed(users: int, lists: int, *, exponent: float = 1.0, seed: Seed = 0) -> IntArray:
    """(lists,) few users come often and many rarely: the r-th most frequent one in proportion to ``r ** -exponent``.

    Who is frequent is drawn too, so that it has nothing to do with the number of a user.

    >>> np.bincount(heavy_tailed(4, 1000, seed=1)).tolist()
    [490, 216, 171, 123]
    """
    users, lists, rng = _checked(users, lists, seed)
    weight = np.arange(1, users + 1) ** -number("exponent", exponent, ProblemError, low=0.0)
    order = rng.permutation(users)
    return order[rng.choice(users, size=lists, p=weight / weight.sum())]


def coming_and_going(users: int, lists: int, *, present: int = 20, seed: Seed = 0) -> IntArray:
    """(lists,) users come one after the other, stay for a while, and do not come back.

    So many are ``present`` at a time, every one of them as likely as any other. At even distances the one who has been
    there longest leaves, and the next one comes, so that all have come by the end.

    >>> coming_and_going(4, 12, present=2, seed=1).tolist()
    [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 2]
    """
    users, lists, rng = _checked(users, lists, seed)
    present = whole("present", present, ProblemError, low=1, high=users)
    oldest = np.arange(lists) * (users - present + 1) // lists
    return oldest + rng.integers(present, size=lists)


def _checked(users: int, lists: int, seed: Seed) -> tuple[int, int, np.random.Generator]:
    users, lists = whole("users", users, ProblemError, low=1), whole("lists", lists, ProblemError, low=1)
    if not isinstance(seed, np.random.SeedSequence):
        seed = whole("seed", seed, ProblemError, low=0)
    return users, lists, np.random.default_rng(seed)
