"""Kernels of zooming bandits, one for each position of a list, and their compiled steps.

Symbols as in :mod:`rankfall.kernels.ranked`. A position's bandit has ``counts`` and ``sums`` (L), and ``active`` (L)
items: those it chooses from, each the centre of a ball of radius ``sqrt(radius / (1 + counts))``.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.jit import compiled, entry, inlined_entry, inner, leaf
from rankfall.kernels.policy_steps import steps
from rankfall.kernels.ranked import BoolArray, FloatArray, IntArray, nth_free


@leaf
def _best_active(
    counts: FloatArray,
    sums: FloatArray,
    active: BoolArray,
    distances: FloatArray,
    radius: float,
    allowed: BoolArray,
    above: IntArray,
    correlated: bool,
) -> int:
    best, choice = -math.inf, -1
    for row in range(len(allowed)):
        if active[row] and allowed[row]:
            n = counts[row]
            r = math.sqrt(radius / (1.0 + n))
            index = (sums[row] / n if n > 0 else 0.0) + 2.0 * r
            if correlated:
                for other in above:
                    index = min(index, distances[row, other] + r)
            if index > best:
                best, choice = index, row
    return choice


@leaf
def _nearest_free(row: int, distances: FloatArray, allowed: BoolArray, shown: BoolArray) -> int:
    best, choice = math.inf, -1
    for other in range(len(allowed)):
        if allowed[other] and not shown[other] and distances[row, other] < best:
            best, choice = distances[row, other], other
    return choice


@leaf
def zooming_list_in(
    counts: FloatArray,
    sums: FloatArray,
    active: BoolArray,
    distances: FloatArray,
    radius: float,
    correlated: bool,
    allowed: BoolArray,
    items: IntArray,
    chosen: IntArray,
    shown: BoolArray,
) -> None:
    """Zooming at each position: the active item with the highest index, or, if shown above, the nearest free one.

    ``shown`` (L) is work space.
    """
    shown[:] = False
    for position in range(len(items)):
        chosen[position] = -1
        if items[position] >= 0:
            continue
        if position < len(counts):
            n, s, a, above = counts[position], sums[position], active[position], items[:position]
            choice = _best_active(n, s, a, distances, radius, allowed, above, correlated)
            chosen[position] = choice
            if choice < 0:  # none of the active ones may be shown: the nearest to the best of them, to learn nothing
                choice = _best_active(n, s, a, distances, radius, a, above, correlated)
            shows = allowed[choice] and not shown[choice]
            items[position] = choice if shows else _nearest_free(choice, distances, allowed, shown)
        else:
            items[position] = nth_free(allowed, shown, 0)
        shown[items[position]] = True


@compiled
def zooming_list(
    counts: FloatArray,
    sums: FloatArray,
    active: BoolArray,
    distances: FloatArray,
    radius: float,
    correlated: bool,
    allowed: BoolArray,
    items: IntArray,
    chosen: IntArray,
) -> None:
    """:func:`zooming_list_in`, with work space of its own."""
    shown = np.empty(len(allowed), dtype=np.bool_)
    zooming_list_in(counts, sums, active, distances, radius, correlated, allowed, items, chosen, shown)


@inner
def uncovered(counts: FloatArray, active: BoolArray, distances: FloatArray, radius: float) -> int:
    """The first item outside every active one's ball of ``sqrt(radius / (1 + counts))``, or -1."""
    for row in range(len(active)):
        covered = False
        for other in range(len(active)):
            if active[other] and distances[other, row] <= math.sqrt(radius / (1.0 + counts[other])):
                covered = True
                break
        if not covered:
            return row
    return -1


@entry
def cover(counts: FloatArray, active: BoolArray, distances: FloatArray, radius: float) -> None:
    """Activate items, the first one each time, until all are covered."""
    row = uncovered(counts, active, distances, radius)
    while row >= 0:
        active[row] = True
        row = uncovered(counts, active, distances, radius)


@leaf
def _lets_go(choice: int, counts: FloatArray, distances: FloatArray, radius: float) -> bool:
    """Whether the ball of an item that was just counted holds fewer items than before."""
    now, before = math.sqrt(radius / (1.0 + counts[choice])), math.sqrt(radius / counts[choice])
    fewer = False
    for row in range(len(counts)):
        fewer = fewer or now < distances[choice, row] <= before
    return fewer


@inlined_entry
def zooming_tell(
    counts: FloatArray,
    sums: FloatArray,
    active: BoolArray,
    distances: FloatArray,
    radius: float,
    items: IntArray,
    chosen: IntArray,
    clicked: BoolArray,
) -> None:
    """Tell the bandits down to the first click, and activate what their smaller balls no longer cover."""
    for position in range(min(len(counts), len(items))):
        choice = chosen[position]
        if choice >= 0:
            counts[position, choice] += 1.0
            if clicked[position] and choice == items[position]:
                sums[position, choice] += 1.0
            if _lets_go(choice, counts[position], distances, radius):
                cover(counts[position], active[position], distances, radius)
        if clicked[position]:
            break


class RankedZoomingSteps(NamedTuple):
    """RankedZooming."""

    counts: Any  # (K, L)
    sums: Any  # (K, L)
    active: Any  # (K, L)
    distances: Any  # (L, L)
    radius: float
    correlated: bool
    allowed: Any  # (L) all True
    chosen: Any  # (k)
    shown: Any  # (L) work space


@leaf
def _show_zooming(state: RankedZoomingSteps, _: Any, shown: Any) -> None:
    shown[:] = -1
    zooming_list_in(
        state.counts,
        state.sums,
        state.active,
        state.distances,
        state.radius,
        state.correlated,
        state.allowed,
        shown,
        state.chosen,
        state.shown,
    )


@leaf
def _tell_zooming(state: RankedZoomingSteps, shown: Any, clicked: Any) -> bool:
    zooming_tell(state.counts, state.sums, state.active, state.distances, state.radius, shown, state.chosen, clicked)
    return True


steps(RankedZoomingSteps, _show_zooming, _tell_zooming)
