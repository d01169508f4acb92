"""Features that candidates have in one request, as numbers by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray, IntArray, rows, whole
from rankfall.catalog import Catalog
from rankfall.errors import RankError
from rankfall.policies.context import RequestFeatures


def by_row(
    declared: RequestFeatures, catalog: Catalog, candidates: Sequence[int] | IntArray | None, given: Any
) -> tuple[IntArray, FloatArray]:
    """The rows that have values, ascending, and their values (rows, features).

    Parameters
    ----------
    candidates : the rows that an array of values is for, in its order; None for all rows.
    given : an array (candidates, features); or, by row or by id that is a text, a mapping of names to numbers.

    >>> declared = RequestFeatures({"bm25": {"scale": 2.0}})
    >>> by_row(declared, Catalog(ids=["a", "b", "c"]), None, {"c": {"bm25": 3.0}, 0: {"bm25": 1.0}})
    (array([0, 2]), array([[0.5],
           [1.5]]))
    """
    if isinstance(given, Mapping):
        encoded = {_row(name, catalog): declared.encode(values) for name, values in given.items()}
        if len(encoded) < len(given):
            raise RankError("features of one candidate are given twice, by its row and by its id")
        found = np.array(sorted(encoded), dtype=np.int64)
        values = np.array([encoded[row] for row in found.tolist()]).reshape(len(found), len(declared.names))
        return found, values
    values = declared.encode_all(given)
    every = np.arange(len(catalog)) if candidates is None else rows("candidates", candidates, len(catalog), RankError)
    if len(values) != len(every):
        raise RankError(f"features of {len(values)} candidates are given, and there are {len(every)}")
    order = np.argsort(every)
    return every[order], values[order]


def _row(name: Any, catalog: Catalog) -> int:
    """The row of a candidate named by row, or by id that is a text."""
    if not isinstance(name, str):
        return whole("a candidate with features", name, RankError, low=0, high=len(catalog) - 1)
    row = catalog.row(name)
    if row is None:
        raise RankError(f"features are given for {name!r}, and the catalog has no such item")
    return row


def spread(given: tuple[IntArray, FloatArray], wanted: IntArray) -> FloatArray:
    """(wanted, features) the values of rows in ascending order; 0 where none are given.

    >>> spread((np.array([0, 2]), np.array([[0.5], [1.5]])), np.array([1, 2]))
    array([[0. ],
           [1.5]])
    """
    known, values = given
    made = np.zeros((len(wanted), values.shape[1]))
    if len(known):
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        there = known[at] == wanted
        made[there] = values[at[there]]
    return made
