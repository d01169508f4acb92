"""CascadeUCB1: UCB1 bounds of each item's attraction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.kernels import item_bounds
from rankfall.policies.settings import PolicySettings, real
from rankfall.policies.tabular.policy import Rng, Table, TabularPolicy


@dataclass(frozen=True)
class CascadeUCB1Settings(PolicySettings):
    """Settings of :class:`CascadeUCB1`."""

    exploration: float = real(1.5, low=0.0)


class CascadeUCB1(TabularPolicy):
    """Orders items by UCB1 bounds of their attraction.

    Kveton, Szepesvári, Wen, Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015, Algorithm 1
    with the bound of CascadeUCB1::

        for all t = 1, ..., n:
            for all items e:  U_t(e) = w(e) + c_{t-1, T(e)},   c_{t, s} = sqrt(1.5 log(t) / s)
            A_t = the K items with the largest U_t(e), in decreasing order
            show A_t, observe the click C_t in {1, ..., K, none}
            for k = 1, ..., min(C_t, K):   e = the k-th item of A_t
                T(e) += 1,   w(e) = ((T(e) - 1) w(e) + 1{C_t = k}) / T(e)

    Where ours differs: initialisation and ties, as said in :mod:`rankfall.policies.tabular`. Bounds are
    not cut off at 1, as in the paper.

    Parameters
    ----------
    catalog : the items, or how many there are.
    exploration : the factor 1.5 under the root.

    >>> policy = CascadeUCB1(4)
    >>> policy.update(policy.rank(2), 1)
    >>> policy.rank(3)
    Ranking(2, 3, 1)
    """

    Settings = CascadeUCB1Settings
    summary = "attraction by item, UCB1 bounds"
    paper = "Kveton et al.: Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015"

    settings: CascadeUCB1Settings

    def place(self, table: Table, rows: IntArray, items: IntArray, scores: FloatArray, rng: Rng) -> None:  # noqa: ARG002
        """The highest UCB1 bounds."""
        item_bounds.width_list(rows, *table, self._budget, items, scores)

    def judge(self, table: Table, rng: Rng) -> FloatArray:  # noqa: ARG002
        """The bound of every item."""
        bounds = np.empty(self.n_items)
        item_bounds.width_bounds(*table, self._budget, bounds)
        return bounds

    @property
    def _budget(self) -> float:
        """What is under the root, over how often an item was observed."""
        return self.settings.exploration * math.log(max(self._counts.n_updates, 1))
