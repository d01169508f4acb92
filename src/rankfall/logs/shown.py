"""Features as shown of many given lists at once."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.catalog import Catalog
from rankfall.errors import RankError
from rankfall.policies import Recipe
from rankfall.policies.linear import check_size


def features_as_shown(recipe: Recipe, catalog: Catalog, rows: IntArray) -> FloatArray:
    """The features that ``policy.rank(k, fixed=...)`` gives for each list, bit for bit, without ranking one by one.

    Parameters
    ----------
    rows : (n, k) rows of the catalog.

    Returns
    -------
    features : (n, k, columns): at each position what the items above leave of a diminishing column.

    >>> from rankfall import CascadeLSB
    >>> catalog = Catalog(coverage=[[0.5], [1.0]])
    >>> features_as_shown(CascadeLSB, catalog, np.array([[0, 1], [1, 0]])).tolist()
    [[[0.5], [0.5]], [[1.0], [0.0]]]
    """
    blocks = []
    for how, values in ((recipe.coverage, catalog.coverage), (recipe.relevance, catalog.relevance)):
        if how == "absent":
            continue
        block = values[rows]
        if how == "diminishing":
            left = np.ones_like(block)
            np.cumprod(1.0 - block[:, :-1], axis=1, out=left[:, 1:])
            block = left * block
        blocks.append(block)
    features = np.concatenate(blocks, axis=2)
    check_size(float(np.abs(features).max(initial=0.0)), RankError)
    return features
