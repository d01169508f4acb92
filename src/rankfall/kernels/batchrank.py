"""Kernels of BatchRank: what its batches show, what clicks count, and the bounds it decides by.

An item belongs to one batch at a time: ``batch_of`` (L) is its number, or -1 once it is eliminated. ``shown_count`` and
``click_count`` (L) are the counts of the batch's current stage. Batches are numbered by position: batch b has the
positions ``first[b]`` to ``last[b]``, and ``serial[b]`` is the number of its stage, never used twice.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfall.kernels.jit import compiled, leaf
from rankfall.kernels.policy_steps import steps

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

_HALVINGS = 50


@leaf
def display_in(
    first: IntArray,
    last: IntArray,
    serial: IntArray,
    batch_of: IntArray,
    shown_count: IntArray,
    allowed: BoolArray,
    coins: FloatArray,
    items: IntArray,
    serials: IntArray,
    picks: IntArray,
) -> None:
    """DisplayBatch for every batch: its least shown items in random order, and the stage each is shown in.

    ``coins`` (L + positions of all batches): the first L decide between items shown equally often, the others on
    positions. What no batch can fill is filled up in row order, with -1 for the stage. ``picks`` (positions of all
    batches) is work space.
    """
    k, L = len(items), len(batch_of)
    picks[:] = -1
    for row in range(L):  # each batch keeps its least shown items in order, on its positions
        b = batch_of[row]
        if b < 0 or not allowed[row]:
            continue
        n, coin = shown_count[row], coins[row]
        at = last[b]
        while at >= first[b]:
            other = picks[at]
            if other >= 0:
                if n > shown_count[other] or (n == shown_count[other] and coin >= coins[other]):
                    break
                if at < last[b]:
                    picks[at + 1] = other
            at -= 1
        if at < last[b]:
            picks[at + 1] = row
    items[:] = -1
    serials[:] = -1
    for b in range(len(first)):
        count = 0
        while first[b] + count <= last[b] and picks[first[b] + count] >= 0:
            count += 1
        for i in range(count):
            j = i + min(int(coins[L + first[b] + i] * (count - i)), count - i - 1)
            here, there = first[b] + i, first[b] + j
            picks[here], picks[there] = picks[there], picks[here]
            if here < k:
                items[here] = picks[here]
                serials[here] = serial[b]
    row = 0
    for position in range(k):
        if items[position] < 0:
            while not allowed[row] or row in items:
                row += 1
            items[position] = row


@compiled
def display(
    first: IntArray,
    last: IntArray,
    serial: IntArray,
    batch_of: IntArray,
    shown_count: IntArray,
    allowed: BoolArray,
    coins: FloatArray,
    items: IntArray,
    serials: IntArray,
) -> None:
    """:func:`display_in`, with work space of its own."""
    picks = np.empty(last[-1] + 1, dtype=np.int64)
    display_in(first, last, serial, batch_of, shown_count, allowed, coins, items, serials, picks)


@leaf
def _least(batch_of: IntArray, shown_count: IntArray, out: IntArray) -> None:
    out[:] = np.iinfo(np.int64).max
    for row in range(len(batch_of)):
        if batch_of[row] >= 0:
            out[batch_of[row]] = min(out[batch_of[row]], shown_count[row])


@leaf
def collect_in(
    items: IntArray,
    serials: IntArray,
    clicked: BoolArray,
    serial: IntArray,
    target: IntArray,
    batch_of: IntArray,
    shown_count: IntArray,
    click_count: IntArray,
    every: bool,
    least: IntArray,
) -> int:
    """CollectClicks for every batch; the last one whose items have all been shown ``target`` times, or -1.

    Only items shown least count, or ``every`` one. ``least`` (batches) is work space.
    """
    if not every:
        _least(batch_of, shown_count, least)
    for position in range(len(items)):
        row = items[position]
        b = batch_of[row]
        if b >= 0 and serial[b] == serials[position] and (every or shown_count[row] == least[b]):
            shown_count[row] += 1
            click_count[row] += clicked[position]
    _least(batch_of, shown_count, least)
    done = -1
    for b in range(len(serial)):
        if least[b] >= target[b]:
            done = b
    return done


@compiled
def collect(
    items: IntArray,
    serials: IntArray,
    clicked: BoolArray,
    serial: IntArray,
    target: IntArray,
    batch_of: IntArray,
    shown_count: IntArray,
    click_count: IntArray,
    every: bool,
) -> int:
    """:func:`collect_in`, with work space of its own."""
    least = np.empty(len(serial), dtype=np.int64)
    return collect_in(items, serials, clicked, serial, target, batch_of, shown_count, click_count, every, least)


@leaf
def divergence(p: float, q: float) -> float:
    """Kullback-Leibler divergence of two coins."""
    result = 0.0
    if p > 0.0:
        result += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        result += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return result


@leaf
def _bound(mean: float, budget: float, end: float) -> float:
    """The point between ``mean`` and ``end`` furthest from mean with a divergence of at most ``budget``."""
    if divergence(mean, end) <= budget:
        return end
    inside, outside = mean, end
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        if divergence(mean, middle) <= budget:
            inside = middle
        else:
            outside = middle
    return inside


@compiled
def bounds(clicks: FloatArray, shown: FloatArray, budget: float) -> tuple[FloatArray, FloatArray]:
    """KL lower and upper confidence bounds: all q with ``shown * KL(clicks / shown, q) <= budget``."""
    lower, upper = np.empty(len(clicks)), np.empty(len(clicks))
    for i in range(len(clicks)):
        mean = clicks[i] / shown[i]
        lower[i] = _bound(mean, budget / shown[i], 0.0)
        upper[i] = _bound(mean, budget / shown[i], 1.0)
    return lower, upper


class BatchRankSteps(NamedTuple):
    """BatchRank; the loop ends when a stage does."""

    first: Any  # (batches)
    last: Any  # (batches)
    serial: Any  # (batches)
    target: Any  # (batches) how often each item is shown in its stage
    batch_of: Any  # (L)
    shown_count: Any  # (L)
    click_count: Any  # (L)
    every: bool
    allowed: Any  # (L) all True
    serials: Any  # (k) the stage each position is shown in
    picks: Any  # (positions of all batches) work space
    least: Any  # (batches) work space


@leaf
def _show(state: BatchRankSteps, coins: Any, shown: Any) -> None:
    display_in(
        state.first,
        state.last,
        state.serial,
        state.batch_of,
        state.shown_count,
        state.allowed,
        coins,
        shown,
        state.serials,
        state.picks,
    )


@leaf
def _learn(state: BatchRankSteps, shown: Any, clicked: Any) -> bool:
    ended = collect_in(
        shown,
        state.serials,
        clicked,
        state.serial,
        state.target,
        state.batch_of,
        state.shown_count,
        state.click_count,
        state.every,
        state.least,
    )
    return ended < 0


steps(BatchRankSteps, _show, _learn)
