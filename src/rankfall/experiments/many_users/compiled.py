"""Many users of the paper with linear policies: compiled loops, one for each model and the users who share it.

Between two changes that a policy announces (:meth:`rankfall.ManyUsers.lists_ahead`), models know nothing of each other.
So the lists of each model are played in one call, in their order, with the coins of their places in the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray, frozen
from rankfall.errors import RankError
from rankfall.experiments.episodes.linear import arrays_of, is_linear
from rankfall.experiments.episodes.play import unchanged
from rankfall.kernels.cascade import UserArrays
from rankfall.kernels.crowd import Club, CrowdArrays, Stream, turns
from rankfall.kernels.own_statistics import Own, new_own
from rankfall.policies.linear.columns import check_size
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.settings import EpsilonSettings
from rankfall.policies.many_users.clusters import ClusteredUsers
from rankfall.policies.many_users.policy import ManyUsers
from rankfall.users import Environment

Play: TypeAlias = Callable[[IntArray, FloatArray, FloatArray, BoolArray], None]
"""Plays one list for each number of a user and row of coins, and fills in regret and whether it was clicked."""


_NO_COLUMNS = new_own(0)
_NO_CLUB = Club(
    own=Own(np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros((0, 2))),
    weights=np.zeros((0, 0)),
    lists=np.zeros(0, dtype=np.int64),
    edges=np.zeros((0, 0), dtype=np.bool_),
    precision=frozen(np.zeros((0, 0))),
    pull=frozen(np.zeros(0)),
    work=np.zeros((0, 0)),
    reached=np.zeros(0, dtype=np.bool_),
    alpha=0.0,
)


def play_compiled(
    policy: ManyUsers,
    users: Sequence[Environment],
    best: FloatArray,
    k: int,
    rng: np.random.Generator,
    workers: int,
) -> Play | None:
    """How to play them without the interpreter; None if that cannot be."""
    if not is_stream_compiled(policy, users):
        return None
    crowd = _crowd(users, best)
    assert crowd is not None

    def play(stream: IntArray, coins: FloatArray, regret: FloatArray, clicked: BoolArray) -> None:
        drawn, normals = _randomness(policy.policy, len(stream), k, rng)

        def play_some(rows: IntArray) -> IntArray:
            some = Stream(
                stream[rows],
                coins[rows],
                drawn[rows] if len(drawn) else drawn,
                normals[rows] if len(normals) else normals,
                np.empty(len(rows)),
                np.empty(len(rows), dtype=np.bool_),
            )
            done = _play_model(policy, crowd, some)
            regret[rows[:done]], clicked[rows[:done]] = some.regret[:done], some.clicked[:done]
            return rows[done:]

        waiting = _by_model(policy, stream, np.arange(len(stream)))
        if isinstance(policy, ClusteredUsers):  # whose users are told apart as they go: one model at a time
            while waiting:
                rest = play_some(waiting.pop())
                waiting.extend(_by_model(policy, stream, rest))
        else:
            for place in np.sort(np.unique(stream, return_index=True)[1]):
                policy.model_for(int(stream[place]))  # made here, in the order in which users come
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(play_some, waiting))

    return play


def is_stream_compiled(policy: ManyUsers, users: Sequence[Environment]) -> bool:
    """Whether policy and users do nothing that the kernels do not know of."""
    one = policy.policy
    if _crowd(users, np.zeros(len(users))) is None:
        return False
    if not is_linear(one, "seen"):
        return False
    if one.forgetting is not None or one.context is not None or one.learns_from == "last_click":
        return False
    if isinstance(policy, ClusteredUsers):
        same = unchanged(policy, ClusteredUsers, "rank", "update", "model_for", "new_model", "split")
        return same and policy.places == {number: number for number in range(len(users))}
    return unchanged(policy, ManyUsers, "rank", "update", "model_for")


def _crowd(users: Sequence[Environment], best: FloatArray) -> CrowdArrays | None:
    """The users as kernels see them; None if they are not all of the paper, or do not know the same coverage."""
    every: list[UserArrays] = []
    for user in users:
        arrays = arrays_of(user)
        if arrays is None:
            return None
        every.append(arrays)
    first = every[0]
    for name in ("start", "topic", "weight"):
        if not all(np.array_equal(getattr(first, name), getattr(arrays, name)) for arrays in every):
            return None
    appeal, theta = np.array([arrays.appeal for arrays in every]), np.array([arrays.theta for arrays in every])
    return CrowdArrays(first.start, first.topic, first.weight, appeal, theta, best)


def _randomness(one: LinearPolicy, lists: int, k: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """What a policy draws for so many lists, in the order in which ``rank`` would draw it."""
    settings = one.settings
    drawn = np.full((lists if isinstance(settings, EpsilonSettings) else 0, k), -1)
    for items in drawn:
        assert isinstance(settings, EpsilonSettings)
        if rng.random() < settings.epsilon:
            items[:] = rng.permutation(one.n_items)[:k]
    columns = len(one.weights)
    return drawn, rng.standard_normal((lists if one.exploration == "thompson" else 0, columns))


def _by_model(policy: ManyUsers, stream: IntArray, rows: IntArray) -> list[IntArray]:
    """These places of the stream, by the model of their user, in the order of the stream."""
    if not len(rows):
        return []
    users, which = np.unique(stream[rows], return_inverse=True)
    keys: dict[Hashable, int] = {}
    model = np.array([keys.setdefault(policy.shares(int(user)), len(keys)) for user in users])[which]
    order = np.argsort(model, kind="stable")
    return np.split(rows[order], np.cumsum(np.bincount(model))[:-1])


def _play_model(policy: ManyUsers, crowd: CrowdArrays, stream: Stream) -> int:
    """Play the lists of one model; return how many, which are not all if its users are told apart before the end."""
    user = int(stream.user[0])
    model, cluster = policy.model_for(user), policy.shares(user)
    club, members = _NO_CLUB, 0
    if isinstance(policy, ClusteredUsers):
        assert isinstance(cluster, int)
        club, members = policy.club, len(policy.members(cluster))
    own = _NO_COLUMNS if model.model.own is None else model.model.own
    arrays = model.compiled(stream.coins.shape[1])
    with model.model.lock:
        largest, done, split = turns(arrays, own, crowd, stream, club, members)
    check_size(largest, RankError)
    if split and isinstance(policy, ClusteredUsers) and isinstance(cluster, int):
        policy.split(cluster)
    return int(done)
