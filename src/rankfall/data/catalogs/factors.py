"""Relevance features from a click log: factors of who clicked what, also for items that nobody has seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from rankfall.arrays import FloatArray, IntArray
from rankfall.data.preparation.equations import relevance_features
from rankfall.recipe import Factors

CLICKS = 5.0
"""Factors of an item that so many people clicked count as much as those that its other features predict."""

_PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)


class Learned(NamedTuple):
    """Factors of each item (items, rank), how they are predicted, and how well: the share of variance explained."""

    values: FloatArray
    rule: Factors
    explained: float


def learned_factors(
    clicked: csr_array, clickers: IntArray, others: FloatArray, rank: int, topics: tuple[str, ...] = ()
) -> Learned:
    """Factors as section 4.1 has them, drawn towards what other features predict where clicks are few.

    Parameters
    ----------
    clicked : (people, items) 1 where a person clicked an item.
    clickers : (items,) people who clicked each.
    others : (items, columns) all other features, a constant among them, and then 1 for each topic of the item.
    rank : how many factors; at most the number of people and of items that were clicked.
    topics : names of those.
    """
    some = np.flatnonzero(clickers)
    found = np.zeros((len(clickers), rank))
    found[some] = relevance_features(clicked[:, some], rank)
    trust = clickers / (clickers + CLICKS)
    weights, explained = _ridge(others[some], found[some], trust[some])
    predicted = others @ weights
    mixed = trust[:, None] * found + (1.0 - trust[:, None]) * predicted
    return Learned(mixed, Factors(tuple(tuple(row) for row in weights.tolist()), topics), explained)


def _ridge(X: FloatArray, Y: FloatArray, trust: FloatArray) -> tuple[FloatArray, float]:
    """Weights of the ridge regression of Y on X, with the penalty that predicts rows left out one by one best.

    Also the share of the variance of rows left out that it explains; never below 0.
    """
    root = np.sqrt(trust)[:, None]
    U, s, Vt = np.linalg.svd(root * X, full_matrices=False)
    target = root * Y
    projected = U.T @ target
    best, lowest = np.zeros((X.shape[1], Y.shape[1])), np.inf
    for penalty in _PENALTIES:
        shrunk = s**2 / (s**2 + penalty)
        left_out = (target - U @ (shrunk[:, None] * projected)) / (1.0 - (U**2) @ shrunk)[:, None]
        error = float((left_out**2).sum())
        if error < lowest:
            best, lowest = Vt.T @ ((s / (s**2 + penalty))[:, None] * projected), error
    mean = (trust[:, None] * Y).sum(axis=0) / trust.sum()
    spread = float((trust[:, None] * (Y - mean) ** 2).sum())
    return best, max(0.0, 1.0 - lowest / spread) if spread > 0 else 0.0
