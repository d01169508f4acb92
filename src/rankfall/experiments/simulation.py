"""Policy meets user. Nowhere else do the two know of each other."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeAlias

import numpy as np

from rankfall.arrays import FloatArray, IntArray, whole
from rankfall.errors import ProblemError, RankError
from rankfall.experiments.results import Run
from rankfall.kernels import thompson
from rankfall.kernels.episode import episode
from rankfall.policies.linear import LARGEST, LinearPolicy, check_size
from rankfall.policies.ranking import Policy
from rankfall.users import Cascade, CascadeUser, Environment, Hybrid, User

Seed: TypeAlias = int | np.random.SeedSequence
Progress: TypeAlias = Callable[[int], None]
"""Called now and then with the number of steps done since the last call."""

Play: TypeAlias = Callable[[FloatArray, FloatArray], None]
"""Plays one step for each row of coins (n, k), and adds to the totals (4): regret, clicks, topics touched, covered."""

_PATIENCE = 0.05  # seconds between two calls of progress, about; also how soon Ctrl-C is heard


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
    seed: Seed = 0,
    checkpoints: Iterable[int] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Show ``steps`` lists of ``k`` items to the user, learn from each answer, and keep count.

    The policy learns, so it is changed. The same seed gives the same run to the bit. Two policies simulated with the
    same seed see the same coins: in each round the user decides on position i by the same number for both.

    A user who changes has a method ``at(step)``, which is asked before each list for the user as they are after so many
    lists; regret is taken against the best list of that step, and ``best`` of the run is the mean over its steps.

    Parameters
    ----------
    seed : also a ``SeedSequence``; coins and policy get independent streams of it.
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
    play: Play
    if hasattr(user, "at"):
        play = changing = _Changing(policy, user, k, policy_rng)
    else:
        changing, best = None, user.reward(user.best(k))
        play = _play(policy, user, k, best, policy_rng)
    step, chunk = 0, 16
    totals, recorded = np.zeros(4), np.empty((4, len(marks)))
    for index, mark in enumerate(marks):
        while step < mark:
            n = min(chunk, int(mark) - step)
            began = time.perf_counter()
            play(coin_rng.random((n, k)), totals)
            if n == chunk:  # coins come in one stream, so the size of a chunk changes nothing but the pace
                took = time.perf_counter() - began
                chunk = (
                    min(4096, 2 * chunk) if took < _PATIENCE / 2 else max(1, chunk // 2) if took > _PATIENCE else chunk
                )
            step += n
            if progress is not None:
                progress(n)
        recorded[:, index] = totals
    regret, clicks, touched, covered = recorded
    if changing is not None:
        best = changing.earnable / steps
    return Run(marks, regret, clicks.astype(np.int64), touched, covered, best)


def _play(policy: Policy, user: Environment, k: int, best: float, rng: np.random.Generator) -> Play:
    """The fastest form of the interaction there is for these two; all of them do the same, to the bit."""
    # Not subclasses, which may differ; and the compiled loops forget nothing.
    if type(policy) is LinearPolicy and policy.forgetting is None and type(user) is CascadeUser:
        if policy.recipe.exploration == "thompson":
            return _drawing(policy, user, best, rng)
        return _compiled(policy, user, k, best, rng)
    if type(user) is CascadeUser:
        user = User(Hybrid.of_user(user), Cascade())
    if type(user) is User:
        return _remembering(policy, user, k, best, rng)
    return _stepwise(policy, user, k, best, rng)


def _stepwise(policy: Policy, user: Environment, k: int, best: float, rng: np.random.Generator) -> Play:
    """The interaction in its plain form, for any policy and any environment."""
    covered = getattr(user, "covered", None)

    def play(coins: FloatArray, totals: FloatArray) -> None:
        regret, clicks, touched, weighted = totals.tolist()
        if covered is None:
            touched = weighted = np.nan
        for flips in coins:
            ranking = policy.rank(k, rng=rng)
            items = ranking.items
            click = user.click(items, flips)
            policy.update(ranking, click)
            regret += best - user.reward(items)
            if click is not None and click != ():
                clicks += 1.0
            if covered is not None:
                topics, share = covered(items)
                touched += topics
                weighted += share
        totals[:] = regret, clicks, touched, weighted

    return play


def _remembering(policy: Policy, user: User, k: int, best: float, rng: np.random.Generator) -> Play:
    """The same for users who remember what they make of a list, so that coins are all that is new."""
    rank, update, shown_of, decide = policy.rank, policy.update, user.shown, user.decide

    def play(coins: FloatArray, totals: FloatArray) -> None:
        regret, clicks, touched, weighted = totals.tolist()
        for flips in coins.tolist():  # plain numbers: a tabular policy takes no longer than unpacking an array
            ranking = rank(k, rng=rng)
            shown = shown_of(ranking.items)
            click = decide(shown, flips)
            update(ranking, click)
            regret += best - shown.reward
            if click is not None and click != ():
                clicks += 1.0
            touched += shown.touched
            weighted += shown.covered
        totals[:] = regret, clicks, touched, weighted

    return play


class _Changing:
    """The interaction with a user who changes: each stretch in which they do not is played as for any other user."""

    def __init__(self, policy: Policy, user: Environment, k: int, rng: np.random.Generator) -> None:
        self._at: Callable[[int], Environment] = user.at  # type: ignore[attr-defined]
        self._policy, self._k, self._rng = policy, k, rng
        self._step = 0
        self._now: Environment | None = None
        self.earnable = 0.0

    def __call__(self, coins: FloatArray, totals: FloatArray) -> None:
        begin = 0
        for i in range(len(coins)):
            now = self._at(self._step + i)
            if now is not self._now:
                if i > begin:
                    self._stretch(coins[begin:i], totals)
                begin, self._now = i, now
                self._best = now.reward(now.best(self._k))
                self._play = _play(self._policy, now, self._k, self._best, self._rng)
        self._stretch(coins[begin:], totals)
        self._step += len(coins)

    def _stretch(self, coins: FloatArray, totals: FloatArray) -> None:
        self._play(coins, totals)
        self.earnable += self._best * len(coins)


def _compiled(policy: LinearPolicy, user: CascadeUser, k: int, best: float, rng: np.random.Generator) -> Play:
    """The same interaction as one compiled loop, to the bit; it runs without the interpreter.

    What epsilon leaves to chance is drawn before, as :meth:`LinearPolicy.rank` draws it.
    """
    chance, everything = policy.recipe.exploration == "epsilon", np.arange(policy.n_items)

    def play(coins: FloatArray, totals: FloatArray) -> None:
        drawn = np.full((len(coins) if chance else 0, k), -1)
        for items in drawn:
            if rng.random() < policy.epsilon:
                items[:] = rng.permutation(everything)[:k]
        whole_list = policy.recipe.feedback == "all"
        largest = episode(
            *policy.compiled(k), policy.pruning, whole_list, LARGEST, user.compiled, coins, drawn, best, totals
        )
        check_size(largest, RankError)

    return play


def _drawing(policy: LinearPolicy, user: CascadeUser, best: float, rng: np.random.Generator) -> Play:
    """The same for Thompson sampling: a row of normal numbers for each step, as :meth:`LinearPolicy.rank` draws it."""

    def play(coins: FloatArray, totals: FloatArray) -> None:
        normals = rng.standard_normal((len(coins), len(policy.model.weights)))
        whole_list = policy.recipe.feedback == "all"
        largest, scored = thompson.episode(
            *policy.drawing(), policy.pruning, whole_list, LARGEST, user.compiled, coins, normals, best, totals
        )
        policy.count(scored)
        check_size(largest, RankError)

    return play


def simulate_many(
    policy: Policy,
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
            while pending:  # with a timeout, because a signal may be handed to another thread and not wake this one
                done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_EXCEPTION)
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
