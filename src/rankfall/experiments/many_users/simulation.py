"""Simulations of a policy for many users: whoever comes is shown a list, and the policy learns from the clicks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import BoolArray, FloatArray, IntArray, whole
from rankfall.errors import ProblemError
from rankfall.experiments.episodes.in_context import told
from rankfall.experiments.many_users.compiled import play_compiled
from rankfall.experiments.many_users.results import UsersRun
from rankfall.experiments.simulation import Progress, Seed, cores, streams
from rankfall.policies.many_users.policy import ManyUsers
from rankfall.users import Environment

_BLOCK = 1 << 16
"""Lists that are simulated at a time, at most; no result depends on it."""


def simulate_users(
    policy: ManyUsers,
    users: Sequence[Environment],
    arrivals: ArrayLike,
    k: int,
    seed: Seed = 0,
    progress: Progress | None = None,
    workers: int | None = None,
    contexts: Sequence[Mapping[str, Any]] | None = None,
) -> UsersRun:
    """Show one list of ``k`` items for each of the arrivals, to the user who comes, and learn from the clicks.

    The policy learns, so it is changed; its users are the numbers of ``users``. The same seed gives the same run to the
    bit, and policies simulated with the same arrivals and the same seed see the same coins. The users of the paper
    (:class:`rankfall.CascadeUser`) who know the same coverage run as compiled loops, with any linear policy that
    forgets nothing and counts as seen the cascade or all items; others in plain Python, with the same result.

    Parameters
    ----------
    policy : it is updated.
    users : who may come.
    arrivals : (lists,) who comes, as numbers of ``users``; see :mod:`rankfall.experiments.many_users.arrivals`.
    k : positions in a list.
    seed : a number or a ``SeedSequence``; coins and policy get independent streams of it.
    progress : called now and then with the number of lists shown since the last call.
    workers : threads for compiled loops, which change nothing but the time; by default one for each core.
    contexts : for each of the users the context of their requests, for policies that have one. One person in several
        situations is several users, of one model (:class:`rankfall.SharedModel`).

    >>> from rankfall import AcrossUsers, CascadeHybrid, CascadeUser, generate
    >>> world = generate(items=30, users=3, seed=1)
    >>> x, z = world.catalog.coverage, world.catalog.relevance
    >>> users = [CascadeUser(x, z, theta, beta, 0.5) for theta, beta in zip(world.theta, world.beta)]
    >>> simulate_users(AcrossUsers(CascadeHybrid(world.catalog)), users, [0, 0, 1, 0, 2, 1], k=3)
    UsersRun(6 lists, 3 users, regret ..., ... clicks)
    """
    stream = _checked(arrivals, len(users))
    k = whole("k", k, ProblemError, low=1, high=policy.n_items)
    for user in users:
        if user.n_items != policy.n_items:
            raise ProblemError(
                f"the policy ranks {policy.n_items} items and a user knows {user.n_items}; both need the same"
            )
    if contexts is not None and len(contexts) != len(users):
        raise ProblemError(f"contexts are {len(contexts)}, and users {len(users)}; one for each")
    best = np.array([user.reward(user.best(k)) for user in users])
    coin_rng, policy_rng = streams(seed)
    regret, clicked = np.empty(len(stream)), np.empty(len(stream), dtype=np.bool_)
    threads = cores() if workers is None else whole("workers", workers, ProblemError, low=1)
    play = play_compiled(policy, users, best, k, policy_rng, threads)
    begin = 0
    while begin < len(stream):
        ahead = policy.lists_ahead()
        end = min(len(stream), begin + (_BLOCK if ahead is None else min(_BLOCK, ahead)))
        here = slice(begin, end)
        coins = coin_rng.random((end - begin, k))
        if play is None:
            _play_stepwise(policy, users, contexts, stream[here], coins, best, policy_rng, regret[here], clicked[here])
        else:
            play(stream[here], coins, regret[here], clicked[here])
            policy.count(end - begin)
        if progress is not None:
            progress(end - begin)
        begin = end
    return UsersRun(stream, regret, clicked, best)


def _checked(arrivals: ArrayLike, users: int) -> IntArray:
    stream = np.asarray(arrivals)
    if stream.ndim != 1 or not len(stream) or stream.dtype.kind not in "iu":
        raise ProblemError(f"arrivals must be numbers of users, one for each list; got {stream!r}")
    if stream.min() < 0 or stream.max() >= users:
        raise ProblemError(f"arrivals go from {stream.min()} to {stream.max()}, and users from 0 to {users - 1}")
    return stream.astype(np.int64)


def _play_stepwise(
    policy: ManyUsers,
    users: Sequence[Environment],
    contexts: Sequence[Mapping[str, Any]] | None,
    stream: IntArray,
    coins: FloatArray,
    best: FloatArray,
    rng: np.random.Generator,
    regret: FloatArray,
    clicked: BoolArray,
) -> None:
    """The general loop."""
    k, names = coins.shape[1], None if policy.policy.context is None else policy.policy.context.names
    for step, number in enumerate(stream.tolist()):
        user = users[number]
        ranking = policy.rank(number, k, rng=rng, **told(names, None if contexts is None else contexts[number]))
        click = user.click(ranking.items, coins[step])
        policy.update(number, ranking, click)
        regret[step] = best[number] - user.reward(ranking.items)
        clicked[step] = click is not None and click != ()
