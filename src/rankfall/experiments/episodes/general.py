"""The interaction in plain Python, for any policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.experiments.episodes.play import Play, unchanged
from rankfall.policies.ranking import Policy
from rankfall.users import Environment, User
from rankfall.users.user import ClickChances


def any_policy_with_any_user(
    policy: Policy, user: Environment, k: int, best: float, rng: np.random.Generator
) -> Play | None:
    """The general loop."""
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


def any_policy_with_user(
    policy: Policy, user: Environment, k: int, best: float, rng: np.random.Generator
) -> Play | None:
    """The same for a :class:`User`, remembering what the user makes of a list, as lists come again and again."""
    if not unchanged(user, User, "click", "click_chances", "decide", "reward", "covered"):
        return None
    assert isinstance(user, User)
    rank, update, look, decide = policy.rank, policy.update, _Memory(user).look, user.decide

    def play(coins: FloatArray, totals: FloatArray) -> None:
        regret, clicks, touched, weighted = totals.tolist()
        for flips in coins.tolist():  # plain numbers: a tabular policy takes no longer than unpacking an array
            ranking = rank(k, rng=rng)
            chances, reward, topics, share = look(ranking.items)
            click = decide(chances, flips)
            update(ranking, click)
            regret += best - reward
            if click is not None and click != ():
                clicks += 1.0
            touched += topics
            weighted += share
        totals[:] = regret, clicks, touched, weighted

    return play


class _Remembered(NamedTuple):
    """What a user makes of a list: all that the coins do not change."""

    chances: ClickChances
    reward: float
    touched: float
    covered: float


class _Memory:
    """What a user makes of the lists of one run; when ``room`` lists are remembered, it begins again."""

    def __init__(self, user: User, room: int = 20_000) -> None:
        self._user, self._room = user, room
        self._lists: dict[bytes, _Remembered] = {}

    def look(self, items: IntArray) -> _Remembered:
        """What the user makes of this list."""
        key = items.tobytes()
        known = self._lists.get(key)
        if known is None:
            user = self._user
            known = _Remembered(user.click_chances(items), user.reward(items), *user.covered(items))
            if len(self._lists) >= self._room:
                self._lists.clear()
            self._lists[key] = known
        return known
