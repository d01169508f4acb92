"""Many simulated users and one model that some of them share, many lists in one call, without the interpreter."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels import thompson
from rankfall.kernels.cascade import UserArrays, attraction, first_click, some_click
from rankfall.kernels.empirical_bayes import invert_in_place
from rankfall.kernels.episode import describe, make_list, make_plainly, scene
from rankfall.kernels.jit import compiled, leaf
from rankfall.kernels.own_statistics import Own, add
from rankfall.kernels.policy_arrays import PolicyArrays, largest_shown
from rankfall.kernels.ridge import State, learn


class CrowdArrays(NamedTuple):
    """What attracts each of U users, over L items and d topics; the coverage of items is the same for all."""

    start: Any  # (L + 1) coverage by item, sparse; see UserArrays
    topic: Any  # (nnz)
    weight: Any  # (nnz)
    appeal: Any  # (U, L)
    theta: Any  # (U, d)
    best: Any  # (U) reward of the best list


class Stream(NamedTuple):
    """Lists to show, in their order: one row each."""

    user: Any  # (lists)
    coins: Any  # (lists, k)
    drawn: Any  # (lists, k) lists to show instead of the policy's, a row of -1 is none; or (0, k)
    normals: Any  # (lists, n) normal numbers to draw weights by; or (0, n) where none are drawn
    regret: Any  # (lists) filled in
    clicked: Any  # (lists) filled in


class Club(NamedTuple):
    """What tells U users apart (Gentile, Li, Zappella 2014); U = 0 where nobody asks."""

    own: Own  # (U, n, n), (U, n), (U, 2)
    weights: Any  # (U, n) ridge weights of each user alone
    lists: Any  # (U) lists of each user
    edges: Any  # (U, U) who is still taken to be alike
    precision: Any  # (n, n) of the prior each user starts from
    pull: Any  # (n)
    work: Any  # (n, n)
    reached: Any  # (U) who stays with the user by whose list a cluster splits
    alpha: float  # how far apart users must be to be told apart


@leaf
def _closeness(alpha: float, lists: int) -> float:
    """How far the weights of a user may be from the truth after so many lists (CB of the paper)."""
    return alpha * np.sqrt((1.0 + np.log(1.0 + lists)) / (1.0 + lists))


@compiled
def connected(edges: Any, first: int, reached: Any) -> int:
    """Mark who is connected with ``first`` in ``reached`` (U), and return how many they are."""
    reached[:] = False
    reached[first] = True
    waiting = np.empty(len(edges), dtype=np.int64)
    waiting[0] = first
    done, found = 0, 1
    while done < found:
        row = edges[waiting[done]]
        done += 1
        for j in range(len(row)):
            if row[j] and not reached[j]:
                reached[j] = True
                waiting[found] = j
                found += 1
    return found


@compiled
def tell_apart(club: Club, u: int, features: Any, rewards: Any, seen: int, members: int) -> bool:
    """Learn of user ``u`` alone from one list, and drop the edges to users who are not alike.

    Returns whether that splits the cluster of the user, which has so many members.
    """
    add(Own(club.own.gram[u], club.own.moment[u], club.own.sums[u]), features, rewards, seen)
    n = len(club.pull)
    for i in range(n):
        for j in range(n):
            club.work[i, j] = club.precision[i, j] + club.own.gram[u, i, j]
    invert_in_place(club.work)
    weights = club.weights[u]
    weights[:] = 0.0
    for i in range(n):
        value = club.pull[i] + club.own.moment[u, i]
        for j in range(n):
            weights[j] += value * club.work[i, j]
    club.lists[u] += 1
    dropped = False
    for j in range(len(club.edges)):
        if club.edges[u, j]:
            square = 0.0
            for i in range(n):
                apart = weights[i] - club.weights[j, i]
                square += apart * apart
            if np.sqrt(square) > _closeness(club.alpha, club.lists[u]) + _closeness(club.alpha, club.lists[j]):
                club.edges[u, j] = False
                club.edges[j, u] = False
                dropped = True
    return dropped and connected(club.edges, u, club.reached) < members


@compiled
def turns(
    policy: PolicyArrays, own: Own, crowd: CrowdArrays, stream: Stream, club: Club, members: int
) -> tuple[float, int, bool]:
    """Show, click and learn, for each list of the stream; all its users share the model of the policy.

    What is seen is added to ``own`` too, unless it has no columns. With a ``club``, the users of the stream are those
    of one cluster, which has so many ``members``.
    Returns the largest feature shown where features may grow, how many lists were shown, and whether the cluster splits
    by the last of them. It stops there, and before learning from a feature that is too large.
    """
    steps, k = stream.coins.shape
    state, n = policy.state, len(policy.state.weights)
    at = scene(policy, k, crowd.theta.shape[1])
    drawn, upper = np.empty(n), np.empty((n, n))
    believed = State(state.gram, state.covariance, state.moment, drawn, state.counts)
    extreme = 0.0
    for step in range(steps):
        u = stream.user[step]
        if len(stream.drawn) > 0 and stream.drawn[step, 0] >= 0:
            at.shown[:] = stream.drawn[step]
            describe(policy, at)
        elif len(stream.normals) > 0:
            thompson.draw(state, policy.gamma, stream.normals[step], upper, drawn)
            make_plainly(policy, believed, 0.0, at)
        else:
            make_list(policy, at)
        extreme = largest_shown(policy, at.features, extreme)
        if not extreme <= policy.largest:
            return extreme, step, False
        user = UserArrays(crowd.start, crowd.topic, crowd.weight, crowd.appeal[u], crowd.theta[u])
        attraction(at.shown, user, at.topics, at.alpha)
        click = first_click(at.alpha, stream.coins[step])
        stream.regret[step] = crowd.best[u] - some_click(at.alpha)
        stream.clicked[step] = click >= 0
        seen = k
        if click >= 0:
            at.rewards[click] = 1.0
            seen = k if policy.whole else click + 1
        if len(own.moment) > 0:
            add(own, at.features, at.rewards, seen)
        learn(state, at.features, at.rewards, seen, at.gain)
        split = False
        if len(club.edges) > 0:
            split = tell_apart(club, u, at.features, at.rewards, seen, members)
        if click >= 0:
            at.rewards[click] = 0.0
        if split:
            return extreme, step + 1, True
    return extreme, steps, False
