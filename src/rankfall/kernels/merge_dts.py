"""Many comparisons by MergeDTS in one loop, as in :mod:`rankfall.kernels.duels`."""

import math
from typing import Any

import numpy as np

from rankfall.kernels.duels import compare, one_of_best, prefer_all
from rankfall.kernels.jit import compiled, inner


@compiled
def merge_dts(
    wins: Any,
    batch: Any,
    turn: Any,
    since: Any,
    few: int,
    alpha: float,
    constant: float,
    preferences: Any,
    rng: Any,
    picks: Any,
    ahead: Any,
    score: Any,
    among: Any,
) -> int:
    """Comparisons by MergeDTS, until ``picks`` is full or batches are to be merged; how many there were.

    In the second case the last comparison is in ``wins`` and not settled yet: ``few`` rankers or fewer are left.
    ``batch`` (n,), ``turn`` and ``since`` are those of :class:`rankfall.compare.MergeDTS`; ``ahead`` (n, n), ``score``
    and ``among`` (n, whole numbers) are work space.
    """
    n = len(wins)
    prefer_all(wins, ahead)
    for step in range(len(picks)):
        count = _present(batch, turn[()], among)
        if count == 1:
            picks[step, 0], picks[step, 1] = among[0], -1
            continue
        score[:] = 0
        for a in range(count):
            for b in range(a + 1, count):
                i, j = among[a], among[b]
                score[i if rng.random() < ahead[i, j] else j] += 1
        first = among[one_of_best(score, among, count, rng)]
        second, lowest = first, 2.0
        for b in range(count):
            j = among[b]
            theta = rng.beta(1.0 + wins[j, first], 1.0 + wins[first, j])
            if j == first:
                theta = 1.0
            if theta < lowest:
                second, lowest = j, theta
        picks[step, 0], picks[step, 1] = first, second
        compare(wins, first, second, preferences, rng, ahead)
        left, number = 0, 0
        for i in range(n):
            left += batch[i] >= 0
            number = max(number, batch[i] + 1)
        if left <= few and number > 1:
            return step + 1
        since[()] += 1
        turn[()] = since[()] % number
        _merge_single(batch, turn, among)
        while True:
            count = _present(batch, turn[()], among)
            out = _next_out(wins, among, count, math.sqrt(alpha * math.log(constant + 1.0 + since[()])))
            if out < 0:
                break
            batch[out] = -1
            _merge_single(batch, turn, among)
    return len(picks)


@inner
def _present(batch: Any, turn: int, among: Any) -> int:
    """How many rankers are in a batch, and in ``among`` which."""
    count = 0
    for i in range(len(batch)):
        if batch[i] == turn:
            among[count] = i
            count += 1
    return count


@inner
def _merge_single(batch: Any, turn: Any, among: Any) -> None:
    """Merge the batch whose turn it is with the next one as long as it has one ranker and is not alone."""
    while True:
        number = 0
        for i in range(len(batch)):
            number = max(number, batch[i] + 1)
        if number < 2 or _present(batch, turn[()], among) != 1:
            return
        here = turn[()]
        following = (here + 1) % number
        batch[among[0]] = following
        for i in range(len(batch)):
            if batch[i] > here:
                batch[i] -= 1
        turn[()] = following - (following > here)


@inner
def _next_out(wins: Any, among: Any, count: int, width: float) -> int:
    """Who is beaten for sure by most others of the batch, the first of equals; -1 if nobody is."""
    out, most = -1, 0
    for a in range(count):
        losses = 0
        for b in range(count):
            i, j = among[a], among[b]
            m = wins[i, j] + wins[j, i] + 2.0
            if a != b and (wins[i, j] + 1.0) / m + width / np.sqrt(m) < 0.5:
                losses += 1
        if losses > most:
            out, most = among[a], losses
    return out
