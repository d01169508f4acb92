"""What can be said of a comparison: who leads, who can still be the best, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.arrays import number
from rankfall.compare.duels import Duels
from rankfall.errors import ProblemError


@dataclass(frozen=True)
class Pair:
    """The leader against another ranker.

    Attributes
    ----------
    ranker : the other one.
    compared : lists that said something about the two, ties left out.
    share : the share of them in which the leader was preferred; 0.5 if there are none.
    low, high : bounds of its expectation, which hold whenever one looks.
    left : whether the other one can still be the best.
    """

    ranker: str
    compared: float
    share: float
    low: float
    high: float
    left: bool


@dataclass(frozen=True)
class Standing:
    """Who leads, and who can still be the best.

    Attributes
    ----------
    best : the leader: of those left, or of all if none is, the one that beats most others so far; the first of equals.
    left : all that can still be the best; none, if each is beaten by another one for sure.
    error : how likely it is at most that the best ranker is not among them, however often one looks. Methods that put
        rankers aside by themselves may add to it: MergeDTS its epsilon.
    lists : lists that were learned from.
    pairs : the leader against each of the others.
    """

    best: str
    left: tuple[str, ...]
    error: float
    lists: int
    pairs: tuple[Pair, ...]

    @property
    def decided(self) -> bool:
        """Whether only one is left."""
        return len(self.left) == 1

    def __str__(self) -> str:
        if not self.left:
            return f"no ranker beats every other one, after {self.lists:,} lists; {self.best} beats most of them"
        if self.decided:
            return f"{self.best} is best, after {self.lists:,} lists (error at most {self.error:g})"
        return (
            f"{self.best} leads after {self.lists:,} lists; {len(self.left)} of {len(self.pairs) + 1} can still be "
            f"best (error at most {self.error:g})"
        )


def standing_of(duels: Duels, names: tuple[str, ...], error: float) -> Standing:
    """The standing of a comparison of rankers with these names."""
    error = number("error", error, ProblemError, low=1e-12, high=0.999)
    n = duels.compared
    shares = np.divide(duels.wins, n, out=np.full_like(n, 0.5), where=n > 0)
    left = duels.left(error)
    beaten = (shares > 0.5).sum(axis=1) + ((shares == 0.5).sum(axis=1) - 1) / 2.0
    best = int(np.argmax(np.where(left, beaten, -1.0))) if left.any() else int(np.argmax(beaten))
    low, high = duels.bounds(error)
    pairs = tuple(
        Pair(name, float(n[best, j]), float(shares[best, j]), float(low[best, j]), float(high[best, j]), bool(left[j]))
        for j, name in enumerate(names)
        if j != best
    )
    still = tuple(name for name, inside in zip(names, left.tolist(), strict=True) if inside)
    return Standing(names[best], still, error, duels.n_updates, pairs)
