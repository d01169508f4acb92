"""A simulated user: an attraction, a click model, and what counts as reward."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, rows, whole
from rankfall.errors import ProblemError
from rankfall.kernels.clicks import ClickArrays, click_arrays
from rankfall.users.attraction import Attraction
from rankfall.users.best_lists import best_list
from rankfall.users.brute_force import every_list
from rankfall.users.chances import Chances, chances_of, expected, first, several
from rankfall.users.click_models import REWARDS, Chain, ClickModel, Reward


class ListView(NamedTuple):
    """A list as a user sees it: all that the coins do not change."""

    chances: Chances[float]
    reward: float
    touched: float
    covered: float


class User:
    """A user who is attracted by items, clicks by a model, and whose clicks are worth something.

    Parameters
    ----------
    attraction : :class:`PerItem`, :class:`Linear`, :class:`Coverage` or :class:`Hybrid`.
    clicks : a click model, such as :class:`Cascade` or :class:`DependentClick` (:mod:`rankfall.users.click_models`).
    reward : ``any`` (probability of at least one click), ``clicks`` (expected number of clicks) or ``satisfied``
        (probability of a click after which the user is satisfied). By default what is usual for the click model: any
        for cascades, satisfied for dependent clicks and dynamic Bayesian networks, clicks for the others, in which
        nobody is ever satisfied.

    >>> from rankfall.users import DependentClick, PerItem
    >>> user = User(PerItem([0.1, 0.5, 0.4]), DependentClick([0.8, 0.4]))
    >>> user.best(2), user.reward([1, 2])
    (array([1, 2]), 0.496)
    >>> user.click([1, 2], [0.45, 0.2])  # 0.45 < 0.5 clicks, and is not below 0.8 * 0.5: the user reads on
    (0, 1)
    """

    attraction: Attraction

    def __init__(self, attraction: Attraction, clicks: ClickModel, reward: Reward | None = None) -> None:
        if not isinstance(attraction, Attraction):
            raise ProblemError(f"attraction must be a PerItem, Linear, Coverage or Hybrid, got {attraction!r}")
        if not isinstance(clicks, ClickModel):
            raise ProblemError(f"clicks must be a Cascade, DependentClick or another ClickModel, got {clicks!r}")
        if clicks.n_items not in (None, attraction.n_items):
            raise ProblemError(
                f"{type(clicks).__name__} has {clicks.n_items} items and the attraction {attraction.n_items}; "
                "both need the same"
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
        self._by_item = type(clicks).satisfaction is not ClickModel.satisfaction
        self._chains: dict[int, Chain] = {}

    def __repr__(self) -> str:
        return f"User({self.attraction!r}, {self.clicks!r}, reward={self.rewarded!r})"

    @property
    def n_items(self) -> int:
        """How many items the user may be shown."""
        return self.attraction.n_items

    def attraction_of(self, items: Iterable[int]) -> FloatArray:
        """(k,) probability that each item of a list is clicked if it is examined, given the items above it."""
        attraction: FloatArray = self.attraction.of(self._rows(items)[None])[0]
        return attraction

    def reward(self, items: Iterable[int]) -> float:
        """Expected reward of a list."""
        return expected(self._chances(self._rows(items)), self.rewarded)

    def covered(self, items: Iterable[int]) -> tuple[float, float]:
        """How many topics a list touches, and how many it covers, each weighted by how well; NaN without topics."""
        return self.attraction.covered(self._rows(items))

    def click(self, items: Iterable[int], coins: ArrayLike) -> int | tuple[int, ...] | None:
        """Position of the click or None (cascade); positions of all clicks, from the top (the others)."""
        shown = self._rows(items)
        return self.decide(self._chances(shown), _checked_coins(coins, len(shown)))

    def view(self, items: Iterable[int]) -> ListView:
        """All that there is to know of a list before the coins decide on clicks."""
        shown = self._rows(items)
        chances = self._chances(shown)
        return ListView(chances, expected(chances, self.rewarded), *self.attraction.covered(shown))

    def _chances(self, shown: IntArray) -> Chances[float]:
        if self._alone is None:
            alpha: list[float] = self.attraction.of(shown[None])[0].tolist()
        else:
            alone = self._alone
            alpha = [alone[item] for item in shown.tolist()]
        satisfaction = self.clicks.satisfaction(shown, np.array(alpha)) if self._by_item else None
        return chances_of(self._chain(len(shown)), alpha, None if satisfaction is None else satisfaction.tolist())

    def decide(self, chances: Chances[float], coins: Sequence[float]) -> int | tuple[int, ...] | None:
        """What :meth:`click` gives for a list with these chances; the coins are not checked."""
        return first(chances, coins) if self._single else several(chances, coins)

    def earned(self, items: Iterable[int], coins: ArrayLike) -> float:
        """What a list earns with these coins: ``reward`` is its expectation.

        Clicks alone do not tell: in a dependent click model they do not show whether the user was satisfied.
        """
        shown = self._rows(items)
        chances = self._chances(shown)
        flips = _checked_coins(coins, len(shown))
        clicks = self.decide(chances, flips)
        positions = [] if clicks is None else [clicks] if isinstance(clicks, int) else clicks
        if self.rewarded == "any":
            return float(len(positions) > 0)
        if self.rewarded == "clicks":
            return float(len(positions))
        return float(any(flips[i] < chances.satisfied[i] for i in positions))

    def best(self, k: int) -> IntArray:
        """The list that regret is measured against.

        Where attraction does not depend on the items above, that of :func:`rankfall.users.best_lists.best_list`: the
        optimum, with few exceptions. Where it does depend, the greedy list: from the top, the item that attracts most.
        Of equals, the lowest row.
        """
        k = whole("k", k, ProblemError, low=1, high=self.n_items)
        alone = self.attraction.alone
        if alone is None:
            self._chain(k)
            return self.attraction.greedy(k)
        satisfaction = self.clicks.satisfaction(np.arange(self.n_items), alone)
        top = self.attraction.greedy(k)
        return best_list(top, alone, satisfaction, self._chain(k), self.rewarded, self._rewards)

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
        return expected(self.chances(lists), self.rewarded)

    def chances(self, lists: IntArray) -> Chances[FloatArray]:
        """What may happen at each position of each list (lists, k)."""
        alpha = self.attraction.of(lists)
        satisfaction = self.clicks.satisfaction(lists, alpha)
        ends = None if satisfaction is None else list(satisfaction.T)
        return chances_of(self._chain(lists.shape[1]), list(alpha.T), ends)

    def arrays(self, k: int) -> ClickArrays | None:
        """What compiled loops need to know for lists of ``k``; None if attraction depends on the items above."""
        alone = self.attraction.alone
        if alone is None:
            return None
        return chain_arrays(self._chain(k), alone, self.clicks.satisfaction(np.arange(self.n_items), alone))

    def _rows(self, items: Iterable[int]) -> IntArray:
        return rows("items", items, self.n_items, ProblemError)

    def _chain(self, k: int) -> Chain:
        """The first ``k`` positions, kept since lists mostly have the same length."""
        chain = self._chains.get(k)
        if chain is None:
            chain = self._chains[k] = self.clicks.chain(k)
        return chain


def _checked_coins(coins: ArrayLike, length: int) -> list[float]:
    flips: list[float] = finite("coins", coins, 1, ProblemError).tolist()
    if len(flips) < length:
        raise ProblemError(f"{len(flips)} coins for {length} positions; one for each")
    return flips


def chain_arrays(chain: Chain, attraction: FloatArray, satisfaction: FloatArray | None) -> ClickArrays:
    """A chain laid out for the kernels, with copies of the attraction and satisfaction of each item."""
    examination = np.zeros((len(chain.examination), len(chain.examination[-1])))
    for row, columns in zip(examination, chain.examination, strict=True):
        row[: len(columns)] = columns
    return click_arrays(attraction, examination, chain.termination, satisfaction, chain.after_none, chain.after_click)
