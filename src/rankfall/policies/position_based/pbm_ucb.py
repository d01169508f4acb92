"""PBMUCB: UCB bounds of attraction under a known position bias."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.kernels import position_based
from rankfall.policies.position_based.policy import KnownBiasPolicy, KnownBiasSettings
from rankfall.policies.settings import real


@dataclass(frozen=True)
class PBMUCBSettings(KnownBiasSettings):
    """Settings of :class:`PBMUCB`."""

    epsilon: float = real(0.0, low=0.0)


class PBMUCB(KnownBiasPolicy):
    """Orders items by UCB bounds of their attraction, where it is known how likely positions are examined.

    Lagrée, Vernade, Cappé: Multiple-Play Bandits in the Position-Based Model, NIPS 2016, PBM-UCB::

        for all t = 1, 2, ...:
            for all items i:
                S_i = sum_l S_il,   N_i = sum_l N_il,   M_i = sum_l kappa_l N_il      (the paper's N with a tilde)
                U_i = S_i / M_i + sqrt(N_i / M_i) sqrt(delta / (2 M_i)),   delta = (1 + epsilon) log t
            show the items with the largest U_i, the largest where kappa is largest, and so on
            N_il += 1 and S_il += 1{clicked} for each item i shown, at its position l

    ``S_i / M_i`` is unbiased, since a view at position l counts kappa_l: a position that nobody looks at says nothing.
    The formula is that of the public code of Gauthier et al. (``ranking_bandits``), whose bounds are the same numbers;
    the text of the paper was not at hand. Its guarantee is for epsilon > 0 (from memory); 0 is what is used here.

    Where ours differs: initialisation and ties, as said in :mod:`rankfall.policies.position_based`.

    Parameters
    ----------
    catalog : the items, or how many there are.
    k : positions; by default as many as ``examination`` has, or 10.
    examination : kappa_l of each position, in (0, 1]; by default 1 for all: users look at every item.
    epsilon : exploration.

    >>> policy = PBMUCB(4, examination=[0.5, 1.0])
    >>> policy.rank(2)
    Ranking(1, 0)
    >>> policy.update(policy.rank(2), [0, 1])
    >>> policy.rank(4)  # what was never shown, then what was clicked where few look
    Ranking(3, 2, 1, 0)
    """

    Settings = PBMUCBSettings
    summary = "attraction by item, UCB bounds, where position bias is known"
    paper = "Lagrée, Vernade, Cappé: Multiple-Play Bandits in the Position-Based Model, NIPS 2016 (PBM-UCB)"

    settings: PBMUCBSettings

    def scores(self, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002 - nothing is drawn
        """U_i of every item; infinite if it was never shown."""
        budget = (1.0 + self.settings.epsilon) * math.log(self.n_updates + 1)
        bounds = np.empty(self.n_items)
        position_based.upper_bounds(self.arrays["shown"], self.arrays["clicked"], self.examination, budget, bounds)
        return bounds

    def compiled_state(self, k: int, rng: np.random.Generator) -> position_based.PBMUCBSteps:  # noqa: ARG002
        """Its live counts."""
        return position_based.PBMUCBSteps(self.places(k), 1.0 + self.settings.epsilon, np.array([self.n_updates]))
