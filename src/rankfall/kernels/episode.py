"""Policy and simulated user together, many steps in one call, without the interpreter."""

from typing import Any

import numpy as np

from rankfall.kernels import greedy, shortlists
from rankfall.kernels.cascade import User, attraction, first_click, some_click
from rankfall.kernels.items import Items
from rankfall.kernels.jit import compiled
from rankfall.kernels.ridge import State, learn
from rankfall.kernels.shortlists import SCORED, Groups, Shortlists


@compiled
def episode(
    items: Items,
    state: State,
    gamma: float,
    groups: Groups,
    lists: Shortlists,
    pruning: bool,
    largest: float,
    user: User,
    coins: Any,
    best: float,
    regret: float,
) -> tuple[float, int, float]:
    """Show, click and learn, one step for each row of ``coins`` (steps, k).

    Returns the regret, which starts at ``regret``; the lists clicked; and the largest feature shown. It stops before
    learning from a list with a feature beyond ``largest``.
    """
    steps, k = coins.shape
    everything = np.arange(len(items.dense))
    shown = np.empty(k, dtype=np.int64)
    features = np.zeros((k, len(state.weights)))
    means, widths, alpha = np.empty(k), np.empty(k), np.empty(k)
    rewards = np.zeros(k)
    gain = np.empty(len(state.weights))
    topics = np.empty(len(user.theta))
    clicks = 0
    extreme = 0.0
    for step in range(steps):
        if pruning:
            shortlists.rank(items, state, gamma, groups, lists, shown, features, means, widths)
        else:
            lists.counters[SCORED] += greedy.rank(items, state, gamma, everything, shown, features, means, widths)
        if items.relevance_diminishes:  # only there may features grow
            for i in range(k):
                for j in range(len(state.weights)):
                    extreme = max(extreme, abs(features[i, j]))
            if not extreme <= largest:
                return regret, clicks, extreme
        attraction(shown, user, topics, alpha)
        click = first_click(alpha, coins[step])
        regret += best - some_click(alpha)
        clicks += click >= 0
        if click < 0:
            learn(state, features, rewards, k, gain)
        else:
            rewards[click] = 1.0
            learn(state, features, rewards, click + 1, gain)
            rewards[click] = 0.0
    return regret, clicks, extreme
