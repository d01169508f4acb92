"""CascadeWOFUL and VAC2UCB: observations count by the variance that their clicks can have."""

from __future__ import annotations

from dataclasses import dataclass

from rankfall.errors import ProblemError
from rankfall.kernels.weighted_ridge import INTERVAL, MEAN
from rankfall.policies.linear.weighted import WeightedPolicy, WeightedSettings
from rankfall.policies.settings import real


class CascadeWOFUL(WeightedPolicy):
    """Relevance alone, by regression that trusts items that are rarely clicked more: small means have small variances.

    Vial, Sanghavi, Shakkottai, Srikant: Minimax Regret for Cascading Bandits, NeurIPS 2022, CascadeWOFUL (weighted
    optimism in the face of uncertainty for linear bandits). Only the abstract and a public repetition of the algorithm
    by others could be read; the rest is from memory. With relevance features ``z_a``, lists of K, and two ridge models:

    1. ``O = I + sum z z'`` and ``w = O^-1 sum r z``, as in :class:`CascadeLinUCB`, bound the attraction of an item from
       above (Hoeffding): ``U(a) = z_a . w + gamma |z_a|_(O^-1)``, at most 1.
    2. ``O_B = I + sum z z' / s`` and ``w_B = O_B^-1 sum r z / s`` with ``s = max(U(a), 1 / K)``, where U is that
       before the list is learned: a click has a variance of at most its mean, which is at most U (Bernstein).
    3. The list shows the items with the highest ``z_a . w_B + gamma |z_a|_(O_B^-1)``.
    4. Both learn from the items down to the first click.

    The public repetition does otherwise in four places: it multiplies the width in step 3 by K, takes U from after the
    list, does not cut it at 1, and its second model takes items below the click for seen and not clicked. We took none
    of them over.

    Where ours differs: ``gamma`` is a constant, the same in both models, where the paper's radii grow with log t; the
    ridge is 1. A width is in units of the noise here and not of 1, so that the same gamma explores less than in
    :class:`CascadeLinUCB`, by a factor of sqrt(s).

    Parameters
    ----------
    catalog : items with relevance.
    gamma, feedback : as in :class:`CascadeLinUCB`.

    >>> from rankfall import Catalog
    >>> policy = CascadeWOFUL(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> policy.update(policy.rank(2), None)
    >>> policy.covariance.round(3), policy.second.covariance.round(3)
    (array([[0.5, 0. ],
           [0. , 0.5]]), array([[0.5, 0. ],
           [0. , 0.5]]))
    """

    summary = "relevance alone, observations weighted by a bound of their variance"
    paper = "Vial, Sanghavi, Shakkottai, Srikant: Minimax Regret for Cascading Bandits, NeurIPS 2022"
    rule = MEAN
    paired = True


@dataclass(frozen=True)
class VAC2Settings(WeightedSettings):
    """Settings of :class:`VAC2UCB`, beside those of linear policies.

    Attributes
    ----------
    floor : the least variance that a click counts with.
    """

    floor: float = real(0.01, low=0.0, high=0.25)

    def check(self) -> None:
        """There is some noise."""
        super().check()
        if not self.floor:
            raise ProblemError("floor must be above 0: an observation without variance would count without end")


class VAC2UCB(WeightedPolicy):
    """Relevance alone, by regression weighted with the largest variance that the bounds of an item allow.

    Liu, Zuo, Wang, Lui, Hajiesmaili, Wierman, Chen: Contextual Combinatorial Bandits with Probabilistically Triggered
    Arms, ICML 2023, Algorithm 2 (VAC2-UCB), for the cascade. Only the abstract could be read; the algorithm is from
    memory. With relevance features ``z_a``:

    1. ``G = I + sum z z' / V`` and ``w = G^-1 sum r z / V``.
    2. Bounds of an item are ``z_a . w +- gamma |z_a|_(G^-1)``, cut to [0, 1].
    3. V of an item that is seen is the largest ``p (1 - p)`` for p within its bounds: that of the upper bound if it is
       below 1/2, that of the lower bound if it is above 1/2, 1/4 otherwise; before the list is learned.
    4. The list shows the items with the highest upper bounds; all down to the first click are learned from.

    Where ours differs: ``gamma`` is a constant, where the paper's radius grows with log t and is large enough that V
    cannot be too small; so V is at least ``floor`` here. The ridge is 1. A width is in units of the noise, so that the
    same gamma explores less than in :class:`CascadeLinUCB`, by a factor of sqrt(V): at most one half.

    Parameters
    ----------
    catalog : items with relevance.
    floor : the least variance that a click counts with.
    gamma, feedback : as in :class:`CascadeLinUCB`.

    >>> from rankfall import Catalog
    >>> policy = VAC2UCB(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> policy.update(policy.rank(2), None)
    >>> policy.covariance.round(3)
    array([[0.2, 0. ],
           [0. , 0.2]])
    """

    Settings = VAC2Settings
    summary = "relevance alone, observations weighted by the variance their bounds allow"
    paper = "Liu et al.: Contextual Combinatorial Bandits with Probabilistically Triggered Arms, ICML 2023, Algorithm 2"
    rule = INTERVAL

    settings: VAC2Settings

    @property
    def least_variance(self) -> float:
        """The floor."""
        return self.settings.floor
