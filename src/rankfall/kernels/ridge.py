"""Ridge regression with identity prior, one observation at a time.

The paper's block form (H, u, M, y, B of Algorithm 1) is this regression on ``phi = [omega, z]``:
``O = I + sum phi phi'``, ``b = sum of the clicked phi``, ``w = [theta, beta] = O^-1 b``.
Here O is ``gram``, O^-1 is ``covariance``, b is ``moment`` and w is ``weights``.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.jit import compiled, entry, inner, leaf

REFRESH_EVERY = 10_000
"""Observations after which the covariance is computed afresh from the gram matrix."""

UPDATES, SINCE_REFRESH, REFRESHES = 0, 1, 2


class State(NamedTuple):
    """All a ridge model knows, over n columns."""

    gram: Any  # (n, n) O
    covariance: Any  # (n, n) O^-1
    moment: Any  # (n) b
    weights: Any  # (n) w
    counts: Any  # (3) lists learned from, observations since the last refresh, refreshes


def new_state(columns: int) -> State:
    """The state before anything was seen."""
    eye = np.eye(columns)
    return State(eye, eye.copy(), np.zeros(columns), np.zeros(columns), np.zeros(3, dtype=np.int64))


@compiled
def invert(gram: Any, inverse: Any) -> None:
    """Write the inverse of a positive definite matrix, by Cholesky; exactly symmetric."""
    n = len(gram)
    lower = np.zeros((n, n))  # gram = lower lower'
    for i in range(n):
        for j in range(i + 1):
            total = gram[i, j]
            for p in range(j):
                total -= lower[i, p] * lower[j, p]
            lower[i, j] = np.sqrt(total) if i == j else total / lower[j, j]
    half = np.zeros((n, n))  # lower^-1
    for j in range(n):
        half[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for p in range(j, i):
                total -= lower[i, p] * half[p, j]
            half[i, j] = total / lower[i, i]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for p in range(i, n):
                total += half[p, i] * half[p, j]
            inverse[i, j] = total
            inverse[j, i] = total


@inner
def _shrink(covariance: Any, phi: Any, gain: Any) -> None:
    """O^-1 after one more observation (Sherman-Morrison); ``gain`` (n) is work space."""
    n = len(phi)
    gain[:] = 0.0
    for i in range(n):
        value = phi[i]
        if value != 0.0:
            row = covariance[i]
            for j in range(n):
                gain[j] += value * row[j]
    spread = 1.0
    for i in range(n):
        spread += phi[i] * gain[i]
    scale = 1.0 / np.sqrt(spread)
    for i in range(n):
        gain[i] *= scale
    for i in range(n):
        value = gain[i]
        row = covariance[i]
        for j in range(n):
            row[j] -= value * gain[j]


@leaf
def gather(state: State, features: Any, rewards: Any, seen: int) -> None:
    """Add the first ``seen`` rows of features and their rewards to O and b."""
    n = len(state.weights)
    for r in range(seen):
        phi = features[r]
        for i in range(n):
            value = phi[i]
            if value != 0.0:
                row = state.gram[i]
                for j in range(n):
                    row[j] += value * phi[j]
        if rewards[r] != 0.0:
            for j in range(n):
                state.moment[j] += rewards[r] * phi[j]


@leaf
def refresh(state: State) -> None:
    """Compute O^-1 afresh from O."""
    invert(state.gram, state.covariance)
    state.counts[SINCE_REFRESH] = 0
    state.counts[REFRESHES] += 1


@leaf
def solve(state: State) -> None:
    """Write w = O^-1 b."""
    n = len(state.weights)
    weights = state.weights
    weights[:] = 0.0
    for i in range(n):
        value = state.moment[i]
        row = state.covariance[i]
        for j in range(n):
            weights[j] += value * row[j]


@entry
def learn(state: State, features: Any, rewards: Any, seen: int, gain: Any) -> None:
    """Learn from one list: its first ``seen`` rows of features were looked at, and earned ``rewards``.

    ``gain`` (n) is work space.
    """
    gather(state, features, rewards, seen)
    state.counts[UPDATES] += 1
    state.counts[SINCE_REFRESH] += seen
    if state.counts[SINCE_REFRESH] >= REFRESH_EVERY:
        refresh(state)
    else:
        for r in range(seen):
            _shrink(state.covariance, features[r], gain)
    solve(state)


@entry
def earn(state: State, phi: Any, reward: float) -> None:
    """Learn that an item which was learned from before, with features ``phi`` (n), earned a further ``reward``.

    b grows by ``reward * phi``. O stays as it is: the item was not looked at a second time.
    """
    for j in range(len(phi)):
        state.moment[j] += reward * phi[j]
    solve(state)
