"""The interaction in plain Python, for any policy."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.experiments.episodes.play import USER_METHODS, Play, unchanged
from rankfall.policies.policy import PolicyLike
from rankfall.users import Environment, User
from rankfall.users.user import ListView


def any_policy_with_any_user(
    policy: PolicyLike, user: Environment, k: int, best: float, rng: np.random.Generator
) -> Play | None:
    """The general loop."""
    covered = getattr(user, "covered", None)

    def play(coins: FloatArray, totals: FloatArray) -> None:
        regret, clicks, touched, weighted = totals[0].tolist()
        after = []
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
            after.append((regret, clicks, touched, weighted))
        totals[1:] = after

    return play


def any_policy_with_user(
    policy: PolicyLike, user: Environment, k: int, best: float, rng: np.random.Generator
) -> Play | None:
    """The same for a :class:`User`, remembering how the user sees a list, since the same lists are shown often."""
    if not unchanged(user, User, *USER_METHODS):
        return None
    assert isinstance(user, User)
    rank, update, view, decide = policy.rank, policy.update, _Memory(user).view, user.decide

    def play(coins: FloatArray, totals: FloatArray) -> None:
        regret, clicks, touched, weighted = totals[0].tolist()
        after = []
        for flips in coins.tolist():  # plain numbers: a tabular policy takes no longer than unpacking an array
            ranking = rank(k, rng=rng)
            chances, reward, topics, share = view(ranking.items)
            click = decide(chances, flips)
            update(ranking, click)
            regret += best - reward
            if click is not None and click != ():
                clicks += 1.0
            touched += topics
            weighted += share
            after.append((regret, clicks, touched, weighted))
        totals[1:] = after

    return play


class _Memory:
    """How a user sees the lists of one run; after ``room`` lists it forgets them and begins again."""

    def __init__(self, user: User, room: int = 20_000) -> None:
        self._user, self._room = user, room
        self._lists: dict[bytes, ListView] = {}

    def view(self, items: IntArray) -> ListView:
        """What :meth:`User.view` gives for this list."""
        key = items.tobytes()
        known = self._lists.get(key)
        if known is None:
            known = self._user.view(items)
            if len(self._lists) >= self._room:
                self._lists.clear()
            self._lists[key] = known
        return known
