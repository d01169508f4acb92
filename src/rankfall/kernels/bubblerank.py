"""Kernels of BubbleRank: neighbours exchanged at random, what their clicks say, and exchanges for good.

``base`` (L, or fewer where not all may be shown) is the base list, ``wins[i, j]`` (L, L) how often i was clicked and j,
its neighbour, was not; ``better[i, j]`` (L, L) whether ``s(i, j)`` is above the bound: ``s > 0`` and ``s^2 > n * bar``.
"""

from typing import Any, NamedTuple

from rankfall.kernels.jit import inlined_entry, leaf
from rankfall.kernels.policy_steps import steps


@leaf
def _challenger(base: Any, better: Any, newcomers: bool, k: int, coin: float) -> int:
    """The item from below a list of ``k`` that its last one is compared with, or -1."""
    if not newcomers:
        return base[k]
    last = base[k - 1]
    count = 0
    for item in base[k:]:
        count += not better[last, item]
    nth = int(coin * count)
    for item in base[k:]:
        if not better[last, item]:
            if nth == 0:
                return item
            nth -= 1
    return -1


@inlined_entry
def exchange_at_random(base: Any, better: Any, newcomers: bool, parity: int, coins: Any, shown: Any) -> int:
    """Fill ``shown`` (k) from the base list, some neighbours exchanged (lines 1 and 2).

    Returns the item from below the list that its last one is compared with, or -1. ``coins`` (k // 2 + 2): one for each
    pair, and the last for the item from below.
    """
    k, hidden = len(shown), -1
    for i in range(k):
        shown[i] = base[i]
    for first in range(parity, k - 1, 2):
        i, j = shown[first], shown[first + 1]
        if coins[first // 2] < 0.5 and not better[i, j]:
            shown[first], shown[first + 1] = j, i
    if k < len(base) and (k - 1 - parity) % 2 == 0:
        hidden = _challenger(base, better, newcomers, k, coins[len(coins) - 1])
        last = shown[k - 1]
        if hidden >= 0 and coins[(k - 1) // 2] < 0.5 and not better[last, hidden]:
            shown[k - 1], hidden = hidden, last
    return hidden


@leaf
def _is_better(wins: Any, i: int, j: int, bar: float) -> bool:
    s = wins[i, j] - wins[j, i]
    return s > 0 and s * s > (wins[i, j] + wins[j, i]) * bar


@leaf
def _count(wins: Any, better: Any, settled: Any, i: int, j: int, bar: float) -> None:
    """Item i was clicked and j was not (line 4)."""
    wins[i, j] += 1
    if _is_better(wins, i, j, bar):
        if not better[i, j]:
            better[i, j] = True
            settled[0] = False
    elif not _is_better(wins, j, i, bar):
        better[j, i] = False


@leaf
def _exchange(base: Any, better: Any, settled: Any) -> None:
    """Exchange neighbours of the base list that are known to be in the wrong order (line 5)."""
    settled[0] = True
    for first in range(len(base) - 1):
        i, j = base[first], base[first + 1]
        if better[j, i]:
            base[first], base[first + 1] = j, i
            settled[0] = False


@leaf
def _admit(base: Any, better: Any, settled: Any, length: int, i: int, j: int) -> None:
    """Exchange the last item of a list of ``length`` for one from below, if that is known to be better."""
    last = base[length - 1]
    newcomer = j if last == i else i
    if last in (i, j) and better[newcomer, last]:
        for at in range(length, len(base)):
            if base[at] == newcomer:
                base[length - 1], base[at] = newcomer, last
                settled[0] = False


@inlined_entry
def compare(
    base: Any,
    wins: Any,
    better: Any,
    settled: Any,
    bar: float,
    newcomers: bool,
    parity: int,
    hidden: int,
    shown: Any,
    clicked: Any,
) -> None:
    """Count the clicks on the pairs that were compared, and exchange neighbours for good (lines 4 and 5).

    ``settled`` (1) says whether line 5 has nothing to exchange.
    """
    length = len(shown)
    for position in range(length):
        if not clicked[position]:
            continue
        mate = position + 1 if (position - parity) % 2 == 0 else position - 1
        if mate < parity or (mate < length and clicked[mate]):  # the top one, alone at parity 1; or both were clicked
            continue
        other = shown[mate] if mate < length else hidden
        if other >= 0:
            _count(wins, better, settled, shown[position], other, bar)
    if not settled[0]:
        _exchange(base, better, settled)
    if newcomers and hidden >= 0:
        _admit(base, better, settled, length, shown[length - 1], hidden)


class BubbleRankSteps(NamedTuple):
    """BubbleRank."""

    base: Any  # (L)
    wins: Any  # (L, L)
    better: Any  # (L, L)
    settled: Any  # (1)
    bar: float
    newcomers: bool
    lists: Any  # (2) how many were learned from, and the item below the list or -1


@leaf
def _show(state: BubbleRankSteps, coins: Any, shown: Any) -> None:
    parity = (state.lists[0] + 1) % 2
    state.lists[1] = exchange_at_random(state.base, state.better, state.newcomers, parity, coins, shown)


@leaf
def _learn(state: BubbleRankSteps, shown: Any, clicked: Any) -> bool:
    parity, hidden = (state.lists[0] + 1) % 2, state.lists[1]
    compare(
        state.base,
        state.wins,
        state.better,
        state.settled,
        state.bar,
        state.newcomers,
        parity,
        hidden,
        shown,
        clicked,
    )
    state.lists[0] += 1
    return True


steps(BubbleRankSteps, _show, _learn)
