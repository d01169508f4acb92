"""Policy and simulated user together, many steps in one call, without the interpreter."""

from typing import Any

import numpy as np

from rankfall.kernels import greedy, shortlists
from rankfall.kernels.cascade import User, attraction, covered, first_click, some_click
from rankfall.kernels.groups import Groups
from rankfall.kernels.items import Items
from rankfall.kernels.jit import compiled
from rankfall.kernels.ridge import State, learn
from rankfall.kernels.shortlists import SCORED, Shortlists


@compiled
def episode(
    items: Items,
    state: State,
    gamma: float,
    groups: Groups,
    lists: Shortlists,
    pruning: bool,
    whole: bool,
    largest: float,
    user: User,
    coins: Any,
    drawn: Any,
    best: float,
    totals: Any,
) -> float:
    """Show, click and learn, one step for each row of ``coins`` (steps, k).

    ``drawn`` (steps, k), or (0, k) for none, holds lists to show instead of the policy's; a row of -1 is none.
    Adds to ``totals`` (4): the regret, the lists clicked, the topics touched, and the topics covered, by weight.
    Returns the largest feature shown where features may grow; stops before learning from one beyond ``largest``.
    What is below the click is learned from only if the ``whole`` list counts as seen.
    """
    steps, k = coins.shape
    everything = np.arange(len(items.dense))
    shown = np.empty(k, dtype=np.int64)
    features = np.zeros((k, len(state.weights)))
    means, widths, alpha = np.empty(k), np.empty(k), np.empty(k)
    rewards = np.zeros(k)
    gain = np.empty(len(state.weights))
    topics = np.empty(len(user.theta))
    extreme = 0.0
    for step in range(steps):
        if len(drawn) > 0 and drawn[step, 0] >= 0:
            shown[:] = drawn[step]
            lists.counters[SCORED] += greedy.rank(items, state, gamma, everything[:0], shown, features, means, widths)
        elif pruning:
            shortlists.rank(items, state, gamma, groups, lists, shown, features, means, widths)
        else:
            shown[:] = -1
            lists.counters[SCORED] += greedy.rank(items, state, gamma, everything, shown, features, means, widths)
        if items.relevance_diminishes:  # only there may features grow
            for i in range(k):
                for j in range(len(state.weights)):
                    extreme = max(extreme, abs(features[i, j]))
            if not extreme <= largest:
                return extreme
        attraction(shown, user, topics, alpha)
        click = first_click(alpha, coins[step])
        touched, weighted = covered(topics)
        totals[0] += best - some_click(alpha)
        totals[1] += click >= 0
        totals[2] += touched
        totals[3] += weighted
        if click < 0:
            learn(state, features, rewards, k, gain)
        else:
            rewards[click] = 1.0
            learn(state, features, rewards, k if whole else click + 1, gain)
            rewards[click] = 0.0
    return extreme
