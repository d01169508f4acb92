"""All lists of a small problem, to find the best of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np

from rankfall.arrays import IntArray
from rankfall.errors import ProblemError

_LARGEST_SEARCH = 2_000_000


def every_list(n_items: int, k: int) -> IntArray:
    """(lists, k) every list of ``k`` items; refused where there are more than two million.

    >>> every_list(3, 2).tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    return _table(itertools.permutations(range(n_items), k), math.perm(n_items, k), n_items, k)


def every_set(n_items: int, k: int) -> IntArray:
    """(lists, k) every set of ``k`` items, each in ascending order; refused where there are more than two million.

    >>> every_set(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return _table(itertools.combinations(range(n_items), k), math.comb(n_items, k), n_items, k)


def _table(every: Iterable[tuple[int, ...]], count: int, n_items: int, k: int) -> IntArray:
    if count > _LARGEST_SEARCH:
        raise ProblemError(
            f"{k} of {n_items} items make {count:,} lists; trying all is offered up to {_LARGEST_SEARCH:,}. "
            "Use best(k), or fewer items"
        )
    return np.fromiter(itertools.chain.from_iterable(every), dtype=np.int64, count=count * k).reshape(count, k)
