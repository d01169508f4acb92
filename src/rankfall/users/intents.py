"""A population of users who want different things, so that one list must serve many of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import BoolArray, FloatArray, IntArray, finite, frozen, number, rows, whole
from rankfall.errors import ProblemError
from rankfall.users.brute_force import every_set


class Intents:
    """A population of users, each with items that are relevant to them; every list is shown to one of the users.

    The setting of Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008. The
    user is drawn uniformly, and unknown to the policy. They read from the top, click an item with probability
    ``relevant`` if it is relevant to them and ``other`` if not, and leave after the first click. The reward is the
    probability of a click, over the population.

    To find the best list is a problem of maximum coverage, which is NP-hard. Regret is measured against the greedy
    list, as the paper compares with what greedy guarantees, (1 - 1/e) of the optimum; lists better than the greedy one
    have negative regret. :meth:`optimum` is exact, for small problems.

    Parameters
    ----------
    wanted : (users, items) whether the item is relevant to the user.
    relevant, other : probability of a click on an item that is examined.

    >>> user = Intents([[1, 0, 0], [1, 0, 0], [0, 1, 1]])
    >>> user.best(2), user.reward([0, 1]), user.reward([1, 2])
    (array([0, 1]), 1.0, 0.33...)
    """

    def __init__(self, wanted: ArrayLike, relevant: float = 1.0, other: float = 0.0) -> None:
        given = finite("wanted", wanted, 2, ProblemError)
        if not given.size:
            raise ProblemError(f"wanted has shape {given.shape}; expected at least one user and one item")
        wrong = (given != 0) & (given != 1)
        if wrong.any():
            raise ProblemError(f"wanted holds {given[wrong][0]:g}; expected 1 for a relevant item and 0 for others")
        self.wanted: BoolArray = frozen(given != 0)
        self.relevant = number("relevant", relevant, ProblemError, low=0.0, high=1.0)
        self.other = number("other", other, ProblemError, low=0.0, high=1.0)
        self._attraction: FloatArray = frozen(np.where(self.wanted, self.relevant, self.other))
        self._each: list[list[float]] = self._attraction.tolist()
        self._none: FloatArray = frozen(1.0 - self._attraction.T)  # by item, as lists are

    def __repr__(self) -> str:
        return f"Intents({self.n_users} users, {self.n_items} items, relevant={self.relevant:g}, other={self.other:g})"

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.wanted)

    @property
    def n_items(self) -> int:
        """How many items a user may be shown."""
        return len(self._none)

    def reward(self, items: Iterable[int]) -> float:
        """Probability of a click, over the users."""
        shown = rows("items", items, self.n_items, ProblemError)
        return 1.0 - float(self._none[shown].prod(axis=0).mean())

    def click(self, items: Iterable[int], coins: ArrayLike) -> int | None:
        """Position of the click, or None.

        The first coin decides both on the user and, by its remainder within that user's share, on the first position.
        """
        shown = rows("items", items, self.n_items, ProblemError).tolist()
        flips = finite("coins", coins, 1, ProblemError).tolist()
        if not shown:
            return None
        if len(flips) < len(shown):
            raise ProblemError(f"{len(flips)} coins for {len(shown)} positions; one for each")
        if not 0.0 <= flips[0] < 1.0:
            raise ProblemError(f"coins must lie in [0, 1), got {flips[0]:g}")
        which, flips[0] = divmod(flips[0] * self.n_users, 1.0)
        attraction = self._each[int(which)]
        for position, item in enumerate(shown):
            if flips[position] < attraction[item]:
                return position
        return None

    def best(self, k: int) -> IntArray:
        """The greedy list: at each position the item that adds most clicks to those above; of equals the lowest row."""
        k = whole("k", k, ProblemError, low=1, high=self.n_items)
        none, items = np.ones(self.n_users), np.empty(k, dtype=np.int64)
        for position in range(k):
            gains = none @ self._attraction
            gains[items[:position]] = -1.0
            items[position] = np.argmax(gains)
            none = none * self._none[items[position]]
        return items

    def optimum(self, k: int) -> IntArray:
        """The items with the highest expected reward, in ascending order, by trying all sets; the first of equals.

        Of items relevant to the same users at most ``k`` are tried. Refuses problems with more than two million sets.
        """
        k = whole("k", k, ProblemError, low=1, high=self.n_items)
        _, alike = np.unique(self.wanted, axis=1, return_inverse=True)
        tried = np.sort(np.concatenate([np.flatnonzero(alike == one)[:k] for one in range(alike.max() + 1)]))
        lists = tried[every_set(len(tried), k)]
        none = np.zeros(len(lists))
        for attraction, users in zip(*np.unique(self._attraction, axis=0, return_counts=True), strict=True):
            none += users * (1.0 - attraction)[lists].prod(axis=1)
        best: IntArray = lists[np.argmin(none)]
        return best


def generate_intents(
    users: int = 20,
    documents: int = 50,
    alpha: float = 3.0,
    *,
    relevant: float = 1.0,
    other: float = 0.0,
    seed: int = 0,
) -> Intents:
    """Generate users as in section 5 of Radlinski et al. (2008), with topics by a Chinese restaurant process.

    The n-th user (from 0) has a topic of their own with probability ``alpha / (n + alpha)``, and otherwise the topic of
    an earlier user. Each topic gets as many random documents as it has users, and they are relevant to exactly these
    users; a document may have several topics.

    >>> generate_intents(seed=1)
    Intents(20 users, 50 items, relevant=1, other=0)
    """
    users = whole("users", users, ProblemError, low=1)
    documents = whole("documents", documents, ProblemError, low=1)
    alpha = number("alpha", alpha, ProblemError, low=0.0)
    rng = np.random.default_rng(whole("seed", seed, ProblemError, low=0))
    topics: list[list[int]] = []
    for user in range(users):
        if rng.random() * (user + alpha) < alpha or not topics:
            topics.append([user])
        else:
            shares = np.array([len(topic) for topic in topics]) / user
            topics[rng.choice(len(topics), p=shares)].append(user)
    wanted = np.zeros((users, documents), dtype=bool)
    for topic in topics:
        chosen = rng.choice(documents, size=min(len(topic), documents), replace=False)
        wanted[np.ix_(np.array(topic), chosen)] = True
    return Intents(wanted, relevant, other)
