"""Which items to try, and how often, so that no item is left badly known: G-optimal design."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.errors import ProblemError

_FLAT = 1e-9  # directions this much shorter than the longest are rounding, not features
_ROUNDS = 100_000


class Design(NamedTuple):
    """Which rows to try and how often.

    Attributes
    ----------
    rows : (s,) the rows to try, ascending.
    shares : (s,) how often each of them; positive, and 1 in sum. The paper's pi.
    spread : the largest ``a' V^-1 a`` of all rows, where ``V = sum of pi(a) a a'``. By the theorem of Kiefer and
        Wolfowitz no design can have less than ``rank`` here, and the best ones have exactly that.
    rank : the dimension that the rows span.
    """

    rows: IntArray
    shares: FloatArray
    spread: float
    rank: int


def in_span(features: FloatArray) -> FloatArray:
    """The same rows in an orthonormal basis of what they span: (items, rank); inner products stay what they are.

    >>> in_span(np.array([[3.0, 4.0], [6.0, 8.0]])).round(9).tolist() in ([[5.0], [10.0]], [[-5.0], [-10.0]])
    True
    """
    _, lengths, basis = np.linalg.svd(features, full_matrices=False)
    rank = int(np.sum(lengths > _FLAT * lengths[0])) if len(lengths) and lengths[0] > 0 else 0
    inside: FloatArray = np.ascontiguousarray(features @ basis[:rank].T)
    return inside


def g_optimal(features: FloatArray, tolerance: float = 0.01) -> Design:
    """A design whose ``spread`` is at most ``(1 + tolerance) * rank``.

    Starts from rows chosen to span a large volume (the farthest from the span of those before, one by one), then
    moves weight along one row at a time with exact line search: to the row known worst, or away from the row of
    the design that helps least (the Frank-Wolfe or Fedorov-Wynn steps with Atwood's steps away, which make the error
    fall geometrically and keep the design small). By Kiefer and Wolfowitz (1960) the design that maximises
    ``log det V`` is the one that minimises ``spread``, and it is reached exactly when ``spread = rank``: so the
    distance to the optimum is known without knowing the optimum.

    >>> design = g_optimal(np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]]))
    >>> design.rows, design.shares, round(design.spread, 9)
    (array([0, 1]), array([0.5, 0.5]), 2.0)
    """
    inside = in_span(features)
    n, rank = inside.shape
    if not rank:
        return Design(np.empty(0, dtype=np.int64), np.empty(0), 0.0, 0)
    shares = np.zeros(n)
    shares[_spanning(inside)] = 1.0 / rank
    for _ in range(_ROUNDS):
        spreads = _spreads(inside, shares)
        worst = int(np.argmax(spreads))
        most = float(spreads[worst])
        if most <= (1.0 + tolerance) * rank:
            rows = np.flatnonzero(shares)
            return Design(rows, shares[rows], most, rank)
        used = np.flatnonzero(shares)
        least = int(used[np.argmin(spreads[used])])
        if most - rank >= rank - spreads[least]:
            _move(shares, worst, (most / rank - 1.0) / (most - 1.0))
        else:
            held = float(shares[least])
            known = float(spreads[least])
            back = (1.0 - known / rank) / (known - 1.0) if known > 1.0 else np.inf
            all_of_it = held / (1.0 - held)
            _move(shares, least, -min(back, all_of_it))
            if back >= all_of_it:
                shares[least] = 0.0
    raise ProblemError(f"no design for {n} items in {rank} dimensions is within {tolerance:g} after {_ROUNDS:,} rounds")


def _spanning(inside: FloatArray) -> list[int]:
    """As many rows as there are dimensions, each the farthest from the span of those before it."""
    left = inside.copy()
    chosen: list[int] = []
    for _ in range(inside.shape[1]):
        lengths = np.einsum("ij,ij->i", left, left)
        lengths[chosen] = -1.0
        row = int(np.argmax(lengths))
        chosen.append(row)
        direction = left[row] / np.sqrt(lengths[row])
        left -= np.outer(left @ direction, direction)
    return chosen


def _spreads(inside: FloatArray, shares: FloatArray) -> FloatArray:
    """``a' V^-1 a`` of every row."""
    used = np.flatnonzero(shares)
    rows = inside[used]
    V = (rows * shares[used, None]).T @ rows
    half = np.linalg.solve(np.linalg.cholesky(V), inside.T)
    spreads: FloatArray = np.einsum("ij,ij->j", half, half)
    return spreads


def _move(shares: FloatArray, row: int, step: float) -> None:
    """``pi <- (1 - step) pi + step e_row``, kept at 1 in sum."""
    shares *= 1.0 - step
    shares[row] += step
    shares /= shares.sum()
