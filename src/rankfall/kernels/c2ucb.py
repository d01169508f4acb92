"""The offline oracle of C2UCB: greedy by score plus what an item adds to the entropy of the list."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.jit import compiled, inner
from rankfall.kernels.policy_steps import steps
from rankfall.kernels.ridge import State, learn


@compiled
def rank(
    features: Any,
    weights: Any,
    covariance: Any,
    gamma: float,
    diversity: float,
    sigma: float,
    candidates: Any,
    out: Any,
) -> None:
    """Fill ``out`` with rows of ``features`` (L, n): at each position the candidate that adds most to the objective.

    The objective is ``sum over S of (mean + gamma * width) + diversity / 2 * log det(X_S X_S' + sigma^2 I)``. An item
    adds to the log-determinant the log of its variance given the items above (Gaussian with covariance
    ``X X' + sigma^2 I``), which a Cholesky factor that grows by a row each position gives for all candidates at once.
    Candidates are in ascending order; of equals the lowest row wins. ``out`` comes in with -1 where the choice is free;
    a candidate it holds already stays there, and is shown nowhere else.
    """
    n = features.shape[1]
    count = len(candidates)
    score = np.empty(count)
    variance = np.empty(count)
    factor = np.empty((len(out), count))  # row p: the factor's entries of every candidate with the item at p
    taken = np.zeros(count, dtype=np.bool_)
    held = np.zeros(count, dtype=np.bool_)
    for position in range(len(out)):
        if out[position] >= 0:
            held[np.searchsorted(candidates, out[position])] = True
    for c in range(count):
        x = features[candidates[c]]
        mean = 0.0
        spread = 0.0
        square = 0.0
        for i in range(n):
            if x[i] != 0.0:
                mean += x[i] * weights[i]
                square += x[i] * x[i]
                part = 0.0
                for j in range(n):
                    part += covariance[i, j] * x[j]
                spread += x[i] * part
        score[c] = mean + gamma * np.sqrt(max(spread, 0.0))
        variance[c] = square + sigma * sigma
    least = sigma * sigma  # rounding must not bring a variance below the noise
    for position in range(len(out)):
        best = -1
        highest = -np.inf
        if out[position] >= 0:
            best = np.searchsorted(candidates, out[position])
        for c in range(count if out[position] < 0 else 0):
            if not taken[c] and not held[c]:
                value = score[c] + 0.5 * diversity * np.log(variance[c])
                if value > highest or best < 0:
                    highest = value
                    best = c
        taken[best] = True
        out[position] = candidates[best]
        root = np.sqrt(variance[best])
        x = features[candidates[best]]
        row = factor[position]
        for c in range(count):
            if not taken[c]:
                other = features[candidates[c]]
                total = 0.0
                for i in range(n):
                    total += x[i] * other[i]
                for p in range(position):
                    total -= factor[p, best] * factor[p, c]
                row[c] = total / root
                variance[c] = max(variance[c] - row[c] * row[c], least)
        row[best] = root


class C2UCBSteps(NamedTuple):
    """C2UCB."""

    features: Any  # (L, n)
    model: State
    gamma: float
    diversity: float
    sigma: float
    rows: Any  # (L) 0, 1, ...
    as_shown: Any  # (k, n) work space
    rewards: Any  # (k) work space
    gain: Any  # (n) work space


@compiled
def _show(state: C2UCBSteps, _: Any, shown: Any) -> None:
    shown[:] = -1
    weights, covariance = state.model.weights, state.model.covariance
    rank(state.features, weights, covariance, state.gamma, state.diversity, state.sigma, state.rows, shown)


@inner
def _learn(state: C2UCBSteps, shown: Any, clicked: Any) -> bool:
    for i in range(len(shown)):
        for j in range(state.features.shape[1]):
            state.as_shown[i, j] = state.features[shown[i], j]
        state.rewards[i] = clicked[i]
    learn(state.model, state.as_shown, state.rewards, len(shown), state.gain)
    return True


steps(C2UCBSteps, _show, _learn)
