"""What a policy would have earned, from lists that another one showed at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankfall.estimates import Interval, ListChances, estimate_all


@dataclass(frozen=True)
class OffPolicy:
    """Estimates of the mean reward of a policy on ``lists`` lists, of which it would have shown ``matched``.

    ``ips`` weighs each reward by one over the probability of its list, and is unbiased. ``self_normalised`` divides by
    the sum of the weights instead of their expectation: a little bias for much less variance. ``effective`` is the
    number of lists that would say as much if the policy had shown them itself.
    """

    lists: int
    matched: int
    effective: float
    logged: float
    ips: Interval
    self_normalised: Interval | None


def off_policy(propensities: ArrayLike, rewards: ArrayLike, same: ArrayLike) -> OffPolicy | None:
    """Estimates from logged lists; None where there are fewer than two.

    Parameters
    ----------
    propensities : (n,) probability with which each list was shown, all above 0.
    rewards : (n,) what came of it.
    same : (n,) whether the policy in question would have shown that very list.

    >>> found = off_policy([0.5, 0.5, 0.5, 0.5], [1, 0, 1, 1], [True, True, True, False])
    >>> found.ips.value, found.matched, found.effective
    (1.0, 3, 3.0)
    >>> round(found.self_normalised.value, 3)
    0.667
    """
    chance, reward = np.asarray(propensities, dtype=float), np.asarray(rewards, dtype=float)
    matched = np.asarray(same, dtype=bool)
    n = len(chance)
    if n < 2:
        return None
    chosen = ListChances(matched[:, None].astype(float))
    found = estimate_all(ListChances(chance[:, None]), chosen, reward[:, None])  # of whole lists: one position
    ips, normalised = found["ips"], found["sn_ips"].interval if matched.any() else None
    return OffPolicy(n, int(matched.sum()), float(ips.effective[0]), float(reward.mean()), ips.interval, normalised)
