"""C2UCB: contextual combinatorial bandits, with diversity in what the list is chosen for."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, frozen, number
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, FeedbackError, ProblemError
from rankfall.kernels import entropy
from rankfall.model import Ridge
from rankfall.policies.kinds import Kind
from rankfall.policies.linear import LARGEST_GIVEN
from rankfall.policies.ranking import Click, Ranking, all_clicks, eligible


class C2UCB:
    """Qin, Chen, Zhu: Contextual Combinatorial Bandit and its Application on Diversified Online Recommendation, 2014.

    Algorithm (their symbols; all items of the list are observed):

    1. ``V_0 = lambda I``, ``b_0 = 0``.
    2. In round t: ``theta_t = V^-1 b``; for every item i ``r_i = theta_t . x_i + alpha_t sqrt(x_i' V^-1 x_i)``.
    3. ``S_t`` = the oracle's list for these scores.
    4. Observe the score of every item of the list; ``V += sum of x x'``, ``b += sum of r x``.

    The oracle maximises, greedily, ``sum over S of r_i + lambda h(S)`` with the differential entropy of the list's
    ratings ``h(S) = 1/2 log((2 pi e)^|S| det(X_S' X_S + sigma^2 I))``; the factor with ``2 pi e`` is the same for all
    lists of a length, and left out. Every item adds the log of its variance given those above it, so that items unlike
    those above come first.

    Where ours differs: ``V_0 = I``; ``alpha_t`` is a constant, ``gamma``, where the paper's grows with log t; their
    rewards are ratings, ours clicks, so that an item without one counts as 0 even if it was not looked at; and the list
    is shown in the order in which the oracle takes the items. We are not sure of the values of ``lambda`` (here
    ``diversity``) and ``sigma`` in their experiments, so they are parameters; the defaults are ours.

    Features are those of the catalog as they stand: coverage, then relevance. Nothing diminishes.

    Parameters
    ----------
    catalog : items with coverage, relevance, or both.
    gamma : exploration, their alpha.
    diversity : weight of the entropy, their lambda; with 0 this is LinUCB for lists.
    sigma : standard deviation of the noise of ratings; smaller means that near-duplicates cost more.

    >>> catalog = Catalog(relevance=[[1.0, 0.0], [0.9, 0.0], [0.0, 0.5]])
    >>> C2UCB(catalog, diversity=0.0).rank(2), C2UCB(catalog, diversity=9.0).rank(2)
    (Ranking(0, 1), Ranking(0, 2))
    """

    def __init__(self, catalog: Catalog, *, gamma: float = 1.0, diversity: float = 0.1, sigma: float = 0.5) -> None:
        if not isinstance(catalog, Catalog):
            raise CatalogError(f"catalog must be a Catalog, got {type(catalog).__name__}")
        features = np.hstack([catalog.coverage, catalog.relevance])
        if not features.shape[1]:
            raise CatalogError(f"C2UCB needs topics or relevance features, and {catalog!r} has none")
        if np.abs(features).max(initial=0.0) > LARGEST_GIVEN:
            raise CatalogError(f"a feature is beyond {LARGEST_GIVEN:g}; scale features to about 1")
        self.catalog = catalog
        self.gamma = number("gamma", gamma, ProblemError, low=0.0)
        self.diversity = number("diversity", diversity, ProblemError, low=0.0)
        self.sigma = number("sigma", sigma, ProblemError, low=0.0)
        if not self.sigma:
            raise ProblemError("sigma must be above 0: without noise two items alike have no entropy")
        self._features: FloatArray = frozen(np.ascontiguousarray(features))
        self._model = Ridge(features.shape[1])

    def __deepcopy__(self, memo: dict[int, Any]) -> C2UCB:
        """A policy that learns on its own from here; what cannot change is shared."""
        twin = copy.copy(self)
        with self._model.lock:
            twin._model = self._model.copy()
        memo[id(self)] = twin
        return twin

    def __repr__(self) -> str:
        settings = f"gamma={self.gamma:g}, diversity={self.diversity:g}, sigma={self.sigma:g}"
        return f"C2UCB({self.catalog!r}, {settings}, {self._model.n_updates} updates)"

    @property
    def n_items(self) -> int:
        """How many items there are to rank."""
        return len(self._features)

    @property
    def weights(self) -> FloatArray:
        """Estimated preferences: for each topic, then for each relevance feature."""
        return self._model.weights.copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all it has learned, by name."""
        with self._model.lock:
            return self._model.arrays()

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,  # noqa: ARG002 - part of the contract; this policy draws nothing
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
    ) -> Ranking:
        """The greedy list for upper confidence bounds and entropy; ties to the lowest row."""
        k, allowed = eligible(k, self.n_items, candidates, exclude)
        items = np.empty(k, dtype=np.int64)
        with self._model.lock:
            state = self._model.state
            entropy.rank(
                self._features, state.weights, state.covariance, self.gamma, self.diversity, self.sigma, allowed, items
            )
        return Ranking(items)

    def update(self, ranking: Ranking, click: Click) -> None:
        """Learn from all items of the list: those clicked earned 1, the others 0."""
        if not isinstance(ranking, Ranking):
            raise FeedbackError(f"expected the Ranking that was shown, got {type(ranking).__name__}")
        if len(ranking) and ranking.items.max() >= self.n_items:
            raise FeedbackError(f"the ranking shows row {ranking.items.max()} of {self.n_items} items")
        rewards = np.zeros(len(ranking))
        rewards[all_clicks(click, len(ranking))] = 1.0
        with self._model.lock:
            self._model.learn(self._features[ranking.items], rewards)


KINDS: tuple[Kind, ...] = (
    Kind(
        "C2UCB",
        summary="relevant items unlike each other, every item of the list observed",
        paper="Qin, Chen, Zhu: Contextual Combinatorial Bandit and its Application on Diversified Online "
        "Recommendation, SDM 2014",
        build=C2UCB,
        needs=frozenset({"gamma"}),
    ),
)
