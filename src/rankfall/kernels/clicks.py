"""Clicks and rewards of a user who finds each item as attractive wherever it stands, under any click model.

The chain of ``rankfall.users.click_models``, to the bit what ``rankfall.users.chances`` gives.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.jit import entry, leaf

ANY, CLICKS, SATISFIED = 0, 1, 2


class ClickArrays(NamedTuple):
    """How a user goes through lists of k of L items."""

    attraction: Any  # (L)
    satisfaction: Any  # (L) times termination, how likely a click on the item satisfies
    examination: Any  # (k, m) by position and last click: none, the first position, ...; m is 1 if it does not matter
    termination: Any  # (k)
    after_none: float  # probability of going on without a click
    after_click: float  # and after a click that does not satisfy


def click_arrays(
    attraction: Any,
    examination: Any,
    termination: Any,
    satisfaction: Any = None,
    after_none: float = 1.0,
    after_click: float = 1.0,
) -> ClickArrays:
    """Laid out for the kernels; ``examination`` may be by position only, and ``satisfaction`` None for all alike."""
    by_last = np.ascontiguousarray(examination, dtype=np.float64).reshape(len(examination), -1)
    ends = np.ones(len(attraction)) if satisfaction is None else np.array(satisfaction)
    return ClickArrays(
        np.array(attraction), ends, by_last, np.array(termination), float(after_none), float(after_click)
    )


@leaf
def clicks(user: ClickArrays, items: Any, coins: Any, clicked: Any) -> int:
    """Decide on every position of a list by its coin: ``clicked`` (k) gets 1.0 or 0.0. How many clicks there were."""
    count = 0
    last = 0
    reading = True
    for i in range(len(items)):
        clicked[i] = 0.0
        if not reading:
            continue
        item = items[i]
        p = user.examination[i, last] * user.attraction[item]
        if coins[i] < p:
            clicked[i] = 1.0
            count += 1
            satisfied = user.termination[i] * user.satisfaction[item] * p
            reading = coins[i] >= satisfied + (1.0 - user.after_click) * (p - satisfied)
            if user.examination.shape[1] > 1:
                last = i + 1
        else:
            reading = coins[i] < 1.0 - (1.0 - user.after_none) * (1.0 - p)
    return count


@leaf
def reward(user: ClickArrays, items: Any, kind: int, reached: Any) -> float:
    """Expected reward of a list: ``kind`` is ANY, CLICKS or SATISFIED; ``reached`` (k + 1) is work space."""
    if kind == CLICKS and user.examination.shape[1] > 1:
        return _clicks_by_last(user, items, reached)
    left = 1.0
    total = 0.0
    gone = 0.0
    for i in range(len(items)):
        item = items[i]
        p = user.examination[i, 0] * user.attraction[item]
        satisfied = p
        if kind != ANY:
            satisfied = user.termination[i] * user.satisfaction[item] * p
        ended = satisfied + (1.0 - user.after_click) * (p - satisfied)
        passed = 1.0 - (1.0 - user.after_none) * (1.0 - p)
        total += left * p
        gone += left * ((ended - satisfied) + (1.0 - passed))
        left *= 1.0 - ended - (1.0 - passed)
    return total if kind == CLICKS else 1.0 - (left + gone)


@leaf
def _clicks_by_last(user: ClickArrays, items: Any, reached: Any) -> float:
    """Expected number of clicks where nobody leaves, and examination depends on the last click."""
    total = 0.0
    reached[0] = 1.0
    for i in range(len(items)):
        here = 0.0
        for last in range(i + 1):
            p = user.examination[i, last] * user.attraction[items[i]]
            here += reached[last] * p
            reached[last] *= 1.0 - p
        reached[i + 1] = here
        total += here
    return total


@entry
def simulated(user: ClickArrays, lists: Any, coins: Any, kind: int, clicked: Any, rewards: Any, reached: Any) -> None:
    """Clicks (lists, k) and expected rewards (lists) of many lists, with a row of coins for each."""
    for n in range(len(lists)):
        clicks(user, lists[n], coins[n], clicked[n])
        rewards[n] = reward(user, lists[n], kind, reached)
