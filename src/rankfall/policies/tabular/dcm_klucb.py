"""DCMKLUCB: learns each item's attraction from several clicks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.kernels import item_bounds, tabular
from rankfall.policies.settings import PolicySettings, real, reals
from rankfall.policies.tabular.cascade_klucb import NONE, kl_budget, kl_steps
from rankfall.policies.tabular.counts import AllClickCounts
from rankfall.policies.tabular.policy import Rng, Table, TabularPolicy


@dataclass(frozen=True)
class DCMKLUCBSettings(PolicySettings):
    """Settings of :class:`DCMKLUCB`."""

    termination: tuple[float, ...] | None = reals(None)
    exploration: float = real(3.0, low=0.0)


class DCMKLUCB(TabularPolicy):
    """Learns from several clicks: KL-UCB bounds where users click on until they are satisfied.

    Katariya, Kveton, Szepesvári, Wen: DCM Bandits: Learning to Rank with Multiple Clicks, ICML 2016, dcmKL-UCB. In the
    dependent click model the user clicks every attractive item and after a click at position k leaves, satisfied, with
    probability ``v(k)``. Attraction is learned, the order of the v(k) is known::

        for all t = 1, ..., n:
            for all items e:  U_t(e) = max{q in [w(e), 1] : T(e) D_KL(w(e) || q) <= log t + 3 log log t}
            A_t = argmax f(A, U_t, v): the K items with the largest U_t(e), the largest of them at the position with
                the highest v(k), the next at the position with the next highest, ...
            show A_t, observe the clicks c_t in {0, 1}^K
            C_last = the last position clicked, or K without a click
            for k = 1, ..., C_last:   e = the k-th item of A_t
                T(e) += 1,   w(e) = ((T(e) - 1) w(e) + c_t(k)) / T(e)

    Below the last click nothing is known: the user may have left satisfied, or found nothing more attractive.

    Where ours differs: initialisation, ties and ``log log t`` as in :class:`CascadeKLUCB`.

    Parameters
    ----------
    catalog : the items, or how many there are.
    termination : v(k) for each position, or any numbers in the same order; None if it never rises from one position
        to the next, so that lists are in decreasing order of U. Positions beyond those given come last.
    exploration : the factor 3 of ``log log t``.

    >>> policy = DCMKLUCB(4)
    >>> policy.update(policy.rank(3), [0, 1])
    >>> policy.observed
    array([1., 1., 0., 0.])
    >>> policy.rank(4)
    Ranking(2, 3, 0, 1)
    >>> DCMKLUCB(4, termination=[0.2, 0.9, 0.5]).rank(3)
    Ranking(2, 0, 1)
    """

    Settings = DCMKLUCBSettings
    summary = "attraction by item, learned from several clicks"
    paper = "Katariya et al.: DCM Bandits: Learning to Rank with Multiple Clicks, ICML 2016"
    counts_kind = AllClickCounts

    settings: DCMKLUCBSettings

    def prepare(self) -> None:
        """See whether positions are to be filled in another order than from the top."""
        super().prepare()
        known = self.settings.termination or ()
        self._reordered = any(a < b for a, b in itertools.pairwise(known))

    why_not_ruled = "it moves the items of a whole list to where users most likely stop"

    def place(self, table: Table, rows: IntArray, items: IntArray, scores: FloatArray, rng: Rng) -> None:  # noqa: ARG002
        """The highest KL-UCB bounds, the best at the position where users leave most."""
        budget = kl_budget(self._counts.n_updates, self.settings.exploration)
        item_bounds.kl_list(rows, *table, budget, items, scores)
        if self._reordered:
            order = self._order(len(items))
            items[order] = items.copy()
            scores[order] = scores.copy()

    def _order(self, k: int) -> IntArray:
        """The positions of a list of ``k``, from the one where users leave most."""
        known = np.array((self.settings.termination or ())[:k])
        order = np.arange(k)
        order[: len(known)] = np.argsort(-known, kind="stable")
        return order

    def steps(self, counts: tabular.Counts, rng: Rng) -> tabular.KLSteps:  # noqa: ARG002
        """KL-UCB bounds, the best where users leave most."""
        order = self._order(len(counts.scores)) if self._reordered else NONE
        return kl_steps(counts, self.settings.exploration, to_last=True, order=order)
