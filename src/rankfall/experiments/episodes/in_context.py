"""The interaction with a user who comes in different contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.policies.policy import PolicyLike
from rankfall.users import Environment, InContext


class UserInContext:
    """A :data:`Play` in plain Python: before each list the policy is told of the context, as far as it declared it.

    Attributes
    ----------
    earnable : what the best list of each step would have earned, summed over the steps so far.
    """

    def __init__(self, policy: PolicyLike, user: InContext, k: int, rng: np.random.Generator) -> None:
        self._policy, self._user, self._k, self._rng = policy, user, k, rng
        self._names = getattr(getattr(policy, "context", None), "names", None)
        self._step = 0
        self._best: dict[int, float] = {}
        self.earnable = 0.0

    def __call__(self, coins: FloatArray, totals: FloatArray) -> None:
        """Play one step for each row of coins."""
        regret, clicks, touched, weighted = totals[0].tolist()
        for i, flips in enumerate(coins):
            now = self._user.at(self._step)
            ranking = self._policy.rank(self._k, rng=self._rng, **told(self._names, self._user.context_at(self._step)))
            click = now.click(ranking.items, flips)
            self._policy.update(ranking, click)
            best = self._earnable(now)
            self.earnable += best
            regret += best - now.reward(ranking.items)
            clicks += click is not None and click != ()
            topics, share = now.covered(ranking.items) if hasattr(now, "covered") else (np.nan, np.nan)
            touched += topics
            weighted += share
            totals[i + 1] = regret, clicks, touched, weighted
            self._step += 1

    def _earnable(self, now: Environment) -> float:
        """What the best list earns; kept, as the same situations come again."""
        found = self._best.get(id(now))
        if found is None:
            found = self._best[id(now)] = now.reward(now.best(self._k))
        return found


def told(names: tuple[str, ...] | None, context: Mapping[str, Any] | None) -> dict[str, Any]:
    """What ``rank`` is told of a context by whoever knows these names of it; nothing where a policy knows none.

    >>> told(("hour",), {"hour": 8, "device": "tv"}), told(None, {"hour": 8})
    ({'context': {'hour': 8}}, {})
    """
    if names is None or context is None:
        return {}
    return {"context": {name: value for name, value in context.items() if name in names}}
