"""DoubleThompson: both rankers of a pair are drawn from what is believed of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfall.compare.duels import Duels, Method, any_best, sampled_wins
from rankfall.policies.settings import real


@dataclass(frozen=True)
class DoubleThompson(Method):
    """Double Thompson sampling: a likely winner, against the one most likely to beat it.

    Wu, Liu: Double Thompson Sampling for Dueling Bandits, NIPS 2016, Algorithm 1 (D-TS). With ``w_ij`` wins of i over
    j, ``n_ij = w_ij + w_ji`` and t lists learned from::

        u_ij = (w_ij + 1) / (n_ij + 2) + sqrt(alpha log t / (n_ij + 2)),   l_ij = 1 - u_ji
        candidates = those with the most j for which u_ij > 1/2
        theta_ij ~ Beta(w_ij + 1, w_ji + 1) for i < j,   theta_ji = 1 - theta_ij
        first  = the candidate with the most j for which theta_ij > 1/2, equals at random
        theta_j ~ Beta(w_j,first + 1, w_first,j + 1),   theta_first = 1/2
        second = the j with the highest theta_j among those with l_j,first <= 1/2

    The algorithm and ``alpha = 0.51`` are those of the code that the authors of MergeDTS published with it; the text of
    the paper was not at hand. Where the two are the same ranker its list is shown alone, and nothing is learned; in the
    code that is a comparison as well, and t counts it. Of the first theta only those of candidates are drawn, and only
    whether they are above 1/2, with the probability that this has.

    Attributes
    ----------
    alpha : exploration, above 0; from 0.5 on the paper has a guarantee (from memory), for t that counts every list.
    """

    alpha: float = real(0.51, low=0.0)

    def choose(self, duels: Duels, rng: np.random.Generator) -> tuple[int, ...]:
        """A likely winner, and who may beat it."""
        wins, n = duels.wins, duels.compared + 2.0
        width = np.sqrt(self.alpha * math.log(duels.n_updates + 1) / n)
        shares = (wins + 1.0) / n
        high = shares + width
        np.fill_diagonal(high, 0.5)
        hopes = (high > 0.5).sum(axis=1)
        candidates = np.flatnonzero(hopes == hopes.max())
        first = int(candidates[0])
        if len(candidates) > 1:
            beaten = sampled_wins(wins, rng, candidates)
            first = int(candidates[any_best(beaten[candidates], rng)])
        against = rng.beta(1.0 + wins[:, first], 1.0 + wins[first])
        against[first] = 0.5
        low = (shares - width)[:, first]
        low[first] = 0.5
        second = int(np.argmax(np.where(low <= 0.5, against, -1.0)))
        return (first,) if second == first else (first, second)
