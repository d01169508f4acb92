"""Lists that a baseline stands in for, where it is not sure that others earn enough: the rule of C4-UCB, and its loop.

A list earns one click or none. What it is sure to earn is the chance of a click if every item attracts as little as its
bounds allow. The account has what was shown so far: the sum of what other lists than the baseline were sure to earn,
and how many lists there were of either kind.
"""

from typing import Any

from rankfall.kernels.episode import Visits, click_and_learn, describe, make_list, scene
from rankfall.kernels.jit import compiled, entry
from rankfall.kernels.policy_arrays import PolicyArrays, largest_shown

SURE, OWN, BASELINE = range(3)
"""Of an account: what lists of its own were sure to earn; how many of them there were; how many baselines."""


@entry
def click_chance(means: Any, widths: Any, distance: float) -> float:
    """Chance of a click where each item attracts by its mean and ``distance`` widths more, cut to [0, 1]."""
    none = 1.0
    for i in range(len(means)):
        none *= 1.0 - min(max(means[i] + distance * widths[i], 0.0), 1.0)
    return 1.0 - none


@entry
def affordable(account: Any, share: float, sure: float, low: float, high: float) -> bool:
    """Whether a list that is ``sure`` to earn so much may be shown; the baseline earns from ``low`` to ``high``.

    With it all lists must be sure to earn ``1 - share`` of what as many baselines do. A baseline shown gives up its own
    ``1 - share`` of that and has ``share`` to spare.
    """
    spare = share * account[BASELINE] * low
    return account[SURE] + sure + spare >= (1.0 - share) * (account[OWN] + 1.0) * high


@entry
def enter(account: Any, baseline: bool, sure: float) -> None:
    """A list was learned from: a baseline, or one that was sure to earn so much."""
    if baseline:
        account[BASELINE] += 1.0
    else:
        account[OWN] += 1.0
        account[SURE] += sure


@compiled
def episode(policy: PolicyArrays, visits: Visits, account: Any, share: float, baseline: Any, known: float) -> float:
    """As :func:`rankfall.kernels.episode.episode`, with the ``baseline`` (k) where its own list is not affordable.

    ``known`` is what the baseline earns, or below 0 if only the model says.
    """
    k, topics = visits.coins.shape[1], len(visits.user.theta)
    own, base = scene(policy, k, topics), scene(policy, k, topics)
    base.shown[:] = baseline
    extreme = 0.0
    for step in range(len(visits.coins)):
        make_list(policy, own)
        describe(policy, base)
        low = known if known >= 0.0 else click_chance(base.scores, base.widths, -policy.gamma)
        high = known if known >= 0.0 else click_chance(base.scores, base.widths, policy.gamma)
        sure = click_chance(own.scores, own.widths, -policy.gamma)
        same = True
        for i in range(k):
            same = same and own.shown[i] == base.shown[i]
        on_base = same or not affordable(account, share, sure, low, high)
        extreme = largest_shown(policy, base.features if on_base else own.features, extreme)
        if not extreme <= policy.largest:
            return extreme
        if on_base:
            click_and_learn(policy, visits, step, base)
        else:
            click_and_learn(policy, visits, step, own)
        enter(account, on_base, sure)
    return extreme
