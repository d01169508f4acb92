"""What a policy would have earned, from lists that another one showed at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

_Z = 1.959963984540054  # 95 % of a normal distribution lies within so many standard deviations


@dataclass(frozen=True)
class Interval:
    """An estimate, its standard error, and a 95 % interval (normal approximation)."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """Lower end."""
        return self.value - _Z * self.error

    @property
    def high(self) -> float:
        """Upper end."""
        return self.value + _Z * self.error


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
    weights = matched / chance
    total = float(weights.sum())
    earned = weights * reward
    ips = Interval(float(earned.mean()), float(earned.std(ddof=1) / np.sqrt(n)))
    normalised = None
    if total:
        value = float(earned.sum()) / total
        normalised = Interval(value, float(np.sqrt((weights**2 * (reward - value) ** 2).sum())) / total)
    effective = total**2 / float((weights**2).sum()) if total else 0.0
    return OffPolicy(n, int(matched.sum()), effective, float(reward.mean()), ips, normalised)
