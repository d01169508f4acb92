"""What ranked bandits are told, and their compiled steps. Symbols as in :mod:`rankfall.kernels.ranked`."""

import math
from typing import Any, NamedTuple

from rankfall.kernels import ranked
from rankfall.kernels.jit import entry, inlined_entry, leaf
from rankfall.kernels.policy_steps import steps
from rankfall.kernels.ranked import BoolArray, FloatArray, IntArray


@inlined_entry
def ucb_tell(
    counts: FloatArray,
    sums: FloatArray,
    plays: FloatArray,
    every: bool,
    items: IntArray,
    chosen: IntArray,
    clicked: BoolArray,
) -> None:
    """Count every choice, and the clicks on those that were shown: the first click, or ``every`` one."""
    positions = min(len(counts), len(items))
    for position in range(positions):
        if chosen[position] >= 0:
            counts[position, chosen[position]] += 1.0
            plays[position] += 1.0
    for position in range(positions):
        if clicked[position]:
            if chosen[position] >= 0 and chosen[position] == items[position]:
                sums[position, chosen[position]] += 1.0
            if not every:
                break


class RankedUCB1Steps(NamedTuple):
    """RankedUCB1."""

    counts: Any  # (K, L)
    sums: Any  # (K, L)
    plays: Any  # (K)
    exploration: float
    every: bool
    allowed: Any  # (L) all True
    chosen: Any  # (k)
    shown: Any  # (L) work space
    index: Any  # (L) work space


@leaf
def _show_ucb1(state: RankedUCB1Steps, coins: Any, shown: Any) -> None:
    shown[:] = -1
    ranked.ucb_list(
        state.counts,
        state.sums,
        state.plays,
        state.exploration,
        state.allowed,
        coins,
        shown,
        state.chosen,
        state.shown,
        state.index,
    )


@leaf
def _tell_ucb1(state: RankedUCB1Steps, shown: Any, clicked: Any) -> bool:
    ucb_tell(state.counts, state.sums, state.plays, state.every, shown, state.chosen, clicked)
    return True


steps(RankedUCB1Steps, _show_ucb1, _tell_ucb1)


@inlined_entry
def exp3_tell(
    log_weights: FloatArray,
    rate: float,
    losses: bool,
    every: bool,
    items: IntArray,
    chosen: IntArray,
    odds: FloatArray,
    clicked: BoolArray,
) -> None:
    """Raise the weight of each choice that was clicked by ``rate / (L p)``, p the odds with which it was drawn.

    With ``losses`` lower instead that of each choice that was not, by ``rate / p``. Of the clicks the first counts, or
    ``every`` one.
    """
    L = log_weights.shape[1]
    over = False
    for position in range(min(len(log_weights), len(items))):
        choice = chosen[position]
        earned = clicked[position] and not over and choice == items[position]
        over = over or (clicked[position] and not every)
        if choice >= 0 and earned != losses:
            weights = log_weights[position]
            if losses:
                weights[choice] -= rate / odds[position]
            else:
                weights[choice] += rate / (odds[position] * L)
            highest = weights[0]
            for row in range(1, L):
                highest = max(highest, weights[row])
            for row in range(L):
                weights[row] -= highest


class RankedEXP3Steps(NamedTuple):
    """RankedEXP3."""

    log_weights: Any  # (K, L)
    mixed: float
    rate: float
    losses: bool
    every: bool
    allowed: Any  # (L) all True
    chosen: Any  # (k)
    odds: Any  # (k)
    shown: Any  # (L) work space
    table: ranked.Exp3Table


@leaf
def _show_exp3(state: RankedEXP3Steps, coins: Any, shown: Any) -> None:
    shown[:] = -1
    ranked.exp3_list(
        state.log_weights,
        state.mixed,
        state.allowed,
        coins,
        shown,
        state.chosen,
        state.odds,
        state.shown,
        state.table,
    )


@leaf
def _tell_exp3(state: RankedEXP3Steps, shown: Any, clicked: Any) -> bool:
    exp3_tell(state.log_weights, state.rate, state.losses, state.every, shown, state.chosen, state.odds, clicked)
    stale = state.table.stale
    for position in range(min(len(stale), len(shown))):
        if state.losses or clicked[position]:
            stale[position] = True
    return True


steps(RankedEXP3Steps, _show_exp3, _tell_exp3)


@entry
def cover(counts: FloatArray, active: BoolArray, distances: FloatArray, radius: float) -> None:
    """Activate items, the first one each time, until all are covered."""
    row = ranked.uncovered(counts, active, distances, radius)
    while row >= 0:
        active[row] = True
        row = ranked.uncovered(counts, active, distances, radius)


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
    ranked.zooming_list(
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
