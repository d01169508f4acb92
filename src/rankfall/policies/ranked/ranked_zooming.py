"""RankedZooming: a zooming bandit for each position, for items with distances between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import BoolArray, FloatArray, IntArray, finite, frozen
from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.kernels import zooming
from rankfall.policies.ranked.policy import Choices, RankedPolicy, RankedSettings
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import count, flag, real, reals


@dataclass(frozen=True)
class RankedZoomingSettings(RankedSettings):
    """Settings of :class:`RankedZooming`."""

    steps: int = count(10_000, low=2)
    distances: tuple[tuple[float, ...], ...] | None = reals(None, ndim=2)
    radius: float | None = real(None, low=1e-9)
    correlated: bool = flag(True)


class RankedZooming(RankedPolicy):
    """A zooming bandit for each position: looks closer at similar items only where it pays.

    Slivkins, Radlinski, Gollapudi: Ranked Bandits in Metric Spaces, ICML 2010 and JMLR 14 (2013). Ranked bandits for
    many items with a distance between them, such that similar items are relevant to the same users: given
    that nothing in the upper positions S was clicked, the probabilities of a click on x and y differ by ``D(x, y)`` at
    most. Each position has a zooming algorithm, which looks closer only where it pays. What is taken:

    - **Active items.** Only those are chosen. At first there is one, row 0.
    - **Confidence radius** of an active item chosen n times: ``r(x) = sqrt(radius / (1 + n))``, ``radius = 4 log T``.
    - **Covering condition.** Every item lies within ``r(x)`` of an active x. As soon as one does not, after feedback
      that made a radius shrink, it is activated (the first such row).
    - **Choice.** The active item with the highest index ``mean + 2 r(x)``, which bounds what any item in the ball of x
      earns.
    - **Context** (``correlated``). An item y in S was not clicked, so its conditional probability is 0, and that of x
      is ``D(x, y)`` at most; of items in the ball of x, ``D(x, y) + r(x)``. So the index is also at most
      ``D(x, y) + r(x)`` for each y shown above: what is close to it need not be tried. This is our derivation of their
      correlated form (RankCorrZoom), from the same condition.
    - **Feedback.** If position i is clicked, its bandit is told 1 and those above 0; for those below it is as if the
      round had not happened, since their rewards are conditional on no click above. If a choice is shown above already,
      the nearest item that is not is shown, and the bandit is told 0.

    Where this form differs: theirs are trees, with a subtree for a ball and a random document of it for its centre;
    here balls are in any metric and show their centre (as in Kleinberg, Slivkins, Upfal: Multi-Armed Bandits in Metric
    Spaces, STOC 2008). Their other form, where the documents above are the context of a contextual zooming algorithm,
    is :class:`RankedContextZooming`. The constant 4 log T is from memory, as is that their experiments take 1 in its
    place; both can be set.

    Parameters
    ----------
    catalog : the items, whose features give the distances; or how many there are, with ``distances``.
    k : positions to learn.
    steps : the horizon T.
    distances : (items, items), symmetric, zero from an item to itself; those of a catalog are Euclidean between rows of
        coverage and relevance, divided by the largest. Scale them by how much clicks can change with distance.
    radius : 4 log T if not given.
    correlated : whether the index takes the items above into account.

    >>> from rankfall import Catalog
    >>> policy = RankedZooming(Catalog(relevance=[[0.0], [0.1], [1.0]]), k=2, steps=100)
    >>> policy.rank(2)
    Ranking(0, 1)
    """

    Settings = RankedZoomingSettings
    summary = "a zooming bandit for each position: looks closer at similar items only where it pays"
    paper = "Slivkins, Radlinski, Gollapudi: Ranked Bandits in Metric Spaces, JMLR 14 (2013)"

    settings: RankedZoomingSettings

    def prepare(self) -> None:
        """Distances and the constant of the confidence radius."""
        super().prepare()
        given = self.settings.radius
        self.radius = 4.0 * math.log(self.settings.steps) if given is None else given
        self.distances = item_distances(self.catalog, self.settings.distances)

    def begin(self) -> None:
        """For each position and item (k, items): how often chosen, with how many clicks, and whether it is active."""
        shape = (self.k, self.n_items)
        self.arrays = {"counts": np.zeros(shape), "sums": np.zeros(shape), "active": np.zeros(shape, dtype=bool)}
        for position in range(self.k):
            zooming.cover(self.arrays["counts"][position], self.arrays["active"][position], self.distances, self.radius)

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:  # noqa: ARG002 - draws nothing
        """Show what the bandits choose."""
        items, chosen = request.empty_list(), np.empty(request.k, dtype=np.int64)
        known = self.arrays
        zooming.zooming_list(
            known["counts"],
            known["sums"],
            known["active"],
            self.distances,
            self.radius,
            self.settings.correlated,
            request.allowed,
            items,
            chosen,
        )
        return Ranking.trusted(items, Choices(chosen.tolist(), []), self.catalog)

    def tell(self, chosen: Choices, shown: IntArray, clicked: BoolArray) -> None:
        """Only those down to the first click are told."""
        known, choices = self.arrays, np.array(chosen.items, dtype=np.int64)
        zooming.zooming_tell(
            known["counts"], known["sums"], known["active"], self.distances, self.radius, shown, choices, clicked
        )

    def compiled_state(self, k: int, rng: np.random.Generator) -> zooming.RankedZoomingSteps:  # noqa: ARG002
        """Zooming at each position."""
        known, everything = self.arrays, np.ones(self.n_items, dtype=bool)
        return zooming.RankedZoomingSteps(
            known["counts"],
            known["sums"],
            known["active"],
            self.distances,
            self.radius,
            self.settings.correlated,
            everything,
            np.empty(k, dtype=np.int64),
            np.empty(self.n_items, dtype=bool),
        )


def item_distances(catalog: Catalog, given: ArrayLike | None) -> FloatArray:
    """The given distances, checked; or Euclidean ones between the features, divided by the largest."""
    n_items = len(catalog)
    if given is not None:
        matrix = finite("distances", given, 2, ProblemError)
        if matrix.shape != (n_items, n_items):
            raise ProblemError(f"distances has shape {matrix.shape} for {n_items} items; one row and column for each")
        if (matrix < 0).any() or (matrix != matrix.T).any() or matrix.diagonal().any():
            raise ProblemError("distances must be symmetric, not negative, and 0 from each item to itself")
        return matrix
    features = np.hstack([catalog.coverage, catalog.relevance])
    if not features.shape[1]:
        raise ProblemError(f"{n_items} items without features need distances; give them, or a catalog with features")
    squares = np.sum(features**2, axis=1)
    matrix = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * features @ features.T, 0.0))
    matrix = 0.5 * (matrix + matrix.T)
    np.fill_diagonal(matrix, 0.0)
    if n_items > 1 and not matrix.any():
        raise ProblemError(f"the {n_items} items of the catalog have the same features; no distance tells them apart")
    scaled: FloatArray = frozen(matrix / matrix.max() if n_items > 1 else matrix)
    return scaled
