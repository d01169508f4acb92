"""Estimators of what a ranking policy is worth, from lists that another policy has shown.

A list of k items a_1..a_k was shown with a known probability and earned r_j at position j. What would another policy
have earned? ``W_j`` is the probability of a_1..a_j under that policy over the one under the logging policy; ``w_j`` the
same for item a_j at position j alone, whatever stands above it.

===========  ==============================================  ======================================================
estimator    value: the mean over lists of                   right on average if the reward at j depends on
===========  ==============================================  ======================================================
ips          W_k sum_j r_j                                   anything in the list
iips         sum_j w_j r_j                                   the item at j and the position
rips         sum_j W_j r_j                                   the items down to j (cascade)
cascade_dr   sum_j W_j (r_j - Q_j) + W_{j-1} E Q_j           the items down to j, however wrong the model Q is
direct       E Q_1                                           what the model says, only
===========  ==============================================  ======================================================

``Q_j`` is what a model of rewards expects from position j on, and ``E`` averages over the policy's choice at j. The
self-normalised forms divide by the mean weight at each position, which is 1 on average: a little bias, less spread.

IPS, IIPS and RIPS are as in McInerney, Brost, Chandar, Mehrotra, Carterette: Counterfactual Evaluation of Slate
Recommendations with Sequential Reward Interactions, KDD 2020; IIPS also in Li et al.: Offline Evaluation of Ranking
Policies with Click Models, KDD 2018; Cascade-DR in Kiyohara et al.: Doubly Robust Off-Policy Evaluation for Ranking
Policies under the Cascade Behavior Model, WSDM 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, finite
from rankfall.errors import ProblemError
from rankfall.estimates.chances import ListChances
from rankfall.estimates.interval import Interval, bootstrap
from rankfall.estimates.reward_model import Predicted
from rankfall.estimates.support import effective_size, warnings_of

Estimator: TypeAlias = Literal["ips", "sn_ips", "iips", "sn_iips", "rips", "sn_rips", "direct", "cascade_dr"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
_BELOW = {
    **dict.fromkeys(("ips", "iips", "rips"), "what is there counts as nothing, so the value is too low"),
    "cascade_dr": "what is there is the model's word alone",
}
_NORMALISED = "so there is no value"


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a policy earns with a list, by one estimator.

    Attributes
    ----------
    estimator : its name.
    interval : the value, its standard error and the interval by the normal approximation; NaN if there is no value.
    resampled : ends of the interval by the bootstrap; None if that was not asked for.
    effective : (k,) effective sample size by position: how many lists of the policy itself would say as much.
    warnings : what makes the value doubtful.
    """

    estimator: Estimator
    interval: Interval
    resampled: tuple[float, float] | None
    effective: FloatArray
    warnings: tuple[str, ...]

    @property
    def value(self) -> float:
        """The estimate."""
        return self.interval.value

    @property
    def reach(self) -> int:
        """Down to which position, counted from 1, some list of the log agrees with the policy; 0 for none."""
        return int(np.argmin(np.append(self.effective, 0.0) > 0.0))


@dataclass(frozen=True, eq=False)
class _Sum:
    """An estimate as mean over lists of ``offset + sum_j weight_j reward_j``, normalised by position or not."""

    weights: FloatArray
    rewards: FloatArray
    offset: FloatArray
    normalised: bool

    @cached_property
    def weighed(self) -> FloatArray:
        """(lists, k) weight times reward."""
        product: FloatArray = self.weights * self.rewards
        return product

    def value(self, times: FloatArray) -> float:
        """The estimate, if list n is there ``times[n]`` times."""
        earned = times @ self.weighed
        if self.normalised:
            mean = times @ self.weights
            if not mean.all():
                return np.nan
            return float((earned / mean).sum())
        return float((earned.sum() + times @ self.offset) / times.sum())

    def interval(self) -> Interval:
        n = len(self.rewards)
        if not self.normalised:
            each = self.each()
            return Interval(float(each.mean()), float(each.std(ddof=1) / np.sqrt(n)))
        mean = self.weights.mean(axis=0)
        if not mean.all():
            return Interval(np.nan, np.nan)
        by_position = self.weighed.mean(axis=0) / mean
        around = (self.weights * (self.rewards - by_position) / mean).sum(axis=1)  # the delta method
        return Interval(float(by_position.sum()), float(np.sqrt((around**2).sum())) / n)

    def each(self) -> FloatArray:
        total: FloatArray = self.weighed.sum(axis=1) + self.offset
        return total


def weights_of(estimator: Estimator, logged: ListChances, chosen: ListChances) -> FloatArray:
    """(lists, k) what rewards are multiplied with; 1 under the logging policy, on average."""
    _check_positive(logged.down_to)
    if estimator in ("iips", "sn_iips"):
        if logged.at_position is None or chosen.at_position is None:
            raise ProblemError(f"{estimator} needs the chance of each item at its position, and nobody knows it here")
        _check_positive(logged.at_position)
        return chosen.at_position / logged.at_position
    weights: FloatArray = chosen.down_to / logged.down_to
    if estimator in ("ips", "sn_ips"):
        return np.repeat(weights[:, -1:], weights.shape[1], axis=1)
    return weights


def contributions(
    estimator: Estimator,
    logged: ListChances,
    chosen: ListChances,
    rewards: ArrayLike,
    model: Predicted | None = None,
) -> FloatArray:
    """(lists,) what each list adds to the mean that is the estimate; not for the self-normalised, which are no mean.

    Parameters
    ----------
    logged, chosen : chances of the lists under the policy that showed them, and under the one in question.
    rewards : (lists, k) what each position earned.
    model : what a model expects, for ``direct`` and ``cascade_dr``.

    >>> logged, chosen = ListChances.given_above([[0.5, 0.5]]), ListChances.given_above([[1.0, 0.0]])
    >>> [contributions(name, logged, chosen, [[1, 1]]).item() for name in ("ips", "rips")]
    [0.0, 2.0]
    """
    if estimator.startswith("sn_"):
        raise ProblemError(f"{estimator} is a ratio of sums; it has no contributions of single lists")
    return _sum_of(estimator, logged, chosen, _checked(rewards, logged, chosen, model), model).each()


def _sum_of(
    estimator: Estimator, logged: ListChances, chosen: ListChances, rewards: FloatArray, model: Predicted | None
) -> _Sum:
    if estimator not in ESTIMATORS:
        raise ProblemError(f"no estimator {estimator!r}; choose from {', '.join(ESTIMATORS)}")
    none = np.zeros(len(rewards))
    if estimator in ("direct", "cascade_dr") and model is None:
        raise ProblemError(f"{estimator} needs a model of rewards")
    if estimator == "direct" and model is not None:
        return _Sum(np.zeros_like(rewards), rewards, model.on_average[:, 0], normalised=False)
    weights = weights_of(estimator, logged, chosen)
    if estimator == "cascade_dr" and model is not None:
        above = np.column_stack([np.ones(len(weights)), weights[:, :-1]])
        offset = (above * model.on_average - weights * model.with_shown).sum(axis=1)
        return _Sum(weights, rewards, offset, normalised=False)
    return _Sum(weights, rewards, none, normalised=estimator.startswith("sn_"))


def estimate_all(
    logged: ListChances,
    chosen: ListChances,
    rewards: ArrayLike,
    model: Predicted | None = None,
    *,
    resamples: int = 0,
    seed: int = 0,
) -> dict[Estimator, Estimate]:
    """What a policy earns with a list, by every estimator that can be computed.

    Those that need ``at_position`` of both policies, or a model, are left out where there is none.

    Parameters
    ----------
    logged, chosen, rewards, model : as in :func:`contributions`; at least two lists.
    resamples : how many for intervals by the bootstrap; 0 for none.
    seed : of the bootstrap.

    >>> uniform = ListChances.uniform([2] * 4, [[True]] * 4)
    >>> first = ListChances([[1.0], [0.0], [1.0], [0.0]])
    >>> found = estimate_all(uniform, first, [[1], [0], [0], [1]])
    >>> {name: one.value for name, one in found.items()}
    {'ips': 0.5, 'sn_ips': 0.5, 'rips': 0.5, 'sn_rips': 0.5}
    """
    earned = _checked(rewards, logged, chosen, model)
    if len(earned) < 2:
        raise ProblemError(f"an estimate needs two lists at least, got {len(earned)}")
    known = logged.at_position is not None and chosen.at_position is not None
    found: dict[Estimator, Estimate] = {}
    for name in ESTIMATORS:
        if (name in ("direct", "cascade_dr") and model is None) or (name in ("iips", "sn_iips") and not known):
            continue
        total = _sum_of(name, logged, chosen, earned, model)
        ends = None
        if resamples:
            ends = bootstrap(total.value, len(earned), resamples, np.random.default_rng(seed))
        weighs = name != "direct"
        size = effective_size(total.weights) if weighs else np.full(earned.shape[1], float(len(earned)))
        below, whole = _BELOW.get(name, _NORMALISED), name in ("ips", "sn_ips")
        alone = name in ("iips", "sn_iips")
        told = warnings_of(total.weights, below, whole=whole, alone=alone) if weighs else ()
        found[name] = Estimate(name, total.interval(), ends, size, told)
    return found


def _checked(rewards: ArrayLike, logged: ListChances, chosen: ListChances, model: Predicted | None) -> FloatArray:
    earned = finite("rewards", rewards, 2, ProblemError)
    for name, one in (("logged", logged), ("chosen", chosen)):
        if one.down_to.shape != earned.shape:
            raise ProblemError(
                f"chances of the {name} lists have shape {one.down_to.shape}, and rewards {earned.shape}; "
                "both must be (lists, positions)"
            )
    for name, values in () if model is None else vars(model).items():
        if finite(name, values, 2, ProblemError).shape != earned.shape:
            raise ProblemError(f"{name} of the model has shape {np.shape(values)}, and rewards {earned.shape}")
    return earned


def _check_positive(chances: FloatArray) -> None:
    if (chances <= 0.0).any():
        where = [int(i) for i in np.argwhere(chances <= 0.0)[0]]
        raise ProblemError(
            f"list {where[0]} was shown, and its chance down to position {where[1] + 1} is said to be 0; what was "
            "shown had a chance"
        )
