"""Which items may be shown, as a mask, for policies that look at every item anyway."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rankfall.arrays import BoolArray, whole
from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.policies.ranking import eligible


def count_of(items: int | Catalog) -> int:
    """How many items there are, given their number or a catalog of them.

    >>> count_of(3), count_of(Catalog(relevance=[[1.0], [2.0]]))
    (3, 2)
    """
    return whole("items", len(items) if isinstance(items, Catalog) else items, ProblemError, low=1)


def allowed(
    k: int, everything: BoolArray, candidates: Iterable[int] | None, exclude: Iterable[int] | None
) -> tuple[int, BoolArray]:
    """``k``, checked, and which items may be shown; ``everything`` itself (all true) where nothing is ruled out.

    >>> allowed(1, np.ones(3, dtype=bool), [2, 1], [1])
    (1, array([False, False,  True]))
    """
    if candidates is None and exclude is None and type(k) is int and 0 < k <= len(everything):
        return k, everything
    k, rows = eligible(k, len(everything), candidates, exclude)
    mask = np.zeros(len(everything), dtype=bool)
    mask[rows] = True
    return k, mask
