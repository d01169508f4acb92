"""The best list for a user who finds each item as attractive wherever it stands."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.users.click_models import Chain, Reward
from rankfall.users.exchanges import improve_by_exchanges

Rewards = Callable[[IntArray], FloatArray]
"""Expected reward (lists,) of each list (lists, k)."""

_LARGEST_SEARCH = 400_000


def best_list(
    top: IntArray, alpha: FloatArray, satisfaction: FloatArray | None, chain: Chain, reward: Reward, rewards: Rewards
) -> IntArray:
    """The list that regret is measured against.

    - Where items differ in attraction only and a click ends no more further up than further down: the most attractive
      items, the more attractive where position matters more (examination, termination, or their product, by reward).
    - Where users leave after each item with a probability of its own, the optimum: :func:`in_best_order`.
    - Where examination depends on the last click and clicks are counted: the optimum for lists of up to eight items, by
      :func:`highest_and_lowest`; longer ones are improved by single exchanges until none helps.
    - Clicks counted in a dependent click model with a termination that falls somewhere: there an attractive item may
      end too much; a list is improved by single exchanges as well. Neither need be the optimum.

    Parameters
    ----------
    top : (k,) the most attractive items, the most attractive first; of equals the lowest row.
    alpha, satisfaction : (items,) attraction, and how likely a click satisfies; None if all items do alike.
    chain : examination, termination and persistence at the k positions.
    """
    k = len(top)
    if satisfaction is not None and reward != "any":
        satisfied = satisfaction * alpha
        leaving = (1.0 - chain.after_click) * (alpha - satisfied) + (1.0 - chain.after_none) * (1.0 - alpha)
        return in_best_order(alpha if reward == "clicks" else satisfied, 1.0 - satisfied - leaving, k)
    if reward == "clicks" and len(chain.examination[-1]) > 1:
        if math.factorial(k + 1) <= _LARGEST_SEARCH:
            return highest_and_lowest(np.argsort(-alpha, kind="stable"), k, rewards)
        return improve_by_exchanges(top, len(alpha), rewards)
    if reward == "clicks" and any(a > b for a, b in itertools.pairwise(chain.termination)):
        return improve_by_exchanges(top, len(alpha), rewards)
    weight = np.array([columns[0] for columns in chain.examination])
    if reward == "satisfied":
        weight = weight * chain.termination
    items = np.empty(k, dtype=np.int64)
    items[np.argsort(-weight, kind="stable")] = top
    return items


def in_best_order(gain: FloatArray, stays: FloatArray, k: int) -> IntArray:
    """The k of n items, in the order, with the highest ``g_1 + q_1 (g_2 + q_2 (g_3 + ...))``.

    Of two neighbours, it is better to have the one with the higher ``g / (1 - q)`` above; so the best list is in that
    order, and which items are in it is found from the end of the order backwards: with the best r of those further down
    known, an item either stands above r - 1 of them or is left out.

    Parameters
    ----------
    gain : (n,) g, what an item earns where it is reached.
    stays : (n,) q, how likely the user goes on from there.

    >>> in_best_order(np.array([0.5, 0.4, 0.3]), np.array([0.1, 0.9, 1.0]), 2)
    array([1, 0])
    """
    ends = 1.0 - stays
    index = np.divide(gain, ends, out=np.where(gain > 0, np.inf, -1.0), where=ends > 0)
    order = np.lexsort((-gain, -index.round(12)))  # of equals but for rounding, the one that earns more, the lowest row
    n = len(order)
    best = np.full((n + 1, k + 1), -np.inf)  # of r items from the m-th of the order on
    best[:, 0] = 0.0
    taken = np.zeros((n, k + 1), dtype=bool)
    for m in range(n - 1, -1, -1):
        most = min(k, n - m)
        with_it = gain[order[m]] + stays[order[m]] * best[m + 1, :most]
        taken[m, 1 : most + 1] = with_it >= best[m + 1, 1 : most + 1]
        best[m, 1 : most + 1] = np.maximum(with_it, best[m + 1, 1 : most + 1])
    items: list[int] = []
    for m, item in enumerate(order.tolist()):
        if taken[m, k - len(items)]:
            items.append(item)
    return np.array(items, dtype=np.int64)


def highest_and_lowest(order: IntArray, k: int, rewards: Rewards) -> IntArray:
    """The best list where the reward is a straight line in the attraction of each item, all others given.

    In such a list no item can be exchanged for one that attracts more where that is better, nor for one that attracts
    less where that is: it is made of the t most attractive items and the k - t least attractive ones, for some t. All
    orders of all of those are tried.

    Parameters
    ----------
    order : (n,) all items, the most attractive first.
    """
    places = np.array(list(itertools.permutations(range(k))), dtype=np.int64)
    best, highest = order[:k], -np.inf
    for t in range(k, -1, -1) if len(order) > k else [k]:
        lists = np.concatenate([order[:t], order[len(order) - (k - t) :]])[places]
        found = rewards(lists)
        if found.max() > highest:
            best, highest = lists[found.argmax()], found.max()
    return best
