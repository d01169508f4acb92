"""A check that anyone can run on an environment of their own."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.errors import ContractError
from rankfall.users.environment import Environment

_STEPS = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)  # at which users who change are checked


def check_environment(environment: Environment, k: int = 3, trials: int = 20_000) -> None:
    """Raise :class:`ContractError` if the environment breaks the contract, with everything it breaks in words.

    Among others, lists must earn what ``reward`` says, within five standard errors over ``trials`` lists. What a list
    earns is ``earned(items, coins)`` or, where there is no such method, 1 for a list that is clicked. Environments with
    ``at(step)`` are checked as they are after 0, 1, 10, 100, ... and a million lists.
    """
    broken: list[str] = []
    try:
        checked: list[Environment] = []
        for step in _STEPS if hasattr(environment, "at") else (0,):
            now = environment.at(step) if hasattr(environment, "at") else environment
            if hasattr(environment, "at") and environment.at(step) is not now:
                broken.append(f"at({step}) must give the same object when it is called twice in a row")
            if now.n_items != environment.n_items:
                broken.append(f"at({step}) knows {now.n_items} items instead of {environment.n_items}")
            elif not any(now is one for one in checked):
                checked.append(now)
                _check_environment(now, k, trials, broken)
    except Exception as problem:
        broken.append(f"raised {type(problem).__name__}: {problem}")
    if broken:
        name = type(environment).__name__
        raise ContractError(f"{name} breaks the environment contract:\n- " + "\n- ".join(broken))


def _check_environment(environment: Environment, k: int, trials: int, broken: list[str]) -> None:
    n = environment.n_items
    rng = np.random.default_rng(5)
    best = np.asarray(environment.best(k))
    if best.shape != (k,) or len(set(best.tolist())) < k or best.min() < 0 or best.max() >= n:
        broken.append(f"best({k}) must be {k} different rows from 0 to {n - 1}, got {best.tolist()}")
        return
    for items in (best, rng.permutation(n)[:k]):
        reward = environment.reward(items)
        if not (np.isfinite(reward) and reward == environment.reward(items)):
            broken.append(f"reward({items.tolist()}) must be the same finite number each time, got {reward}")
            continue
        coins = rng.random((trials, k))
        clicks = [environment.click(items, row) for row in coins]
        if clicks[:100] != [environment.click(items, row) for row in coins[:100]]:
            broken.append(f"click({items.tolist()}, coins) must depend on the coins alone")
        wrong = [c for c in clicks if not _is_click(c, k)]
        if wrong:
            broken.append(
                f"click must be None, a tuple of ascending positions, or a position from 0 to {k - 1}, got {wrong[0]!r}"
            )
        _check_reward(environment, items, coins, clicks, broken)


def _is_click(click: Any, k: int) -> bool:
    """Whether this is None, a position, or a tuple of ascending positions."""
    if click is None:
        return True
    several = click if isinstance(click, tuple) else (click,)
    valid = all(isinstance(c, int | np.integer) and not isinstance(c, bool) and 0 <= c < k for c in several)
    return valid and all(a < b for a, b in itertools.pairwise(several))


def _check_reward(
    environment: Environment, items: IntArray, coins: FloatArray, clicks: list[Any], broken: list[str]
) -> None:
    """Lists must earn what ``reward`` says."""
    trials, reward = len(coins), environment.reward(items)
    if hasattr(environment, "earned"):
        earned = np.array([environment.earned(items, row) for row in coins])
        mean, variance, what = earned.mean(), earned.var(), "was earned on average in {trials} lists"
    else:
        mean = np.mean([c is not None and c != () for c in clicks])
        variance, what = reward * (1 - reward), "of {trials} lists were clicked"
    if abs(mean - reward) > 5 * math.sqrt(max(variance, 1 / trials) / trials):
        broken.append(f"reward({items.tolist()}) is {reward:.4f}, and {mean:.4f} " + what.format(trials=trials))
