"""A simulated user: an attraction, a click model, and what counts as reward."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, rows, whole
from rankfall.errors import ProblemError
from rankfall.users.attraction import Attraction
from rankfall.users.brute_force import every_list
from rankfall.users.click_models import REWARDS, Chain, ClickModel, Reward, expected, first, several

_INT64 = np.dtype(np.int64)
_ROOM = 20_000  # lists remembered at a time


class Shown(NamedTuple):
    """A list in the eyes of a user: all that the coins do not change."""

    clicked: tuple[float, ...]  # probability of a click at each position, once it is reached
    satisfied: tuple[float, ...]  # and of one that satisfies
    reward: float
    touched: float
    covered: float


class User:
    """A user who is attracted by items, clicks by a model, and whose clicks are worth something.

    Parameters
    ----------
    attraction : :class:`Table`, :class:`Linear`, :class:`Coverage` or :class:`Hybrid`.
    clicks : :class:`Cascade`, :class:`DependentClick`, :class:`PositionBased` or :class:`DocumentBased`.
    reward : ``any`` (probability of at least one click), ``clicks`` (expected number of clicks) or ``satisfied``
        (probability of a click after which the user is satisfied). By default what is usual for the click model: any
        for the cascade, satisfied for dependent clicks, clicks for the other two, in which nobody is ever satisfied.

    >>> from rankfall.users import DependentClick, Table
    >>> user = User(Table([0.1, 0.5, 0.4]), DependentClick([0.8, 0.4]))
    >>> user.best(2), user.reward([1, 2])
    (array([1, 2]), 0.496)
    >>> user.click([1, 2], [0.45, 0.2])  # 0.45 < 0.5 clicks, and is not below 0.8 * 0.5: the user reads on
    (0, 1)
    """

    def __init__(self, attraction: Attraction, clicks: ClickModel, reward: Reward | None = None) -> None:
        if not isinstance(attraction, Attraction):
            raise ProblemError(f"attraction must be a Table, Linear, Coverage or Hybrid, got {attraction!r}")
        if not isinstance(clicks, ClickModel):
            raise ProblemError(
                f"clicks must be a Cascade, DependentClick, PositionBased or DocumentBased, got {clicks!r}"
            )
        if reward is not None and reward not in REWARDS:
            raise ProblemError(f"reward must be one of {', '.join(REWARDS)}, got {reward!r}")
        if reward is not None and reward not in clicks.rewards:
            name = type(clicks).__name__
            raise ProblemError(
                f"reward {reward!r} makes no sense with {name}, where no click satisfies; "
                f"choose from {', '.join(clicks.rewards)}"
            )
        self.attraction, self.clicks = attraction, clicks
        self.rewarded: Reward = clicks.rewards[0] if reward is None else reward
        self._alone = None if attraction.alone is None else attraction.alone.tolist()
        self._single = clicks.single
        self._seen: dict[bytes, Shown] = {}
        self._chains: dict[int, Chain] = {}

    def __repr__(self) -> str:
        return f"User({self.attraction!r}, {self.clicks!r}, reward={self.rewarded!r})"

    @property
    def n_items(self) -> int:
        """How many items the user may be shown."""
        return self.attraction.n_items

    def shown(self, items: Iterable[int]) -> Shown:
        """What the user makes of a list; remembered, as lists come again and again."""
        key = items.tobytes() if type(items) is np.ndarray and items.dtype == _INT64 else None
        known = None if key is None else self._seen.get(key)
        if known is not None:
            return known
        checked = rows("items", items, self.n_items, ProblemError)
        k = len(checked)
        chain = self._chains.get(k)
        if chain is None:
            chain = self._chains[k] = self.clicks.chain(k)
        examination, termination = chain
        if self._alone is None:
            alpha: list[float] = self.attraction.of(checked[None])[0].tolist()
        else:
            alone = self._alone
            alpha = [alone[item] for item in checked.tolist()]
        clicked = tuple([e * a for e, a in zip(examination, alpha, strict=True)])
        satisfied = tuple([v * p for v, p in zip(termination, clicked, strict=True)])
        touched, covered = self.attraction.covered(checked)
        result = Shown(clicked, satisfied, expected(clicked, termination, self.rewarded), touched, covered)
        if len(self._seen) >= _ROOM:
            self._seen = {}
        self._seen[checked.tobytes()] = result
        return result

    def reward(self, items: Iterable[int]) -> float:
        """Expected reward of a list."""
        return self.shown(items).reward

    def covered(self, items: Iterable[int]) -> tuple[float, float]:
        """Topics a list touches, and topics it covers weighted by how well; NaN where there are no topics."""
        shown = self.shown(items)
        return shown.touched, shown.covered

    def click(self, items: Iterable[int], coins: ArrayLike) -> int | tuple[int, ...] | None:
        """Position of the click or None (cascade); positions of all clicks, from the top (the others)."""
        shown = self.shown(items)
        return self.decide(shown, _flips(coins, len(shown.clicked)))

    def decide(self, shown: Shown, coins: Sequence[float]) -> int | tuple[int, ...] | None:
        """The clicks on a list already looked at; the coins are trusted."""
        if self._single:
            return first(shown.clicked, coins)
        return several(shown.clicked, shown.satisfied, coins)

    def earned(self, items: Iterable[int], coins: ArrayLike) -> float:
        """What a list earns with these coins: ``reward`` is its expectation.

        Clicks alone do not tell, as in a dependent click model satisfaction is not seen.
        """
        shown = self.shown(items)
        flips = _flips(coins, len(shown.clicked))
        clicks = self.decide(shown, flips)
        positions = [] if clicks is None else [clicks] if isinstance(clicks, int) else clicks
        if self.rewarded == "any":
            return float(len(positions) > 0)
        if self.rewarded == "clicks":
            return float(len(positions))
        return float(any(flips[i] < shown.satisfied[i] for i in positions))

    def best(self, k: int) -> IntArray:
        """The list that regret is measured against.

        - Where attraction does not depend on the items above, the optimum: the most attractive items, the more
          attractive where position matters more (examination, termination, or their product, by reward).
        - One exception: number of clicks in a dependent click model with a termination that falls somewhere. There an
          attractive item may end too much; a list is improved by single exchanges until none helps, which need not be
          the optimum.
        - Where it does depend, the greedy list: from the top, the item that attracts most.

        Of equals, the lowest row.
        """
        k = whole("k", k, ProblemError, low=1, high=self.n_items)
        examination, termination = self.clicks.chain(k)
        top = self.attraction.greedy(k)
        if self.attraction.alone is None:
            return top
        weight = np.array(examination)
        if self.rewarded == "satisfied":
            weight = weight * termination
        elif self.rewarded == "clicks" and any(a > b for a, b in itertools.pairwise(termination)):
            return self._improved(top)
        items = np.empty(k, dtype=np.int64)
        items[np.argsort(-weight, kind="stable")] = top
        return items

    def _improved(self, items: IntArray) -> IntArray:
        """The list after the best exchange of two items, or of one for one not in it; again and again."""
        k = len(items)
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        highest = self._rewards(items[None])[0]
        while True:
            swapped = np.tile(items, (len(pairs), 1))
            for row, (i, j) in zip(swapped, pairs, strict=True):
                row[[i, j]] = row[[j, i]]
            outside = np.setdiff1d(np.arange(self.n_items), items)
            replaced = np.tile(items, (k, len(outside), 1))
            for i in range(k):
                replaced[i, :, i] = outside
            near = np.concatenate([swapped, replaced.reshape(-1, k)])
            rewards = self._rewards(near)
            if not len(near) or rewards.max() <= highest + 1e-12:
                return items
            items, highest = near[rewards.argmax()], rewards.max()

    def optimum(self, k: int) -> IntArray:
        """The list with the highest expected reward, by trying all of them; the first one of equals.

        Refuses problems with more than two million lists.
        """
        k = whole("k", k, ProblemError, low=1, high=self.n_items)
        lists = every_list(self.n_items, k)
        best: IntArray = lists[np.argmax(self._rewards(lists))]
        return best

    def _rewards(self, lists: IntArray) -> FloatArray:
        """(lists,) expected reward of each list (lists, k)."""
        examination, termination = self.clicks.chain(lists.shape[1])
        clicked: FloatArray = np.array(examination) * self.attraction.of(lists)
        return expected(list(clicked.T), termination, self.rewarded)


def _flips(coins: ArrayLike, length: int) -> list[float]:
    flips: list[float] = finite("coins", coins, 1, ProblemError).tolist()
    if len(flips) < length:
        raise ProblemError(f"{len(flips)} coins for {length} positions; one for each")
    return flips
