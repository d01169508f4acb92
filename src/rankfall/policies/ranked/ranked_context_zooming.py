"""RankedContextZooming: contextual zooming at each position, with the items above as context."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, IntArray
from rankfall.policies.ranked.context_zooming import ContextZooming
from rankfall.policies.ranked.policy import Choices, RankedPolicy
from rankfall.policies.ranked.ranked_zooming import RankedZoomingSettings, item_distances
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import real

PARTS = ("contexts", "centres", "radii", "counts", "sums")
"""The arrays of the balls of a position."""


@dataclass(frozen=True)
class RankedContextZoomingSettings(RankedZoomingSettings):
    """Settings of :class:`RankedContextZooming`."""

    weight: float = real(1.0, low=0.0)


class RankedContextZooming(RankedPolicy):
    """A contextual zooming bandit for each position, which sees the items above: what is shown there changes the rest.

    Slivkins, Radlinski, Gollapudi: Ranked Bandits in Metric Spaces, ICML 2010 and JMLR 14 (2013), their ranked bandits
    with contexts: the bandit of a position is told which items stand above it, and uses a contextual zooming algorithm
    (:class:`~rankfall.policies.ranked.context_zooming.ContextZooming`, where its lines are). :class:`RankedZooming`
    learns one number for an item at a position, whatever stands above, which is right only once the upper positions
    have settled; this one learns it for each context, and from similar ones.

    For each position i from the top, with S the items above it:

    1. Of the items that are not in S, each has the index I of the least ball that holds (S, item).
    2. ``correlated``: at most ``min over y in S of D(item, y)``. An item y in S was not clicked, and the probabilities
       of similar items differ by D at most: this is the condition of their correlated form (RankCorrZoom).
    3. The item with the highest index is shown, equals drawn at random.
    4. If position i is clicked, its bandit is told 1 and those above 0; for those below it is as if the round had not
       happened, since their rewards are conditional on no click above.

    The distance of two pairs is ``min(1, D(x, x') + weight * sum_j D(S_j, S'_j))``. What must be known for that is how
    much the probability of a click on x, given none on S, can change when one item of S is exchanged for a similar one;
    it is not more than 2 D / P(no click on S) for each (our derivation; the paper has a constant too, which we could
    not look up). ``weight`` is that constant; 0 makes it plain zooming without contexts.

    The text of neither paper was at hand: their lines are from memory, those of contextual zooming agree with public
    code (relevant balls, index, the new ball of half the radius). Where this form differs: theirs are trees, here balls
    are in any metric; ``radius`` is 4 log T as in :class:`RankedZooming`, where the analysis of contextual zooming has
    16 log T; an item that is shown above is not chosen again, instead of being replaced; late feedback counts for the
    ball that holds its pair when it comes.

    Parameters
    ----------
    catalog, k, steps, distances, radius, correlated : as in :class:`RankedZooming`.
    weight : how much a distance between items above counts.

    >>> from rankfall import Catalog
    >>> policy = RankedContextZooming(Catalog(relevance=[[0.0], [0.1], [1.0]]), k=2, steps=100)
    >>> policy.update(policy.rank(2, rng=np.random.default_rng(0)), 0)
    >>> policy.n_balls
    (1, 1)
    """

    Settings = RankedContextZoomingSettings
    summary = "contextual zooming at each position: what is shown above is the context"
    paper = "Slivkins, Radlinski, Gollapudi: Ranked Bandits in Metric Spaces, JMLR 14 (2013)"
    randomised = True

    settings: RankedContextZoomingSettings

    def prepare(self) -> None:
        """Distances and the constant of the confidence radius."""
        super().prepare()
        given = self.settings.radius
        self.radius = 4.0 * math.log(self.settings.steps) if given is None else given
        self.distances = item_distances(self.catalog, self.settings.distances)

    def begin(self) -> None:
        """At each position one ball."""
        super().begin()
        self._bandits = [self._fresh(position) for position in range(self.k)]

    def _fresh(self, position: int) -> ContextZooming:
        return ContextZooming.fresh(position, self.settings.weight, self.radius, self.distances)

    @property
    def n_balls(self) -> tuple[int, ...]:
        """How many balls each position has."""
        return tuple(len(bandit.centres) for bandit in self._bandits)

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """At each position the item with the highest index, given those above."""
        coins = rng.random(request.k)
        items, chosen = request.empty_list(), [-1] * request.k
        free = request.allowed.copy()
        for position, coin in enumerate(coins.tolist()):
            if items[position] >= 0:
                continue
            rows = np.flatnonzero(free)
            if position < self.k:
                bandit, above = self._bandits[position], items[:position]
                balls = bandit.balls(above)[rows]
                index = bandit.index[balls]
                if self.settings.correlated and position:
                    index = np.minimum(index, self.distances[rows][:, above].min(axis=1))
                best = np.flatnonzero(index == index.max())
                at = int(best[min(int(coin * len(best)), len(best) - 1)])
                chosen[position] = int(rows[at])
            else:
                at = 0
            items[position] = rows[at]
            free[rows[at]] = False
        return Ranking.trusted(items, Choices(chosen, []), self.catalog)

    def tell(self, chosen: Choices, shown: IntArray, clicked: BoolArray) -> None:
        """Only those down to the first click are told."""
        told = min(self.k, int(clicked.argmax()) + 1) if clicked.any() else self.k
        for position, item in enumerate(chosen.items[:told]):
            if item >= 0:
                self._bandits[position].tell(shown[:position], item, float(clicked[position]))

    # State: the balls of all positions, one after the other.

    def state(self) -> dict[str, NDArray[Any]]:
        """The balls of each position: ``contexts.2`` and so on."""
        balls = {
            f"{part}.{position}": getattr(bandit, part).copy()
            for position, bandit in enumerate(self._bandits)
            for part in PARTS
        }
        return {**super().state(), **balls}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        own = self.state()
        if arrays.keys() != own.keys():
            raise ValueError(f"{type(self).__name__} needs the arrays {', '.join(own)}; got {', '.join(arrays)}")
        bandits = []
        for position in range(self.k):
            given = {part: arrays[f"{part}.{position}"].copy() for part in PARTS}
            n = len(given["centres"])
            for part, array in given.items():
                shape = (n, position) if part == "contexts" else (n,)
                if array.shape != shape or array.dtype != own[f"{part}.{position}"].dtype or not n:
                    raise ValueError(f"{part}.{position} is {array.dtype} of shape {array.shape}")
                if not np.isfinite(array).all() or (array < 0).any():
                    raise ValueError(f"{part}.{position} has numbers that cannot be")
            if max(given["centres"].max(), given["contexts"].max(initial=0)) >= self.n_items:
                raise ValueError("balls are round items that are not there")
            bandits.append(ContextZooming(position, self.settings.weight, self.radius, self.distances, **given))
        self._bandits, self._n_updates = bandits, int(arrays["n_updates"])
