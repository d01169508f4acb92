"""Thompson sampling: weights are drawn from the posterior, and the list is the greedy one for the weights drawn."""

from typing import Any

import numpy as np

from rankfall.kernels.episode import Scene, Visits, click_and_learn, make_plainly, scene
from rankfall.kernels.jit import compiled, entry, inner
from rankfall.kernels.policy_arrays import PolicyArrays, largest_shown
from rankfall.kernels.ridge import State


@entry
def draw(state: State, gamma: float, normals: Any, upper: Any, out: Any) -> None:
    """Write ``w + gamma R^-1 normals`` with ``O = R' R`` (Cholesky): a draw from N(w, gamma^2 O^-1).

    ``normals`` (n) are standard normal numbers; ``upper`` (n, n) is work space, in which R is left.
    """
    n = len(out)
    for i in range(n):
        for j in range(i, n):
            upper[i, j] = state.gram[i, j]
    for p in range(n):
        row = upper[p]
        scale = 1.0 / np.sqrt(row[p])
        for j in range(p, n):
            row[j] *= scale
        for i in range(p + 1, n):
            value = row[i]
            below = upper[i]
            for j in range(i, n):
                below[j] -= value * row[j]
    for i in range(n - 1, -1, -1):
        row = upper[i]
        total = normals[i]
        for j in range(i + 1, n):
            total -= row[j] * out[j]
        out[i] = total / row[i]
    for i in range(n):
        out[i] = state.weights[i] + gamma * out[i]


@inner
def _steps(policy: PolicyArrays, visits: Visits, normals: Any, drawn: Any, upper: Any, at: Scene) -> float:
    """The steps of :func:`episode`: they allocate nothing, and so need no reference counts."""
    state = policy.state
    believed = State(state.gram, state.covariance, state.moment, drawn, state.counts)
    extreme = 0.0
    for step in range(len(visits.coins)):
        draw(state, policy.gamma, normals[step], upper, drawn)
        make_plainly(policy, believed, 0.0, at)
        extreme = largest_shown(policy, at.features, extreme)
        if not extreme <= policy.largest:
            break
        click_and_learn(policy, visits, step, at)
    return extreme


@compiled
def episode(policy: PolicyArrays, visits: Visits, normals: Any) -> float:
    """Draw, show, click and learn, one step for each visit and row of ``normals`` (steps, n).

    As :func:`rankfall.kernels.episode.episode`, with drawn weights.
    """
    n = len(policy.state.weights)
    at = scene(policy, visits.coins.shape[1], len(visits.user.theta))
    return _steps(policy, visits, normals, np.empty(n), np.empty((n, n)), at)
