"""Ridge regression that forgets: of fading lists, or of the last ones only.

What is forgotten makes O^-1 grow, so no rank-1 update follows it: after every list it is computed afresh from O.
"""

from typing import Any

from rankfall.kernels.jit import compiled, inner, leaf
from rankfall.kernels.ridge import UPDATES, State, gather, refresh, solve


@compiled
def learn_fading(state: State, rho: float, features: Any, rewards: Any) -> None:
    """O <- I + rho (O - I) and b <- rho b, then learn from one list: features (rows, n), rewards (rows)."""
    n = len(state.weights)
    for i in range(n):
        for j in range(n):
            prior = 1.0 if i == j else 0.0
            state.gram[i, j] = prior + rho * (state.gram[i, j] - prior)
        state.moment[i] *= rho
    gather(state, features, rewards, len(rewards))
    state.counts[UPDATES] += 1
    refresh(state)
    solve(state)


@leaf
def _add(total: Any, rest: Any, at: int, value: float) -> None:
    """Add to a sum kept in two parts: ``total``, rounded, and the ``rest`` that rounding left out (Knuth's TwoSum)."""
    before = total[at]
    rounded = before + value
    added = rounded - before
    lost = (before - (rounded - added)) + (value - added) + rest[at]
    total[at] = rounded + lost
    rest[at] = lost - (total[at] - rounded)


@inner
def count(state: State, rest: Any, features: Any, rewards: Any, sign: float) -> None:
    """Add a list to O and b (sign 1), or take away one that was added before (sign -1), and lose nothing."""
    n = len(state.weights)
    for r in range(len(rewards)):
        phi = features[r]
        for i in range(n):
            if phi[i] != 0.0:
                for j in range(n):
                    _add(state.gram[i], rest[i], j, sign * (phi[i] * phi[j]))
                _add(state.moment, rest[n], i, sign * (rewards[r] * phi[i]))


@compiled
def learn_sliding(state: State, rest: Any, features: Any, rewards: Any, old_features: Any, old_rewards: Any) -> None:
    """Learn from one list and unlearn another: features (rows, n), rewards (rows) of each.

    ``rest`` (n + 1, n) is what rounding left out of O, and in its last row of b: with it the sums are as good as
    exact, so that a list once unlearned leaves no trace, however large it was and however long ago.
    """
    count(state, rest, old_features, old_rewards, -1.0)
    count(state, rest, features, rewards, 1.0)
    state.counts[UPDATES] += 1
    refresh(state)
    solve(state)
