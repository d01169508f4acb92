"""What one user has shown, as sums that can be added up, and a ridge model made of them and a prior.

With a prior N(mu, Sigma) of the weights, Sigma in units of the noise, a model has ``O = Sigma^-1 + G`` and
``b = Sigma^-1 mu + h``. G and h are sums over what the user has seen and nothing else, so that another prior changes
none of them. ``Sigma^-1`` is ``precision`` here, and ``Sigma^-1 mu`` is ``pull``.
"""

from typing import Any, NamedTuple

import numpy as np

from rankfall.kernels.forgetting import count
from rankfall.kernels.jit import compiled, entry
from rankfall.kernels.ridge import State, refresh, solve

SEEN, SQUARES = 0, 1
"""Of :attr:`Own.sums`: observations, and the sum of their squared rewards."""


class Own(NamedTuple):
    """Sums over the observations of one user, over n columns."""

    gram: Any  # (n, n) G = sum phi phi'
    moment: Any  # (n) h = sum r phi
    sums: Any  # (2) observations, sum r^2


def new_own(columns: int) -> Own:
    """The sums of a user who has seen nothing."""
    return Own(np.zeros((columns, columns)), np.zeros(columns), np.zeros(2))


@entry
def add(own: Own, features: Any, rewards: Any, seen: int) -> None:
    """Add the first ``seen`` rows of features and their rewards."""
    n = len(own.moment)
    for r in range(seen):
        phi = features[r]
        reward = rewards[r]
        for i in range(n):
            value = phi[i]
            if value != 0.0:
                row = own.gram[i]
                for j in range(n):
                    row[j] += value * phi[j]
        if reward != 0.0:
            for j in range(n):
                own.moment[j] += reward * phi[j]
        own.sums[SQUARES] += reward * reward
    own.sums[SEEN] += seen


@entry
def add_reward(own: Own, phi: Any, reward: float, earned: float) -> None:
    """An item that was added before, with features ``phi`` (n) and what it had ``earned``, earned a further reward."""
    for j in range(len(phi)):
        own.moment[j] += reward * phi[j]
    own.sums[SQUARES] += reward * (2.0 * earned + reward)


@entry
def fade(own: Own, rho: float) -> None:
    """All that was seen so far counts ``rho`` times what it did."""
    for i in range(len(own.moment)):
        row = own.gram[i]
        for j in range(len(row)):
            row[j] *= rho
        own.moment[i] *= rho
    own.sums[SEEN] *= rho
    own.sums[SQUARES] *= rho


@compiled
def slide(own: Own, rest: Any, features: Any, rewards: Any, old_features: Any, old_rewards: Any) -> None:
    """Add one list and take away another one; ``rest`` as in :func:`rankfall.kernels.forgetting.learn_sliding`."""
    sums = State(own.gram, own.gram, own.moment, own.moment, np.zeros(3, dtype=np.int64))
    count(sums, rest, old_features, old_rewards, -1.0)
    count(sums, rest, features, rewards, 1.0)
    own.sums[SEEN] += len(rewards) - len(old_rewards)
    for reward in old_rewards:
        own.sums[SQUARES] -= reward * reward
    for reward in rewards:
        own.sums[SQUARES] += reward * reward


@compiled
def apply_prior(own: Own, precision: Any, pull: Any, state: State) -> None:
    """Make ``state`` the ridge model of these sums and this prior, computed afresh."""
    n = len(pull)
    for i in range(n):
        for j in range(n):
            state.gram[i, j] = precision[i, j] + own.gram[i, j]
        state.moment[i] = pull[i] + own.moment[i]
    refresh(state)
    solve(state)
