"""What ranked bandits are told, and their compiled steps. Symbols as in :mod:`rankfall.kernels.ranked`."""

from typing import Any, NamedTuple

from rankfall.kernels import ranked
from rankfall.kernels.jit import inlined_entry, leaf
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
    ranked.ucb_list_in(
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
    ranked.exp3_list_in(
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
