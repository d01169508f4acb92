"""Compiled steps of RecurRank: what its blocks show, and what came of the items they tried."""

from typing import Any, NamedTuple

from rankfall.kernels.jit import compiled, inner
from rankfall.kernels.policy_steps import steps

ITEM, MISSING, TRIED, CLICKS = 0, 1, 2, 3
"""Columns of the trials."""


class RecurRankSteps(NamedTuple):
    """B blocks, from the top; the loop ends when one of them has tried enough."""

    first: Any  # (B) the position each begins at
    positions: Any  # (B) how many it has
    left: Any  # (B) how many lists it still wants
    designs: Any  # (B + 1) its trials are rows designs[b] to designs[b + 1]
    trials: Any  # (trials, 4) row of the item, lists missing, tried, clicks
    starts: Any  # (B + 1) its best items are best[starts[b]] to best[starts[b + 1]]
    best: Any
    drawn: Any  # (B) the trial of this list, or -1
    taken: Any  # (L) work space
    rng: Any


@compiled
def _draw(state: RecurRankSteps, b: int) -> int:
    """A trial of block b, each as likely as it is still wanted; -1 if there is none."""
    if state.left[b] == 0:
        return -1
    coin = state.rng.random() * state.left[b]
    found = -1
    for trial in range(state.designs[b], state.designs[b + 1]):
        if state.trials[trial, MISSING] > 0:
            found = trial
            coin -= state.trials[trial, MISSING]
            if coin < 0:
                break
    return found


@compiled
def _show(state: RecurRankSteps, _: Any, shown: Any) -> None:
    k, count = len(shown), 0
    state.drawn[:] = -1
    for b in range(len(state.first)):
        if count >= k:
            break
        wanted, tried = state.positions[b], -1
        state.drawn[b] = _draw(state, b)
        if state.drawn[b] >= 0:
            tried = shown[count] = state.trials[state.drawn[b], ITEM]
            count += 1
            wanted -= 1
        for place in range(state.starts[b], state.starts[b + 1]):
            if wanted == 0 or count >= k:
                break
            if state.best[place] != tried:
                shown[count] = state.best[place]
                count += 1
                wanted -= 1
    if count < k:
        state.taken[:] = False
        for i in range(count):
            state.taken[shown[i]] = True
        for row in range(len(state.taken)):
            if count < k and not state.taken[row]:
                shown[count] = row
                count += 1


@inner
def _learn(state: RecurRankSteps, _: Any, clicked: Any) -> bool:
    go_on = True
    for b in range(len(state.first)):
        trial = state.drawn[b]
        if trial >= 0:
            state.trials[trial, MISSING] -= 1
            state.trials[trial, TRIED] += 1
            state.trials[trial, CLICKS] += clicked[state.first[b]]
            state.left[b] -= 1
            go_on = go_on and state.left[b] > 0
    return go_on


steps(RecurRankSteps, _show, _learn)
