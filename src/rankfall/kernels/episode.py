"""Policy and simulated user together, many steps in one call, without the interpreter."""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels import greedy, shortlists
from rankfall.kernels.cascade import UserArrays, attraction, covered, first_click, some_click
from rankfall.kernels.epochs import SCORED
from rankfall.kernels.jit import compiled, inner, leaf
from rankfall.kernels.policy_arrays import PolicyArrays, largest_shown
from rankfall.kernels.ridge import State, learn


class Visits(NamedTuple):
    """A user who is shown one list for each row of ``coins``, and what comes of it.

    ``totals`` are sums from its first row on: the regret, the lists clicked, the topics touched, and the topics
    covered, by weight.
    """

    user: UserArrays
    coins: Any  # (steps, k)
    best: float  # reward of the best list
    totals: Any  # (steps + 1, 4) filled in


class Scene(NamedTuple):
    """Work space for a list of k over n columns, and for what attracts the user in it."""

    shown: Any  # (k)
    features: Any  # (k, n)
    scores: Any  # (k)
    widths: Any  # (k)
    alpha: Any  # (k)
    rewards: Any  # (k) zeros but while learning
    topics: Any  # as many as the user knows
    gain: Any  # (n)
    room: greedy.Room


@compiled
def scene(policy: PolicyArrays, k: int, topics: int) -> Scene:
    """Work space for lists of k items."""
    n = len(policy.state.weights)
    shown, features = np.empty(k, dtype=np.int64), np.zeros((k, n))
    scores, widths, alpha, rewards = np.empty(k), np.empty(k), np.empty(k), np.zeros(k)
    room = greedy.room_for_kernels(policy.items, policy.vectors, n, k)
    return Scene(shown, features, scores, widths, alpha, rewards, np.empty(topics), np.empty(n), room)


@leaf
def make_list(policy: PolicyArrays, at: Scene) -> None:
    """Show the list by mean or upper confidence bound, out of all items."""
    if not policy.pruning or not shortlists.rank(
        policy.items, policy.vectors, policy.state, policy.gamma, policy.lists, at.shown, at.features, at.scores,
        at.widths,
    ):  # fmt: skip
        make_plainly(policy, policy.state, policy.gamma, at)


@inner
def make_plainly(policy: PolicyArrays, state: State, gamma: float, at: Scene) -> None:
    """Show the list that is made from nothing but this state."""
    at.shown[:] = -1
    lists = policy.lists
    lists.counts[SCORED] += greedy.rank_in(
        at.room, policy.items, policy.vectors, at.shown[:0], state, gamma, lists.bounds, at.shown, at.features,
        at.scores, at.widths,
    )  # fmt: skip


@leaf
def describe(policy: PolicyArrays, at: Scene) -> None:
    """Show the list that is given as ``at.shown``."""
    policy.lists.counts[SCORED] += greedy.describe(
        policy.items, policy.state, at.shown, at.features, at.scores, at.widths
    )


@inner
def click_in(visits: Visits, step: int, at: Scene) -> int:
    """Where the user clicks in the list that is shown, or -1; the sums are carried on."""
    attraction(at.shown, visits.user, at.topics, at.alpha)
    click = first_click(at.alpha, visits.coins[step])
    touched, weighted = covered(at.topics)
    before, after = visits.totals[step], visits.totals[step + 1]
    after[0] = before[0] + (visits.best - some_click(at.alpha))
    after[1] = before[1] + (click >= 0)
    after[2] = before[2] + touched
    after[3] = before[3] + weighted
    return click


@leaf
def click_and_learn(policy: PolicyArrays, visits: Visits, step: int, at: Scene) -> None:
    """The user clicks in the list that is shown, and the policy learns."""
    click = click_in(visits, step, at)
    k = len(at.shown)
    if click < 0:
        learn(policy.state, at.features, at.rewards, k, at.gain)
    else:
        at.rewards[click] = 1.0
        learn(policy.state, at.features, at.rewards, k if policy.whole else click + 1, at.gain)
        at.rewards[click] = 0.0


@inner
def _steps(policy: PolicyArrays, visits: Visits, drawn: Any, at: Scene) -> float:
    """The steps of :func:`episode`: they allocate nothing, and so need no reference counts."""
    extreme = 0.0
    for step in range(len(visits.coins)):
        if len(drawn) > 0 and drawn[step, 0] >= 0:
            for position in range(len(at.shown)):
                at.shown[position] = drawn[step, position]
            describe(policy, at)
        else:
            make_list(policy, at)
        extreme = largest_shown(policy, at.features, extreme)
        if not extreme <= policy.largest:
            return extreme
        click_and_learn(policy, visits, step, at)
    return extreme


@compiled
def episode(policy: PolicyArrays, visits: Visits, drawn: Any) -> float:
    """Show, click and learn, one step for each visit.

    ``drawn`` (steps, k), or (0, k) for none, holds lists to show instead of the policy's; a row of -1 is none.
    Returns the largest feature shown where features may grow; stops before learning from one that is too large.
    """
    return _steps(policy, visits, drawn, scene(policy, visits.coins.shape[1], len(visits.user.theta)))
