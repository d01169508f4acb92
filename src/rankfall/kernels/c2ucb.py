"""The offline oracle of C2UCB: greedy by score plus what an item adds to the entropy of the list."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.jit import compiled, leaf
from rankfall.kernels.policy_steps import steps
from rankfall.kernels.ridge import State, learn

_LANES = 16  # loops over so many numbers run on vectors as a whole
_FEW = 256  # candidates whose products are kept
_ROUNDING = 1e-12  # more than values can be wrong by, as a share of their parts


class Room(NamedTuple):
    """What is known of c candidates before anything is learned, and work space for lists of k.

    Where loops over candidates are innermost there is room for some more of them, up to whole vectors.
    """

    columns: Any  # (n, c and more) features, 0 where there is no candidate
    alone: Any  # (c and more) the variance of each one's rating, alone
    entropy: Any  # (c) its logarithm
    cross: Any  # (c, c and more) products of features; none for one list, or for many candidates
    part: Any  # (c and more)
    spread: Any  # (c and more)
    score: Any  # (c and more)
    value: Any  # (c) what an item would add, where it was worked out last
    variance: Any  # (c and more) given the items above
    factor: Any  # (k, c and more) row p: the factor's entries of every candidate with the item at p
    taken: Any  # (c) booleans


@leaf
def _products(best: int, columns: Any, row: Any) -> None:
    """The products of one candidate's features with those of every one."""
    n, size = columns.shape
    row[:] = 0.0
    for i in range(n):
        entry = columns[i, best]
        for c in range(size):
            row[c] += entry * columns[i, c]


@compiled
def room(features: Any, candidates: Any, sigma: float, k: int, lasting: bool) -> Room:
    """Room for these rows of ``features`` (L, n), for one list or a ``lasting`` one for many."""
    count, n = len(candidates), features.shape[1]
    size = -(-count // _LANES) * _LANES
    columns, alone, entropy = np.zeros((n, size)), np.zeros(size), np.empty(count)
    for c in range(count):
        x = features[candidates[c]]
        for i in range(n):
            columns[i, c] = x[i]
            alone[c] += x[i] * x[i]
        alone[c] += sigma * sigma
        entropy[c] = np.log(alone[c])
    cross = np.empty((count if lasting and count <= _FEW else 0, size))
    for c in range(len(cross)):
        _products(c, columns, cross[c])
    part, spread, score, variance = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    taken = np.empty(count, dtype=np.bool_)
    return Room(
        columns, alone, entropy, cross, part, spread, score, np.empty(count), variance, np.empty((k, size)), taken
    )


@leaf
def _judge(weights: Any, covariance: Any, gamma: float, at: Room) -> None:
    """Fill ``score`` with ``mean + gamma * width`` of every candidate."""
    columns, part, spread, score = at.columns, at.part, at.spread, at.score
    n, size = columns.shape
    score[:] = 0.0
    spread[:] = 0.0
    for i in range(n):
        part[:] = 0.0
        for j in range(n):
            entry = covariance[i, j]
            for c in range(size):
                part[c] += entry * columns[j, c]
        weight = weights[i]
        for c in range(size):
            score[c] += columns[i, c] * weight
            spread[c] += columns[i, c] * part[c]
    for c in range(size):
        score[c] += gamma * np.sqrt(max(spread[c], 0.0))


@leaf
def _take(best: int, position: int, least: float, at: Room) -> None:
    """Put a candidate at a position: what the others add to the log-determinant depends on it."""
    variance, factor, size = at.variance, at.factor, len(at.alone)
    root = np.sqrt(variance[best])
    row = factor[position]
    if len(at.cross):
        for c in range(size):
            row[c] = at.cross[best, c]
    else:
        _products(best, at.columns, row)
    for p in range(position):
        entry = factor[p, best]
        for c in range(size):
            row[c] -= entry * factor[p, c]
    for c in range(size):
        row[c] /= root
        variance[c] = max(variance[c] - row[c] * row[c], least)
    row[best] = root


@leaf
def _best(diversity: float, known: bool, at: Room) -> int:
    """The candidate that adds most, of equals the first; all values are ``known``, or what they were further up.

    An item adds less the further down it stands. So the one that added most further up is looked at first, and others
    only if they added as much there as the best one does here.
    """
    value, score, taken = at.value, at.score, at.taken
    best = -1
    for c in range(len(taken)):
        if not taken[c] and (best < 0 or value[c] > value[best]):
            best = c
    if known:
        return best
    value[best] = score[best] + 0.5 * diversity * np.log(at.variance[best])
    first = best
    for c in range(len(taken)):
        bar = value[best]
        if c == first or taken[c] or value[c] + _ROUNDING * (abs(value[c]) + abs(score[c])) < bar:
            continue
        value[c] = score[c] + 0.5 * diversity * np.log(at.variance[c])
        if value[c] > bar or (value[c] == bar and c < best):
            best = c
    return best


@leaf
def _rank(
    weights: Any, covariance: Any, gamma: float, diversity: float, sigma: float, candidates: Any, out: Any, at: Room
) -> None:
    at.taken[:] = False
    for item in out:
        if item >= 0:
            at.taken[np.searchsorted(candidates, item)] = True
    for c in range(len(at.alone)):
        at.variance[c] = at.alone[c]
    _judge(weights, covariance, gamma, at)
    for c in range(len(candidates)):
        at.value[c] = at.score[c] + 0.5 * diversity * at.entropy[c]
    for position in range(len(out)):
        if out[position] >= 0:
            best = np.searchsorted(candidates, out[position])
        else:
            best = _best(diversity, position == 0, at)
            at.taken[best] = True
            out[position] = candidates[best]
        if position + 1 < len(out):
            _take(best, position, sigma * sigma, at)


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
    ``X X' + sigma^2 I``; rounding must not bring it below the noise), which a Cholesky factor that grows by a row each
    position gives for all candidates at once.
    Candidates are in ascending order; of equals the lowest row wins. ``out`` comes in with -1 where the choice is free;
    a candidate it holds already stays there, and is shown nowhere else.
    """
    at = room(features, candidates, sigma, len(out), False)
    _rank(weights, covariance, gamma, diversity, sigma, candidates, out, at)


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
    room: Room


@leaf
def _show(state: C2UCBSteps, _: Any, shown: Any) -> None:
    shown[:] = -1
    known = state.model
    _rank(known.weights, known.covariance, state.gamma, state.diversity, state.sigma, state.rows, shown, state.room)


@leaf
def _learn(state: C2UCBSteps, shown: Any, clicked: Any) -> bool:
    for i in range(len(shown)):
        for j in range(state.features.shape[1]):
            state.as_shown[i, j] = state.features[shown[i], j]
        state.rewards[i] = clicked[i]
    learn(state.model, state.as_shown, state.rewards, len(shown), state.gain)
    return True


steps(C2UCBSteps, _show, _learn)
