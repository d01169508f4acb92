"""SelfSparring: both rankers of a pair are drawn by how often each has won, whoever it met."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.compare.duels import Duels, Method


@dataclass(frozen=True)
class SelfSparring(Method):
    """Self-Sparring: Thompson sampling of two rankers, each with one number for what it wins.

    Sui, Zhuang, Burdick, Yue: Multi-dueling Bandits with Dependent Arms, UAI 2017, with independent rankers, two at a
    time. With ``w_i`` wins of i and ``l_i`` losses, against whom ever::

        for each of the two:  theta_i ~ Beta(w_i + 1, l_i + 1) for all i;  take the i with the highest theta_i

    It takes for granted that rankers have an order: who wins more often is better. The algorithm is that of the code
    that the authors of MergeDTS published with it (the text of the paper was not at hand), where a ranker that meets
    itself wins and loses once; here its list is shown alone, and nothing is learned.
    """

    def choose(self, duels: Duels, rng: np.random.Generator) -> tuple[int, ...]:
        """Two that are likely to win; one, if it is the same."""
        won, lost = 1.0 + duels.wins.sum(axis=1), 1.0 + duels.wins.sum(axis=0)
        first, second = (int(np.argmax(rng.beta(won, lost))) for _ in range(2))
        return (first,) if second == first else (first, second)
