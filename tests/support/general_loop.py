"""Policies and users that no fast path of a simulation takes."""

from typing import Any

import numpy as np

from rankfall import CascadeUser, Ranking


class Stepwise(CascadeUser):
    """The user of the paper; as it has a ``click`` of its own, it is met in the general loop."""

    def click(self, items: Any, coins: Any) -> Any:
        return super().click(items, coins)


class Shuffling:
    """Ranks at random and remembers what it was told."""

    def __init__(self, n_items):
        self.n_items = n_items
        self.told = []

    def rank(self, k, *, rng=None, candidates=None, exclude=None):
        return Ranking(rng.permutation(self.n_items)[:k])

    def update(self, ranking, click):
        self.told.append((ranking.items.tolist(), click))


class Wrapped:
    """A user with the methods of an environment and nothing else, as anyone could write one."""

    def __init__(self, user):
        self.n_items, self.reward, self.click, self.best = user.n_items, user.reward, user.click, user.best
        self.covered = user.covered


class FirstItems(Shuffling):
    """Always shows the first items."""

    def rank(self, k, *, rng=None, candidates=None, exclude=None):
        return Ranking(np.arange(k))
