"""Ridge regression in which observations count by how much they can tell, or clicks by the logarithm of their odds.

Both are plain ridge regression (:mod:`rankfall.kernels.ridge`) on rows that were scaled. A row ``phi`` and reward ``r``
of weight h are the row ``sqrt(h) phi`` and the reward ``sqrt(h) r``. The rules:

- ``MEAN``: h = 1 / max(U, 1 / K), where U bounds the attraction of the item from above, by a second model without
  weights, and K is the length of the list: a click has a variance of at most its mean.
- ``INTERVAL``: h = 1 / max(v, least), where v is the largest ``p (1 - p)`` with p between the lower and the upper bound
  of the model itself.
- ``LOGIT``: logistic regression, an observation at a time. Given what was learned before, a Gaussian with the mean
  theta and the precision O, the most likely weights after one more observation are where ``phi . theta`` is the m that
  solves ``m = phi . theta + phi' O^-1 phi (r - p)``, ``p = 1 / (1 + exp(-m))``. With h = p (1 - p) and the reward
  ``m + (r - p) / h``, ridge regression gives exactly these weights, and O grows by the curvature ``h phi phi'``.
- ``LOGIT_BESIDE``: the same in a second model, of which the first takes the weights. The first has
  ``O = I + sum phi phi'``, as if nothing had weights.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.episode import Visits, click_in, make_list, scene
from rankfall.kernels.jit import compiled, entry, inner, leaf
from rankfall.kernels.policy_arrays import PolicyArrays, largest_shown
from rankfall.kernels.ridge import UPDATES, State, learn

MEAN, INTERVAL, LOGIT, LOGIT_BESIDE = range(4)

FLATTEST = 1e-12
"""Curvature of the logistic function below which a click tells nothing: its reward would be a division by 0."""


class Room(NamedTuple):
    """Work space for a list of k over n columns."""

    rows: Any  # (k, n)
    rewards: Any  # (k)
    gain: Any  # (n)


def new_room(k: int, columns: int) -> Room:
    """Work space for lists of k items."""
    return Room(np.zeros((k, columns)), np.zeros(k), np.zeros(columns))


room_for_kernels = compiled(new_room)


@inner
def believed(state: State, phi: Any) -> tuple[float, float]:
    """``phi . w`` and ``phi' O^-1 phi``."""
    mean, square = 0.0, 0.0
    for i in range(len(phi)):
        row, part = state.covariance[i], 0.0
        for j in range(len(phi)):
            part += row[j] * phi[j]
        mean += state.weights[i] * phi[i]
        square += part * phi[i]
    return mean, max(square, 0.0)


@entry
def largest_variance(low: float, high: float, least: float) -> float:
    """The largest variance of a click whose chance is between ``low`` and ``high``, but not below ``least``."""
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    variance = 0.25
    if high < 0.5:
        variance = high * (1.0 - high)
    elif low > 0.5:
        variance = low * (1.0 - low)
    return max(variance, least)


@entry
def likeliest(mean: float, square: float, reward: float) -> float:
    """The m with ``m = mean + square (reward - p)``, ``p = 1 / (1 + exp(-m))``: the mean after a click or none.

    The right side less the left falls in m, with a slope of at most -1, and is 0 within ``square`` of ``mean``. By
    Newton's method; by the middle of the bounds found so far, where that leaves them or does not come closer fast.
    """
    low, high = mean + square * (reward - 1.0), mean + square * reward
    m, before = min(max(mean, low), high), np.inf
    for _ in range(200):
        p = 1.0 / (1.0 + np.exp(-m))
        off = m - mean - square * (reward - p)
        if off > 0.0:
            high = m
        else:
            low = m
        step = m - off / (1.0 + square * p * (1.0 - p))
        if not low <= step <= high or abs(off) > 0.5 * before:
            step = 0.5 * (low + high)
        before = abs(off)
        if abs(step - m) <= 1e-15 * (1.0 + abs(m)):
            return step
        m = step
    return m


@leaf
def _put(phi: Any, reward: float, weight: float, room: Room, at: int) -> None:
    """Write a row of this weight to the work space."""
    root = np.sqrt(weight)
    for j in range(len(phi)):
        room.rows[at, j] = root * phi[j]
    room.rewards[at] = root * reward


@inner
def _learn_logit(state: State, features: Any, rewards: Any, seen: int, room: Room) -> None:
    updates = state.counts[UPDATES]
    for r in range(seen):
        mean, square = believed(state, features[r])
        m = likeliest(mean, square, rewards[r])
        p = 1.0 / (1.0 + np.exp(-m))
        curvature = max(p * (1.0 - p), FLATTEST)
        _put(features[r], m + (rewards[r] - p) / curvature, curvature, room, 0)
        learn(state, room.rows, room.rewards, 1, room.gain)
    state.counts[UPDATES] = updates + 1


@entry
def learn_weighted(
    rule: int,
    first: State,
    second: State,
    gamma: float,
    least: float,
    features: Any,
    rewards: Any,
    seen: int,
    room: Room,
) -> None:
    """Learn from one list: features (k, n), of which the first ``seen`` rows were looked at, and earned ``rewards``.

    ``gamma`` is how many widths bounds are from a mean. Rules without a second model do not look at it.
    """
    if rule == LOGIT:
        _learn_logit(first, features, rewards, seen, room)
    elif rule == LOGIT_BESIDE:
        _learn_logit(second, features, rewards, seen, room)
        room.rewards[:] = 0.0
        learn(first, features, room.rewards, seen, room.gain)
        for j in range(len(first.weights)):
            first.weights[j] = second.weights[j]
    else:
        for r in range(seen):
            if rule == MEAN:
                mean, square = believed(second, features[r])
                variance = max(min(mean + gamma * np.sqrt(square), 1.0), 1.0 / len(features))
            else:
                mean, square = believed(first, features[r])
                width = gamma * np.sqrt(square)
                variance = largest_variance(mean - width, mean + width, least)
            _put(features[r], rewards[r], 1.0 / variance, room, r)
        if rule == MEAN:
            learn(second, features, rewards, seen, room.gain)
        learn(first, room.rows, room.rewards, seen, room.gain)


@compiled
def episode(policy: PolicyArrays, visits: Visits, rule: int, second: State, least: float) -> float:
    """As :func:`rankfall.kernels.episode.episode`, for a model that learns by :func:`learn_weighted`."""
    k = visits.coins.shape[1]
    at, room = scene(policy, k, len(visits.user.theta)), room_for_kernels(k, len(policy.state.weights))
    extreme = 0.0
    for step in range(len(visits.coins)):
        make_list(policy, at)
        extreme = largest_shown(policy, at.features, extreme)
        if not extreme <= policy.largest:
            return extreme
        click = click_in(visits, step, at)
        at.rewards[:] = 0.0
        if click >= 0:
            at.rewards[click] = 1.0
        seen = k if policy.whole or click < 0 else click + 1
        learn_weighted(rule, policy.state, second, policy.gamma, least, at.features, at.rewards, seen, room)
    return extreme
