"""Who was clicked instead of whom, and the order that follows from it (TopRank)."""

import math
from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.item_bounds import insert
from rankfall.kernels.jit import compiled, entry, leaf
from rankfall.kernels.policy_steps import steps


@entry
def compare(level: Any, clicked: Any, wins: Any, floor: float, above: Any, won: Any) -> int:
    """Count every clicked item as better than the others of its block, and say which pairs are decided by that.

    ``wins[i, j]`` counts how often i was clicked and j, in the same block, was not: S = wins - wins',
    N = wins + wins'. A pair is decided when ``S >= sqrt(2 N (floor + log(N) / 2))``, ``floor = log(c / delta)``.

    Parameters
    ----------
    level : (L) the block each item stood in when the list was made, -1 for one that could not be shown.
    clicked : rows that were clicked.
    wins : (L, L) changed.
    above : (L, L) whether i is known to come before j, over any number of steps.
    won : (L, L) scratch, all False; set where i is decided to be better than j and that is neither known nor denied.

    Returns
    -------
    how many entries of ``won`` were set; -1, and nothing is changed, if a clicked row is in no block
    """
    for i in clicked:
        if i >= len(level) or level[i] < 0:
            return -1
    found = 0
    for i in clicked:
        for j in range(len(level)):
            if level[j] != level[i]:
                continue
            also = False
            for other in clicked:
                also = also or other == j
            if also:
                continue
            wins[i, j] += 1
            s = wins[i, j] - wins[j, i]
            n = wins[i, j] + wins[j, i]
            if s <= 0 or above[i, j] or above[j, i]:
                continue
            if float(s) * s >= 2.0 * n * (floor + 0.5 * math.log(n)):
                won[i, j] = True
                found += 1
    return found


@compiled
def relate(won: Any, better: Any, above: Any, level: Any) -> None:
    """Add the decided pairs to the relation, except where the opposite follows from it; and find the blocks anew.

    Parameters
    ----------
    won : (L, L) pairs to add; all False afterwards.
    better : (L, L) the relation: (j, i) of the paper's G where ``better[i, j]``. Changed.
    above : (L, L) its transitive closure. Changed.
    level : (L) the block of each item: the longest chain of better items above it. Changed.
    """
    size = len(level)
    waiting = np.empty(size * size + 1, dtype=np.int64)
    for i in range(size):
        for j in range(size):
            if not won[i, j]:
                continue
            won[i, j] = False
            if above[j, i]:
                continue
            better[i, j] = True
            for x in range(size):
                if x == i or above[x, i]:
                    for y in range(size):
                        if y == j or above[j, y]:
                            above[x, y] = True
            if level[j] > level[i]:
                continue
            level[j] = level[i] + 1
            waiting[0] = j
            left = 1
            while left:
                left -= 1
                x = waiting[left]
                for y in range(size):
                    if better[x, y] and level[y] <= level[x]:
                        level[y] = level[x] + 1
                        waiting[left] = y
                        left += 1


class TopRankSteps(NamedTuple):
    """TopRank; the loop ends when pairs are decided."""

    level: Any  # (L)
    wins: Any  # (L, L)
    floor: float
    above: Any  # (L, L)
    won: Any  # (L, L)
    keys: Any  # (k) work space
    clicked: Any  # (k) work space


@leaf
def _show(state: TopRankSteps, coins: Any, shown: Any) -> None:
    size = 0
    for e in range(len(state.level)):
        size = insert(e, -(state.level[e] + coins[e]), size, shown, state.keys)


@leaf
def _learn(state: TopRankSteps, shown: Any, clicked: Any) -> bool:
    count = 0
    for i in range(len(shown)):
        if clicked[i]:
            state.clicked[count] = shown[i]
            count += 1
    return compare(state.level, state.clicked[:count], state.wins, state.floor, state.above, state.won) == 0


steps(TopRankSteps, _show, _learn)
