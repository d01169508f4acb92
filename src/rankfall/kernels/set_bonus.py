"""Lists for a sum of means and one confidence bonus of the whole list: linear plus submodular, greedily.

Symbols as in :mod:`rankfall.kernels.item_bounds`: item e was observed ``N[e]`` times, clicked ``X[e]`` times, and has
``w = X[e] / N[e]``. The value of a list S is ``sum of w + sqrt(sum of budget / N)``.
"""

import math
from typing import Any, NamedTuple

from rankfall.kernels.item_bounds import observe_all, width_list
from rankfall.kernels.jit import entry, leaf
from rankfall.kernels.policy_steps import steps


@leaf
def _mean(e: int, N: Any, X: Any) -> float:
    return X[e] / N[e] if N[e] > 0.0 else 0.0


@leaf
def _square(e: int, N: Any, budget: float) -> float:
    return budget / N[e] if N[e] > 0.0 else math.inf


@entry
def greedy_list(rows: Any, N: Any, X: Any, budget: float, items: Any, scores: Any) -> None:
    """Fill ``items`` with rows, at each position the one that adds most to the value, and ``scores`` with what it adds.

    Items never observed come first, in the order of rows; equals by the lower row. They add nothing to the bonus of
    those below, as the list has no bound anyhow.
    """
    squares, size = 0.0, 0
    for e in rows:
        if size < len(items) and N[e] <= 0.0:
            items[size], scores[size] = e, math.inf
            size += 1
    for position in range(size, len(items)):
        best, highest, root = -1, -math.inf, math.sqrt(squares)
        for e in rows:
            if N[e] <= 0.0:
                continue
            gain = X[e] / N[e] + (math.sqrt(squares + budget / N[e]) - root)
            if gain > highest:
                taken = False
                for i in range(size, position):
                    taken = taken or items[i] == e
                if not taken:
                    best, highest = e, gain
        items[position], scores[position] = best, highest
        squares += budget / N[best]


@entry
def exchange(rows: Any, N: Any, X: Any, budget: float, least: float, items: Any) -> int:
    """Exchange an item of the list for one outside while the value grows by more than ``least``; how often it was done.

    Each time the exchange that gains most is made, of equals the first. Nothing is done while the list has an item that
    was never observed.
    """
    done = 0
    for e in items:
        if N[e] <= 0.0:
            return done
    while True:
        squares = 0.0
        for e in items:
            squares += _square(e, N, budget)
        root, most = math.sqrt(squares), least
        out, comes = -1, -1
        for position in range(len(items)):
            old = items[position]
            rest = squares - _square(old, N, budget)
            for e in rows:
                gain = _mean(e, N, X) - _mean(old, N, X)
                gain += math.sqrt(max(rest + _square(e, N, budget), 0.0)) - root
                if gain > most:
                    inside = False
                    for other in items:
                        inside = inside or other == e
                    if not inside:
                        out, comes, most = position, e, gain
        if out < 0:
            return done
        items[out] = comes
        done += 1


class GreedyESCBSteps(NamedTuple):
    """GreedyESCB."""

    rows: Any  # (L) 0, 1, ...
    observed: Any  # (L)
    clicked: Any  # (L)
    lists: Any  # (1) learned from
    exploration: float
    apart: bool  # whether every item has a bonus of its own
    least: float  # how much an exchange must gain; infinite, if there are none
    scores: Any  # (k) work space
    sorted: Any  # (k) work space


@leaf
def _show(state: GreedyESCBSteps, _: Any, shown: Any) -> None:
    N, X, scores = state.observed, state.clicked, state.scores
    budget = state.exploration * math.log(max(state.lists[0], 1))
    if state.apart:
        width_list(state.rows, N, X, budget, shown, scores)
        return
    greedy_list(state.rows, N, X, budget, shown, scores)
    if state.least < math.inf and exchange(state.rows, N, X, budget, state.least, shown):
        for i in range(len(shown)):
            at = i
            while at > 0 and state.sorted[at - 1] > shown[i]:
                state.sorted[at] = state.sorted[at - 1]
                at -= 1
            state.sorted[at] = shown[i]
        greedy_list(state.sorted, N, X, budget, shown, scores)


@leaf
def _learn(state: GreedyESCBSteps, shown: Any, clicked: Any) -> bool:
    observe_all(shown, len(shown), clicked, state.observed, state.clicked)
    state.lists[0] += 1
    return True


steps(GreedyESCBSteps, _show, _learn)
