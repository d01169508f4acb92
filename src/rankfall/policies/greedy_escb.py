"""GreedyESCB: one confidence bonus for a whole list, every item observed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfall.kernels import item_bounds, set_bonus
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, flag, one_of, real

LEAST = 1e-4
"""How much an exchange must gain."""


@dataclass(frozen=True)
class GreedyESCBSettings(PolicySettings):
    """Settings of :class:`GreedyESCB`."""

    exploration: float = real(0.5, low=0.0)
    bonus: str = one_of("together", "together", "apart")
    exchanges: bool = flag(False)


class GreedyESCB(Policy):
    """Attraction by item, every item observed, and one confidence bonus for the list as a whole, which is smaller.

    Perrault, Perchet, Valko: Exploiting Structure of Uncertainty for Efficient Matroid Semi-Bandits, ICML 2019: the
    hybrid of a linear and a submodular function that Cascading Hybrid Bandits names as related and different. There the
    reward is linear in the items, and the bonus is submodular. Only the abstract could be read; the rest is from
    memory, and what the greedy list promises is proved below. If clicks on different items are independent, errors of
    their sum partly cancel, and a list S has the bonus of ESCB (Combes et al., NIPS 2015), which is smaller than the
    sum of the items' own::

        for all t = 1, ..., n:
            L(S) = sum over e in S of w(e),   F(S) = sqrt(sum over e in S of c log(t) / T(e))
            A_t = a list with a high L + F: greedily, at each position the item that adds most
            show A_t, observe whether each of its items was clicked
            for all e in A_t:   T(e) += 1,   w(e) = the share of T(e) that was clicked

    The greedy list A has ``L(A) + 2 F(A) >= L(S) + F(S)`` for every S of K items (the bases of the uniform matroid).
    Proof: number the items of S so that s_i is none of the items above position i in A. It could have been taken there,
    so the i-th of A adds at least ``L(s_i) + F(s_i | those above) >= L(s_i) + F(s_i | A)``. Summed up, ``L(A) + F(A)``
    is at least ``L(S) + F(A and S) - F(A)``.

    With ``exchanges`` items of the greedy list are exchanged for others as long as L + F grows (local search; as we
    remember it, the paper has both).

    Where ours differs: ``log t`` without ``4 K log log t``; initialisation and ties as said in
    :mod:`rankfall.policies.tabular`; and other matroids than the uniform one are not here. The list is shown in the
    order in which items were taken: where all items are observed, the order does not matter.

    Parameters
    ----------
    catalog : the items, or how many there are.
    exploration : c.
    bonus : ``"together"`` as above; ``"apart"`` for ``F(S) = sum of sqrt(c log(t) / T(e))``, which is CUCB (Chen et
        al., ICML 2013, where c is 1.5, from memory), to compare with.
    exchanges : whether to improve the greedy list by exchanges.

    >>> policy = GreedyESCB(4)
    >>> policy.update(policy.rank(3), [0, 1])
    >>> policy.arrays["observed"], policy.arrays["clicked"]
    (array([1., 1., 1., 0.]), array([1., 1., 0., 0.]))
    >>> policy.rank(3)
    Ranking(3, 0, 1)
    """

    Settings = GreedyESCBSettings
    summary = "attraction by item, one bonus for the whole list, every item observed"
    paper = (
        "Perrault, Perchet, Valko: Exploiting Structure of Uncertainty for Efficient Matroid Semi-Bandits, ICML 2019"
    )
    why_not_served = "it learns about the rows of one set of items"
    why_not_fixed = "what an item adds depends on the others of the list"
    why_not_rewarded = "it counts clicks, and its bounds hold for shares between 0 and 1"

    settings: GreedyESCBSettings

    def begin(self) -> None:
        """Nothing observed."""
        self.arrays = {"observed": np.zeros(self.n_items), "clicked": np.zeros(self.n_items)}

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:  # noqa: ARG002 - draws nothing
        """The greedy list, improved by exchanges if that was asked for."""
        items, scores = np.empty(request.k, dtype=np.int64), np.empty(request.k)
        counts = self.arrays["observed"], self.arrays["clicked"]
        budget = self.settings.exploration * math.log(max(self.n_updates, 1))
        if self.settings.bonus == "apart":
            item_bounds.width_list(request.rows, *counts, budget, items, scores)
        else:
            set_bonus.greedy_list(request.rows, *counts, budget, items, scores)
            if self.settings.exchanges and set_bonus.exchange(request.rows, *counts, budget, LEAST, items):
                set_bonus.greedy_list(np.sort(items), *counts, budget, items, scores)  # the same, and what each adds
        return Ranking.trusted(items, None, self.catalog, scores)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Every item was observed; those at these positions were clicked."""
        self.arrays["observed"][ranking.items] += 1.0
        self.arrays["clicked"][ranking.items[clicks]] += 1.0

    def compiled_state(self, k: int, rng: np.random.Generator) -> set_bonus.GreedyESCBSteps:  # noqa: ARG002
        """Its live counts."""
        return set_bonus.GreedyESCBSteps(
            np.arange(self.n_items),
            self.arrays["observed"],
            self.arrays["clicked"],
            np.array([self.n_updates]),
            self.settings.exploration,
            self.settings.bonus == "apart",
            LEAST if self.settings.exchanges else math.inf,
            np.empty(k),
            np.empty(k, dtype=np.int64),
        )
