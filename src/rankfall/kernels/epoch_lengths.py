"""When an epoch ends, and whether the next one has shortlists: what they cost against what they save.

A model that has seen little moves so fast that shortlists do not pay; its lists are left to the greedy ranker. They are
tried once an epoch has gone on for a number of lists, WAIT. If the epoch they are tried in has not paid by its end, or
after as many lists, they are given up, and WAIT is doubled; if it has, WAIT is halved. That decides about time alone:
the lists are the same.
"""

from typing import Any

import numpy as np

from rankfall.kernels.epochs import (
    BEFORE,
    BUILT,
    ENTRIES,
    EPOCH,
    EPOCHS,
    LISTS,
    MAX_DRIFT,
    NODES,
    PLAIN,
    PLAINLY,
    PREPARED,
    SHORT,
    VISITED,
    WAIT,
    Epoch,
    Nodes,
)
from rankfall.kernels.item_scores import Items
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import bounding, inner, leaf
from rankfall.kernels.ridge import REFRESHES, State

LONGEST_WAIT = 32
ANEW, MAKING, VISITING = 5, 2, 5
"""What it takes to bound all items for another model, to make a shortlist once they are bounded, and to go through one
that holds all of them, in the time that it takes to bound them for one more position; measured with 1,000 items."""


@bounding
def _drift(gram: Any, now: Any, then: Any) -> float:
    """``|w - w0|`` in the norm of O0, rounded up."""
    total = 0.0
    for i in range(len(now)):
        inside = 0.0
        for j in range(len(now)):
            inside += gram[i, j] * (now[j] - then[j])
        total += inside * (now[i] - then[i])
    return np.sqrt(max(total, 0.0)) * (1.0 + 1e-6)


@leaf
def position_cost(items: Items, vectors: ItemVectors) -> int:
    """What one more position costs the greedy ranker: nothing, where one bound serves for all of them."""
    if not (items.coverage_diminishes or items.relevance_diminishes):
        return 0
    return ANEW if vectors.diminishes else 1


@leaf
def _paid(counts: Any, position: int, n_items: int, k: int) -> bool:
    """Whether the epoch has cost no more than its lists, of ``k`` items, would have cost the greedy ranker."""
    here = ANEW + counts[NODES] * (position + MAKING)
    there = counts[LISTS] * (ANEW + (k - 1) * position)
    return here * n_items + VISITING * (counts[VISITED] - counts[BEFORE]) <= there * n_items


@inner
def start_epoch(state: State, epoch: Epoch, nodes: Nodes, counts: Any, plainly: bool) -> None:
    """Copy the model and forget every shortlist."""
    n = len(state.weights)
    for i in range(n):
        epoch.weights[i] = state.weights[i]
        for j in range(n):
            epoch.covariance[i, j] = state.covariance[i, j]
            epoch.gram[i, j] = state.gram[i, j]
    if not plainly:
        nodes.table[:] = -1
        nodes.guess[:] = -1
    counts[NODES], counts[ENTRIES], counts[EPOCH], counts[LISTS] = 0, 0, state.counts[REFRESHES], 0
    counts[BUILT], counts[PLAINLY], counts[PREPARED], counts[BEFORE] = -1, plainly, 0, counts[VISITED]
    counts[EPOCHS] += 1


@leaf
def begin_list(
    state: State, epoch: Epoch, nodes: Nodes, counts: Any, position: int, n_items: int, k: int
) -> tuple[float, bool]:
    """Start a new epoch if it is time, and count a list of ``k`` out of so many items; a ``position`` costs so much.

    Returns how far the model has moved in the epoch, and whether that is new. ``counts[PLAINLY]`` then says whether the
    list is left to the greedy ranker.
    """
    drift = np.inf
    if counts[EPOCH] == state.counts[REFRESHES]:
        drift = _drift(epoch.gram, state.weights, epoch.weights)
    ended, waited = not drift <= MAX_DRIFT, counts[LISTS] >= counts[WAIT]
    if counts[PLAINLY] != 0:
        fresh, plainly = ended or waited, not waited
    else:
        plainly = (ended or waited) and not _paid(counts, position, n_items, k)
        fresh = ended or plainly
        if plainly:
            counts[WAIT] = min(2 * counts[WAIT], LONGEST_WAIT)
        elif ended:
            counts[WAIT] = max(counts[WAIT] // 2, SHORT)
    if fresh:
        start_epoch(state, epoch, nodes, counts, plainly)
        drift = 0.0
    counts[LISTS] += 1
    counts[PLAIN] += counts[PLAINLY]
    counts[BUILT] = -1
    return drift, fresh


@inner
def leave(counts: Any, for_some_lists: bool) -> None:
    """The list is left to the greedy ranker after all, and so are some that follow, if shortlists would be too long."""
    if for_some_lists:
        counts[PLAINLY], counts[LISTS] = 1, 0
        counts[WAIT] = min(2 * counts[WAIT], LONGEST_WAIT)
    counts[PREPARED] = 0
    counts[PLAIN] += 1
