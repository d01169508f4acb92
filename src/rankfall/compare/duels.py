"""How often each ranker was preferred to each other one, who is out, and plain ways to choose who is compared next."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, FloatArray, IntArray, fill
from rankfall.kernels.duels import preferred
from rankfall.policies.settings import PolicySettings

RHO = 10.0
"""Where the bound of :func:`radius` is tightest: at a hundred to a thousand comparisons of a pair."""

_TIE = 1e-9
"""How far a preference may be from 1/2 by rounding."""


class Duels:
    """The state of a comparison of ``n`` rankers.

    Attributes
    ----------
    wins : (n, n) how often i was preferred to j; a preference may be shared, as 0.7 and 0.3.
    n_updates : how many lists it has learned from.
    arrays : what the method keeps beside it.
    """

    def __init__(self, n: int, method: Method) -> None:
        self.n, self.method = n, method
        self.wins: FloatArray = np.zeros((n, n))
        self.n_updates = 0
        self.arrays: dict[str, NDArray[Any]] = method.begin(n)

    def choose(self, rng: np.random.Generator) -> tuple[int, ...]:
        """The rankers to compare next; one, if there is nothing more to compare."""
        return self.method.choose(self, rng)

    def learn(self, preferences: Mapping[tuple[int, int], float]) -> None:
        """Learn from one list: for pairs of rankers, how far the first was preferred to the second, from 0 to 1.

        A tie (0.5) counts for neither and says nothing.
        """
        decided = {pair: share for pair, share in preferences.items() if abs(share - 0.5) > _TIE}
        if not decided:
            return
        for (first, second), share in decided.items():
            self.wins[first, second] += share
            self.wins[second, first] += 1.0 - share
        self.n_updates += 1
        self.method.settle(self)

    @property
    def compared(self) -> FloatArray:
        """(n, n) how often each pair was compared, ties left out."""
        return self.wins + self.wins.T

    def bounds(self, error: float) -> tuple[FloatArray, FloatArray]:
        """(n, n) lower and upper bounds of the probability that i is preferred to j, 0 and 1 where nothing is known.

        For the pairs of any one ranker all of them hold at all times with probability ``1 - error`` or more.
        """
        n = self.compared
        shares = np.divide(self.wins, n, out=np.full_like(n, 0.5), where=n > 0)
        width = radius(n, error / max(self.n - 1, 1))
        return np.maximum(shares - width, 0.0), np.minimum(shares + width, 1.0)

    def left(self, error: float) -> BoolArray:
        """(n,) who can still be the best: preferred by nobody for sure, and not put aside by the method.

        If there is one ranker that is preferred to every other one, it is not among them with probability ``error`` at
        most, however often one looks (and whatever the method allows itself).
        """
        _, high = self.bounds(error)
        np.fill_diagonal(high, 1.0)
        still: BoolArray = self.method.left(self)
        return still & (high >= 0.5).all(axis=1)

    # State.

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that was learned, as arrays by name: a copy."""
        own = {"wins": self.wins, "n_updates": np.array(self.n_updates), **self.arrays}
        return {name: array.copy() for name, array in own.items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this; raises ValueError, and changes nothing, where that cannot be."""
        own = self.state()
        if own.keys() != arrays.keys():
            raise ValueError(f"it needs the arrays {', '.join(own)}; got {', '.join(arrays)}")
        for name, array in own.items():
            fill(array, name, arrays[name])
        if (own["wins"] < 0).any() or own["n_updates"] < 0:
            raise ValueError("wins and updates cannot be below 0")
        self.wins, self.n_updates = own.pop("wins"), int(own.pop("n_updates"))
        self.arrays = own


def radius(n: FloatArray, error: float) -> FloatArray:
    """How far the mean of ``n`` numbers in [0, 1] may be from its expectation: for all n at once, with this error.

    Numbers in [0, 1] are sub-Gaussian with variance 1/4 (Hoeffding). With V = n / 4 and S the sum of deviations,
    ``sqrt(rho / (V + rho)) exp(S^2 / (2 (V + rho)))`` is a martingale that begins at 1 or below one (a mixture over
    normal distributions: Robbins 1970; Howard, Ramdas, McAuliffe, Sekhon 2021; both from memory, and the tests check
    it). It exceeds 1 / error at any time with probability ``error`` at most (Ville), so that::

        |S| < sqrt((V + rho) log((V + rho) / (rho error^2)))   for all n, with probability 1 - error

    >>> radius(np.array([0.0, 100.0, 10_000.0]), 0.05).round(3)
    array([  inf, 0.159, 0.017])
    """
    v = n / 4.0 + RHO
    reach = np.sqrt(v * np.log(v / (RHO * error**2)))
    width: FloatArray = np.divide(reach, n, out=np.full_like(reach, math.inf), where=n > 0)
    return width


@dataclass(frozen=True)
class Method(PolicySettings):
    """Who is compared next: a frozen value. What it must remember beside the duels is in their ``arrays``."""

    def begin(self, n: int) -> dict[str, NDArray[Any]]:  # noqa: ARG002 - for those that remember something
        """Arrays by name, before anything was compared."""
        return {}

    @abstractmethod
    def choose(self, duels: Duels, rng: np.random.Generator) -> tuple[int, ...]:
        """The rankers to compare next, drawing from ``rng`` only; must not change the duels."""

    def settle(self, duels: Duels) -> None:
        """Take in what was learned; called after each list that said something."""

    def left(self, duels: Duels) -> BoolArray:
        """(n,) whom it still compares."""
        return np.ones(duels.n, dtype=bool)


@dataclass(frozen=True)
class UniformPairs(Method):
    """Compares two rankers drawn at random, whatever was seen: the plain reference."""

    def choose(self, duels: Duels, rng: np.random.Generator) -> tuple[int, ...]:
        """Two of them."""
        return tuple(rng.choice(duels.n, size=min(2, duels.n), replace=False).tolist())


@dataclass(frozen=True)
class Together(Method):
    """Compares all rankers in every list: a multileaved comparison, for a few of them."""

    def choose(self, duels: Duels, rng: np.random.Generator) -> tuple[int, ...]:  # noqa: ARG002 - nothing is drawn
        """All of them."""
        return tuple(range(duels.n))


def sampled_wins(wins: FloatArray, rng: np.random.Generator, of: IntArray | None = None) -> IntArray:
    """(n,) how many others each ranker beats, if preferences are drawn from what is believed of them.

    ``theta_ij ~ Beta(1 + wins of i, 1 + wins of j)`` for i < j, ``theta_ji = 1 - theta_ij``, and i beats j if theta_ij
    is above 1/2. Only that is drawn, with the probability it has. If only those ``of`` some rankers matter, pairs of
    two others are not drawn.
    """
    first, second = np.triu_indices(len(wins), 1)
    if of is not None:
        wanted = np.zeros(len(wins), dtype=bool)
        wanted[of] = True
        drawn = wanted[first] | wanted[second]
        first, second = first[drawn], second[drawn]
    chances = np.empty(len(first))
    preferred(wins, first, second, chances)
    ahead = rng.random(len(first)) < chances
    return np.bincount(np.where(ahead, first, second), minlength=len(wins))


def any_best(scores: NDArray[Any], rng: np.random.Generator) -> int:
    """One of those with the highest score, all equally likely."""
    return int(rng.choice(np.flatnonzero(scores == scores.max())))
