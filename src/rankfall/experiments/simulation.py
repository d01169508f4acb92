"""Simulations: a policy shows lists to a user and learns from the clicks, for one run or many."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeAlias

import numpy as np

from rankfall.arrays import IntArray, whole
from rankfall.errors import ProblemError, short
from rankfall.experiments.episodes import episode_for
from rankfall.experiments.episodes.changing import ChangingUser
from rankfall.experiments.episodes.in_context import UserInContext
from rankfall.experiments.episodes.play import Play
from rankfall.experiments.results import Run
from rankfall.policies.policy import PolicyLike
from rankfall.users import Environment, InContext

Seed: TypeAlias = int | np.random.SeedSequence
Progress: TypeAlias = Callable[[int], None]
"""Called now and then with the number of steps done since the last call."""

_RESPONSE_TIME = 0.05  # seconds between two calls of progress, about; also how soon Ctrl-C stops a simulation


def default_checkpoints(steps: int, count: int = 100) -> IntArray:
    """About ``count`` evenly spaced steps, the last one included.

    >>> default_checkpoints(1000, 4)
    array([ 250,  500,  750, 1000])
    """
    return np.unique(np.linspace(0, steps, min(count, steps) + 1).round().astype(np.int64)[1:])


def simulate(
    policy: PolicyLike,
    user: Environment,
    steps: int,
    k: int,
    seed: Seed = 0,
    checkpoints: Iterable[int] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Show ``steps`` lists of ``k`` items to the user, learn from the clicks on each, and record the regret.

    The policy learns, so it is changed. The same seed gives the same run to the bit. Two policies simulated with the
    same seed see the same coins: at each step the user decides on position i by the same number for both.

    A user who changes has a method ``at(step)``, which is called before each list and gives the user as they are after
    so many lists. Regret is measured against the best list of that step, and ``best`` of the run is the mean over its
    steps. One who comes in different contexts is a :class:`rankfall.users.InContext`.

    Parameters
    ----------
    policy : it is updated; pass a copy to keep it as it is.
    user : any :class:`Environment`.
    steps : how many lists are shown.
    k : positions in a list.
    seed : a number or a ``SeedSequence``; coins and policy get independent streams of it.
    checkpoints : steps at which regret and clicks are recorded; by default a hundred, evenly spaced.
    progress : called now and then with the number of steps done since the last call.
    """
    if not isinstance(policy, PolicyLike):
        raise ProblemError(f"policy must be a policy, such as CascadeHybrid(catalog), got {short(policy)}")
    if not isinstance(user, Environment):
        raise ProblemError(f"user must be an environment, such as a CascadeUser, got {short(user)}")
    steps = whole("steps", steps, ProblemError, low=1)
    k = whole("k", k, ProblemError, low=1, high=policy.n_items)
    if policy.n_items != user.n_items:
        raise ProblemError(
            f"the policy ranks {policy.n_items} items and the user knows {user.n_items}; both need the same"
        )
    marks = default_checkpoints(steps) if checkpoints is None else _marks(checkpoints, steps)
    coin_rng, policy_rng = streams(seed)
    play: Play
    changing: ChangingUser | UserInContext | None
    if isinstance(user, InContext):
        play = changing = UserInContext(policy, user, k, policy_rng)
    elif hasattr(user, "at"):
        play = changing = ChangingUser(policy, user.at, k, policy_rng)
    else:
        changing, best = None, user.reward(user.best(k))
        play = episode_for(policy, user, k, best, policy_rng)
    step, chunk = 0, 16
    recorded, last = np.empty((len(marks), 4)), np.zeros(4)
    while step < marks[-1]:  # coins come in one stream, so the size of a chunk changes nothing but the speed
        # What changing users could have earned is summed by checkpoints: sums of other parts have other last bits.
        end = marks[-1] if changing is None else marks[np.searchsorted(marks, step, side="right")]
        n = min(chunk, int(end) - step)
        totals = np.empty((n + 1, 4))
        totals[0] = last
        began = time.perf_counter()
        play(coin_rng.random((n, k)), totals)
        if n == chunk:
            chunk = _next_chunk(chunk, time.perf_counter() - began)
        here = slice(*np.searchsorted(marks, (step, step + n), side="right"))
        recorded[here], last = totals[marks[here] - step], totals[n]
        step += n
        if progress is not None:
            progress(n)
    regret, clicks, touched, covered = np.ascontiguousarray(recorded.T)
    if changing is not None:
        best = changing.earnable / steps
    return Run(marks, regret, clicks.astype(np.int64), touched, covered, best)


def _next_chunk(chunk: int, seconds: float) -> int:
    """How many steps to play in one call, after a call of ``chunk`` steps took so many seconds."""
    if seconds > _RESPONSE_TIME:
        return max(1, chunk // 2)
    return min(4096, 2 * chunk) if seconds < _RESPONSE_TIME / 2 else chunk


def simulate_many(
    policy: PolicyLike,
    users: Sequence[Environment],
    steps: int,
    k: int,
    *,
    repeats: int = 1,
    seed: int = 0,
    checkpoints: Iterable[int] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    first_user: int = 0,
    first_repeat: int = 0,
) -> list[Run]:
    """Simulate every user ``repeats`` times, each time with a fresh copy of ``policy``, on all cores.

    Runs come back in order: user by user, repeat by repeat. The random numbers of run (u, r) depend on ``seed``, u and
    r only: not on the number of workers, and not on the policy, so that policies simulated with the same seed can be
    compared run by run. Compiled policies run side by side in threads; policies in plain Python gain nothing from more
    than one.

    Parameters
    ----------
    policy : copied for each run; never changed.
    workers : threads; by default one for each core.
    progress : as in :func:`simulate`; called from the threads, one at a time.
    first_user, first_repeat : the numbers of the first user and the first repeat, to simulate a part of a larger
        experiment: ``simulate_many(policy, users[5:8], ..., first_user=5)`` gives the runs of these three users.
    """
    repeats = whole("repeats", repeats, ProblemError, low=1)
    seed = whole("seed", seed, ProblemError, low=0)
    first_user = whole("first_user", first_user, ProblemError, low=0)
    first_repeat = whole("first_repeat", first_repeat, ProblemError, low=0)
    threads = cores() if workers is None else whole("workers", workers, ProblemError, low=1)
    marks = None if checkpoints is None else list(checkpoints)
    stopped, lock = threading.Event(), threading.Lock()

    def tick(n: int) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        if progress is not None:
            with lock:
                progress(n)

    def one(user: Environment, u: int, r: int) -> Run:
        return simulate(copy.deepcopy(policy), user, steps, k, run_seed(seed, u, r), marks, tick)

    with ThreadPoolExecutor(threads) as pool:
        try:
            futures = [
                pool.submit(one, user, u, r)
                for u, user in enumerate(users, first_user)
                for r in range(first_repeat, first_repeat + repeats)
            ]
            pending = set(futures)
            while pending:  # with a timeout: a signal may be delivered to another thread and not wake this one
                done, pending = wait(pending, timeout=_RESPONSE_TIME, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            return [future.result() for future in futures]
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def run_seed(seed: int, user: int, repeat: int) -> np.random.SeedSequence:
    """The seed of one run of an experiment; :func:`simulate` with it gives what :func:`simulate_many` gives."""
    return np.random.SeedSequence(seed, spawn_key=(user, repeat))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def streams(seed: Seed) -> tuple[np.random.Generator, np.random.Generator]:
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
