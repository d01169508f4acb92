"""The features of a catalog as one plain matrix, for policies that treat all columns alike."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray, frozen
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError
from rankfall.policies.linear.columns import LARGEST_GIVEN


def plain_features(name: str, catalog: Catalog, *, coverage: bool = False) -> FloatArray:
    """Relevance of every item, and before it coverage if asked: (items, columns).

    >>> plain_features("PDGD", Catalog(coverage=[[0.5], [0.0]], relevance=[[1.0], [2.0]]), coverage=True)
    array([[0.5, 1. ],
           [0. , 2. ]])
    >>> plain_features("PDGD", Catalog(coverage=[[0.5], [0.0]]))
    Traceback (most recent call last):
    rankfall.errors.CatalogError: PDGD needs relevance features, and Catalog(2 items, 1 topics, 0 features) has none
    """
    features = np.hstack([catalog.coverage, catalog.relevance]) if coverage else catalog.relevance.copy()
    if not features.shape[1]:
        wanted = "topics or relevance features" if coverage else "relevance features"
        raise CatalogError(f"{name} needs {wanted}, and {catalog!r} has none")
    if np.abs(features).max() > LARGEST_GIVEN:
        row, column = (int(i) for i in np.argwhere(np.abs(features) > LARGEST_GIVEN)[0])
        raise CatalogError(
            f"a feature is {features[row, column]:g} at row {row}, column {column}; "
            f"scale features to about 1 (at most {LARGEST_GIVEN:g})"
        )
    return frozen(np.ascontiguousarray(features))
