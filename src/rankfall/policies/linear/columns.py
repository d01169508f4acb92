"""The columns of linear policies: which features they use, which of those diminish, and how large they may be."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, RankError, RankfallError
from rankfall.kernels.item_scores import Items, items_of
from rankfall.kernels.item_vectors import ItemVectors, vectors_of

Block = Literal["absent", "constant", "diminishing"]
"""How a policy uses coverage or relevance: not at all, as it stands, or less what the items above used up."""

LARGEST = 1e6
"""Features as shown beyond this ruin double precision: phi phi' swamps the identity it is added to."""
LARGEST_GIVEN = 1e3
"""Features of a catalog beyond this do so in time: when two columns are nearly alike, millions of lists suffice."""


def laid_out(catalog: Catalog, coverage: Block, relevance: Block, more: int = 0, ones: int = 0) -> Items:
    """The columns that are used, as the kernels take them; then ``ones`` columns of 1, and ``more`` of 0."""
    nothing = np.empty((len(catalog), 0))
    features = nothing if relevance == "absent" else catalog.relevance
    if np.abs(features).max(initial=0.0) > LARGEST_GIVEN:
        row, column = np.argwhere(np.abs(features) > LARGEST_GIVEN)[0]
        raise CatalogError(
            f"relevance is {features[row, column]:g} at row {row}, {catalog.features[column]}; "
            f"scale features to about 1 (at most {LARGEST_GIVEN:g})"
        )
    return items_of(
        nothing if coverage == "absent" else catalog.coverage,
        np.hstack([features, np.ones((len(catalog), ones)), np.zeros((len(catalog), more))])
        if ones + more
        else features,
        coverage == "diminishing",
        relevance == "diminishing",
    )


def some_with(items: Items, rows: IntArray, last: FloatArray) -> Items:
    """These items alone, in this order, with other values in their last columns (rows, columns)."""
    counts = items.start[rows + 1] - items.start[rows]
    start = np.concatenate([[0], np.cumsum(counts)])
    entries = np.repeat(items.start[rows] - start[:-1], counts) + np.arange(start[-1])
    dense = items.dense[rows]
    dense[:, dense.shape[1] - last.shape[1] :] = last
    return items._replace(start=start, topic=items.topic[entries], weight=items.weight[entries], dense=dense)


class Layout:
    """Items laid out for the kernels, once for a policy and all copies of it.

    Attributes
    ----------
    items : the columns that are used, item by item.
    """

    def __init__(self, items: Items) -> None:
        self.items = items

    @cached_property
    def vectors(self) -> ItemVectors:
        """The same column by column; laid out when first asked for, as that takes as long as several lists."""
        return vectors_of(self.items, np.arange(len(self.items.dense)))


def features_as_shown(catalog: Catalog, coverage: Block, relevance: Block, lists: IntArray) -> FloatArray:
    """The features of each of these lists (n, k) of rows, position by position: (n, k, columns)."""
    blocks = []
    for how, values in ((coverage, catalog.coverage), (relevance, catalog.relevance)):
        if how == "absent":
            continue
        block = values[lists]
        if how == "diminishing":
            left = np.ones_like(block)
            np.cumprod(1.0 - block[:, :-1], axis=1, out=left[:, 1:])
            block = left * block
        blocks.append(block)
    features = np.concatenate(blocks, axis=2)
    check_size(float(np.abs(features).max(initial=0.0)), RankError)
    return features


def check_size(largest: float, error: type[RankfallError]) -> None:
    """Refuse features that double precision cannot carry."""
    if not largest <= LARGEST:
        raise error(
            f"a feature as shown is {largest:g}; diminishing columns with values below 0 grow down the list. "
            f"Scale features down, or show fewer items (at most {LARGEST:g})"
        )
