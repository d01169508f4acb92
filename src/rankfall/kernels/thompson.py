"""Thompson sampling: weights are drawn from the posterior, and the list is the greedy one for the weights drawn."""

from typing import Any

import numpy as np

from rankfall.kernels import greedy
from rankfall.kernels.cascade import UserArrays
from rankfall.kernels.episode import Scene, click_and_learn, largest_shown, scene
from rankfall.kernels.item_scores import Items
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import compiled, entry, inner
from rankfall.kernels.linear_bounds import Bounds
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
def _steps(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    bounds: Bounds,
    whole: bool,
    largest: float,
    user: UserArrays,
    coins: Any,
    normals: Any,
    best: float,
    totals: Any,
    drawn: Any,
    upper: Any,
    at: Scene,
    room: greedy.Room,
) -> tuple[float, int]:
    """The steps of :func:`episode`: they allocate nothing, and so need no reference counts."""
    believed = State(state.gram, state.covariance, state.moment, drawn, state.counts)
    extreme = 0.0
    scored = 0
    for step in range(len(coins)):
        draw(state, gamma, normals[step], upper, drawn)
        at.shown[:] = -1
        scored += greedy.rank_in(
            room, items, vectors, at.shown[:0], believed, 0.0, bounds, at.shown, at.features, at.scores, at.widths
        )
        extreme = largest_shown(items, at.features, extreme)
        if not extreme <= largest:
            break
        click_and_learn(state, whole, user, coins[step], best, totals[step], totals[step + 1], at)
    return extreme, scored


@compiled
def episode(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    bounds: Bounds,
    whole: bool,
    largest: float,
    user: UserArrays,
    coins: Any,
    normals: Any,
    best: float,
    totals: Any,
) -> tuple[float, int]:
    """Draw, show, click and learn, one step for each row of ``coins`` (steps, k) and ``normals`` (steps, n).

    As :func:`rankfall.kernels.episode.episode`, with drawn weights; also returns how many scores it took.
    """
    k, n = coins.shape[1], len(state.weights)
    at, room = scene(k, n, len(user.theta)), greedy.room_for_kernels(items, vectors, n, k)
    return _steps(
        items, vectors, state, gamma, bounds, whole, largest, user, coins, normals, best, totals, np.empty(n),
        np.empty((n, n)), at, room,
    )  # fmt: skip
