"""The interaction with a user who changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.experiments.episodes import episode_for
from rankfall.policies.policy import PolicyLike
from rankfall.users import Environment


class ChangingUser:
    """A :data:`Play` made of others: each stretch in which the user stays the same is played as for any other user.

    Attributes
    ----------
    earnable : what the best list of each step would have earned, summed over the steps so far.
    """

    def __init__(self, policy: PolicyLike, at: Callable[[int], Environment], k: int, rng: np.random.Generator) -> None:
        self._policy, self._at, self._k, self._rng = policy, at, k, rng
        self._step = 0
        self._now: Environment | None = None
        self.earnable = 0.0

    def __call__(self, coins: FloatArray, totals: FloatArray) -> None:
        """Play one step for each row of coins."""
        begin = 0
        for i in range(len(coins)):
            now = self._at(self._step + i)
            if now is not self._now:
                if i > begin:
                    self._stretch(coins[begin:i], totals[begin : i + 1])
                begin, self._now = i, now
                self._best = now.reward(now.best(self._k))
                self._play = episode_for(self._policy, now, self._k, self._best, self._rng)
        self._stretch(coins[begin:], totals[begin:])
        self._step += len(coins)

    def _stretch(self, coins: FloatArray, totals: FloatArray) -> None:
        self._play(coins, totals)
        self.earnable += self._best * len(coins)
