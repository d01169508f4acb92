"""Policy meets user. Nowhere else do the two know of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from rankfall.arrays import IntArray, whole
from rankfall.environment import Environment
from rankfall.errors import ProblemError
from rankfall.policies.ranking import Policy
from rankfall.results import Run

_CHUNK = 1024  # steps whose coins are drawn at once; any size gives the same coins


def default_checkpoints(steps: int, count: int = 100) -> IntArray:
    """About ``count`` evenly spaced steps, the last one included.

    >>> default_checkpoints(1000, 4)
    array([ 250,  500,  750, 1000])
    """
    return np.unique(np.linspace(0, steps, min(count, steps) + 1).round().astype(np.int64)[1:])


def simulate(
    policy: Policy,
    user: Environment,
    steps: int,
    k: int,
    seed: int | np.random.SeedSequence = 0,
    checkpoints: Iterable[int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Show ``steps`` lists of ``k`` items to the user, learn from each answer, and keep count.

    The policy learns, so it is changed. The same seed gives the same run to the bit. Two policies simulated with the
    same seed see the same coins: in each round the user decides on position i by the same number for both.

    Parameters
    ----------
    seed : also a ``SeedSequence``, from which independent streams for coins and policy are spawned.
    checkpoints : steps at which regret and clicks are recorded; by default a hundred, evenly spaced.
    progress : called now and then with the number of steps done since the last call.
    """
    steps = whole("steps", steps, ProblemError, low=1)
    k = whole("k", k, ProblemError, low=1, high=policy.n_items)
    if policy.n_items != user.n_items:
        raise ProblemError(
            f"the policy ranks {policy.n_items} items and the user knows {user.n_items}; both need the same"
        )
    marks = default_checkpoints(steps) if checkpoints is None else _marks(checkpoints, steps)
    coin_rng, policy_rng = streams(seed)
    best = user.reward(user.best(k))
    regret, clicks = 0.0, 0
    regrets, click_counts = np.empty(len(marks)), np.empty(len(marks), dtype=np.int64)
    step = 0
    for mark_index, mark in enumerate(marks):
        while step < mark:
            n = min(_CHUNK, mark - step)
            for coins in coin_rng.random((n, k)):
                ranking = policy.rank(k, rng=policy_rng)
                click = user.click(ranking.items, coins)
                policy.update(ranking, click)
                regret += best - user.reward(ranking.items)
                clicks += click is not None
            step += n
            if progress is not None:
                progress(n)
        regrets[mark_index], click_counts[mark_index] = regret, clicks
    return Run(marks, regrets, click_counts, best)


def streams(seed: int | np.random.SeedSequence) -> tuple[np.random.Generator, np.random.Generator]:
    """Two independent random streams: the user's coins, and the policy's own randomness."""
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(whole("seed", seed, ProblemError, low=0))
    # Children by key, not by spawn(): spawning counts, and a sequence used twice must give the same streams twice.
    coins, own = (
        np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, child), pool_size=seed.pool_size)
        for child in (0, 1)
    )
    return np.random.default_rng(coins), np.random.default_rng(own)


def _marks(checkpoints: Iterable[int], steps: int) -> IntArray:
    marks = sorted({whole("a checkpoint", mark, ProblemError, low=1, high=steps) for mark in checkpoints})
    if not marks:
        raise ProblemError(f"checkpoints must be steps from 1 to {steps}, got none")
    return np.array(marks, dtype=np.int64)
