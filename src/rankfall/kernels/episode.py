"""Policy and simulated user together, many steps in one call, without the interpreter."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels import greedy, shortlists
from rankfall.kernels.cascade import UserArrays, attraction, covered, first_click, some_click
from rankfall.kernels.epochs import SCORED, Shortlists
from rankfall.kernels.item_scores import Items
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import compiled, inner, leaf
from rankfall.kernels.ridge import State, learn


class Scene(NamedTuple):
    """Work space for a list of k over n columns, and for what attracts the user in it."""

    shown: Any  # (k)
    features: Any  # (k, n)
    scores: Any  # (k)
    widths: Any  # (k)
    alpha: Any  # (k)
    rewards: Any  # (k) zeros but while learning
    topics: Any  # as many as the user knows
    gain: Any  # (n)


@compiled
def scene(k: int, columns: int, topics: int) -> Scene:
    """Work space for lists of k items."""
    shown, features = np.empty(k, dtype=np.int64), np.zeros((k, columns))
    scores, widths, alpha, rewards = np.empty(k), np.empty(k), np.empty(k), np.zeros(k)
    return Scene(shown, features, scores, widths, alpha, rewards, np.empty(topics), np.empty(columns))


@leaf
def make_list(
    room: greedy.Room,
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    lists: Shortlists,
    pruning: bool,
    at: Scene,
) -> None:
    """Show the list by mean or upper confidence bound, out of all items."""
    if not pruning or not shortlists.rank(
        items, vectors, state, gamma, lists, at.shown, at.features, at.scores, at.widths
    ):
        at.shown[:] = -1
        lists.counts[SCORED] += greedy.rank_in(
            room, items, vectors, at.shown[:0], state, gamma, lists.bounds, at.shown, at.features, at.scores, at.widths
        )


@leaf
def largest_shown(items: Items, features: Any, before: float) -> float:
    """The largest feature shown so far, where features may grow: where relevance diminishes."""
    largest = before
    if items.relevance_diminishes:
        for i in range(features.shape[0]):
            for j in range(features.shape[1]):
                largest = max(largest, abs(features[i, j]))
    return largest


@inner
def click_in(user: UserArrays, coins: Any, best: float, before: Any, after: Any, at: Scene) -> int:
    """Where the user clicks in the list that is shown, or -1; the sums are carried on from ``before`` to ``after``."""
    attraction(at.shown, user, at.topics, at.alpha)
    click = first_click(at.alpha, coins)
    touched, weighted = covered(at.topics)
    after[0] = before[0] + (best - some_click(at.alpha))
    after[1] = before[1] + (click >= 0)
    after[2] = before[2] + touched
    after[3] = before[3] + weighted
    return click


@leaf
def click_and_learn(
    state: State, whole: bool, user: UserArrays, coins: Any, best: float, before: Any, after: Any, at: Scene
) -> None:
    """The user clicks in the list that is shown, and the policy learns; see :func:`episode`."""
    click = click_in(user, coins, best, before, after, at)
    k = len(at.shown)
    if click < 0:
        learn(state, at.features, at.rewards, k, at.gain)
    else:
        at.rewards[click] = 1.0
        learn(state, at.features, at.rewards, k if whole else click + 1, at.gain)
        at.rewards[click] = 0.0


@inner
def _steps(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    lists: Shortlists,
    pruning: bool,
    whole: bool,
    largest: float,
    user: UserArrays,
    coins: Any,
    drawn: Any,
    best: float,
    totals: Any,
    at: Scene,
    room: greedy.Room,
) -> float:
    """The steps of :func:`episode`: they allocate nothing, and so need no reference counts."""
    extreme = 0.0
    for step in range(len(coins)):
        if len(drawn) > 0 and drawn[step, 0] >= 0:
            for position in range(len(at.shown)):
                at.shown[position] = drawn[step, position]
            lists.counts[SCORED] += greedy.describe(items, state, at.shown, at.features, at.scores, at.widths)
        else:
            make_list(room, items, vectors, state, gamma, lists, pruning, at)
        extreme = largest_shown(items, at.features, extreme)
        if not extreme <= largest:
            return extreme
        click_and_learn(state, whole, user, coins[step], best, totals[step], totals[step + 1], at)
    return extreme


@compiled
def episode(
    items: Items,
    vectors: ItemVectors,
    state: State,
    gamma: float,
    lists: Shortlists,
    pruning: bool,
    whole: bool,
    largest: float,
    user: UserArrays,
    coins: Any,
    drawn: Any,
    best: float,
    totals: Any,
) -> float:
    """Show, click and learn, one step for each row of ``coins`` (steps, k).

    ``drawn`` (steps, k), or (0, k) for none, holds lists to show instead of the policy's; a row of -1 is none.
    Fills ``totals`` (steps + 1, 4) with sums from its first row on: the regret, the lists clicked, the topics touched,
    and the topics covered, by weight.
    Returns the largest feature shown where features may grow; stops before learning from one beyond ``largest``.
    What is below the click is learned from only if the ``whole`` list counts as seen.
    """
    k, n = coins.shape[1], len(state.weights)
    at, room = scene(k, n, len(user.theta)), greedy.room_for_kernels(items, vectors, n, k)
    return _steps(
        items, vectors, state, gamma, lists, pruning, whole, largest, user, coins, drawn, best, totals, at, room
    )
