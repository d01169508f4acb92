"""Compiled steps of the tabular policies: bounds or samples by item, and counts of what was observed and clicked."""

import math
from typing import Any, NamedTuple

from rankfall.kernels import item_bounds
from rankfall.kernels.jit import compiled, leaf
from rankfall.kernels.kl_order import Intervals, kl_order
from rankfall.kernels.policy_steps import steps


class Counts(NamedTuple):
    """How often each of L items was observed and clicked, and work space for lists of k."""

    rows: Any  # (L) 0, 1, ...
    observed: Any  # (L)
    clicked: Any  # (L)
    lists: Any  # (1) how many were learned from
    scores: Any  # (k)


@leaf
def first_click(clicked: Any) -> int:
    """The first position that was clicked, or -1."""
    for i in range(len(clicked)):
        if clicked[i]:
            return i
    return -1


@leaf
def _observe_to_first(counts: Counts, shown: Any, clicked: Any) -> None:
    """Items down to the first click were observed."""
    hit = first_click(clicked)
    seen = len(shown) if hit < 0 else hit + 1
    item_bounds.observe(shown, seen, hit, 1.0, counts.observed, counts.clicked)
    counts.lists[0] += 1


class UCB1Steps(NamedTuple):
    """CascadeUCB1."""

    counts: Counts
    exploration: float


@leaf
def _show_ucb1(state: UCB1Steps, _: Any, shown: Any) -> None:
    at = state.counts
    budget = state.exploration * math.log(max(at.lists[0], 1))
    item_bounds.width_list(at.rows, at.observed, at.clicked, budget, shown, at.scores)


@leaf
def _learn_first(state: Any, shown: Any, clicked: Any) -> bool:
    _observe_to_first(state.counts, shown, clicked)
    return True


steps(UCB1Steps, _show_ucb1, _learn_first)


class KLSteps(NamedTuple):
    """CascadeKLUCB and DCMKLUCB."""

    counts: Counts
    exploration: float
    to_last: bool  # whether items are observed down to the last click, and every click counts
    order: Any  # (k) the positions, from the one that gets the highest bound; or none, for 0, 1, ...
    best: Any  # (k) work space
    intervals: Intervals


@leaf
def _show_kl(state: KLSteps, _: Any, shown: Any) -> None:
    at = state.counts
    log = math.log(at.lists[0] + 1)
    budget = log + state.exploration * math.log(max(log, 1.0))
    if len(state.order) == 0:
        kl_order(at.observed, at.clicked, budget, at.lists[0] + 1, state.intervals, shown)
        return
    kl_order(at.observed, at.clicked, budget, at.lists[0] + 1, state.intervals, state.best)
    for i in range(len(shown)):
        shown[state.order[i]] = state.best[i]


@leaf
def _learn_kl(state: KLSteps, shown: Any, clicked: Any) -> bool:
    if not state.to_last:
        _observe_to_first(state.counts, shown, clicked)
        return True
    at = state.counts
    seen = len(shown)
    if clicked.any():
        while not clicked[seen - 1]:
            seen -= 1
    item_bounds.observe_all(shown, seen, clicked, at.observed, at.clicked)
    at.lists[0] += 1
    return True


steps(KLSteps, _show_kl, _learn_kl)


class FadingSteps(NamedTuple):
    """CascadeDUCB."""

    counts: Counts
    epsilon: float
    discount: float
    weight: Any  # (1) sum of lists


@leaf
def _show_fading(state: FadingSteps, _: Any, shown: Any) -> None:
    at = state.counts
    budget = 4.0 * state.epsilon * math.log(max(state.weight[0], 1.0))
    item_bounds.width_list(at.rows, at.observed, at.clicked, budget, shown, at.scores)


@leaf
def _learn_fading(state: FadingSteps, shown: Any, clicked: Any) -> bool:
    item_bounds.fade(state.discount, state.counts.observed, state.counts.clicked)
    state.weight[0] = state.discount * state.weight[0] + 1.0
    _observe_to_first(state.counts, shown, clicked)
    return True


steps(FadingSteps, _show_fading, _learn_fading)


class WindowSteps(NamedTuple):
    """CascadeSWUCB."""

    counts: Counts
    epsilon: float
    window: int
    ring: item_bounds.Ring


@leaf
def _show_window(state: WindowSteps, _: Any, shown: Any) -> None:
    at = state.counts
    budget = state.epsilon * math.log(max(state.ring.place[1], 1))
    item_bounds.width_list(at.rows, at.observed, at.clicked, budget, shown, at.scores)


@leaf
def _learn_window(state: WindowSteps, shown: Any, clicked: Any) -> bool:
    at = state.counts
    item_bounds.slide(shown, first_click(clicked), state.window, state.ring, at.observed, at.clicked)
    at.lists[0] += 1
    size = state.ring.place[1]
    return size == state.window or size < len(state.ring.spans)  # else the ring must grow


steps(WindowSteps, _show_window, _learn_window)


class SampleSteps(NamedTuple):
    """CascadeTS."""

    counts: Counts
    alpha: float
    beta: float
    gammas: Any  # (2, L) work space
    rng: Any


@compiled
def _show_sampled(state: SampleSteps, _: Any, shown: Any) -> None:
    at = state.counts
    item_bounds.posterior(at.observed, at.clicked, state.alpha, state.beta, state.gammas)
    for i in range(2):
        for e in range(len(at.rows)):
            state.gammas[i, e] = state.rng.standard_gamma(state.gammas[i, e])
    item_bounds.share_list(at.rows, state.gammas, shown, at.scores)


steps(SampleSteps, _show_sampled, _learn_first)
