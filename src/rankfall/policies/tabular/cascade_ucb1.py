"""CascadeUCB1: UCB1 bounds of each item's attraction."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rankfall.kernels import tabular
from rankfall.policies.settings import PolicySettings, real
from rankfall.policies.tabular.policy import Rng
from rankfall.policies.tabular.widths import WidthPolicy


@dataclass(frozen=True)
class CascadeUCB1Settings(PolicySettings):
    """Settings of :class:`CascadeUCB1`."""

    exploration: float = real(1.5, low=0.0)


class CascadeUCB1(WidthPolicy):
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

    @property
    def budget(self) -> float:
        """What is under the root, over how often an item was observed."""
        return self.settings.exploration * math.log(max(self._counts.n_updates, 1))

    def steps(self, counts: tabular.Counts, rng: Rng) -> tabular.UCB1Steps:  # noqa: ARG002
        """UCB1 bounds."""
        return tabular.UCB1Steps(counts, self.settings.exploration)
