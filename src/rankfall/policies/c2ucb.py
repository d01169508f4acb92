"""C2UCB: contextual combinatorial bandits, with diversity in what the list is chosen for."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, number
from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.kernels import entropy
from rankfall.model import Ridge
from rankfall.policies.base import BasePolicy, as_shown
from rankfall.policies.columns import plain_columns
from rankfall.policies.kinds import Kind
from rankfall.policies.ranking import Ranking


class C2UCB(BasePolicy):
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
        self._features: FloatArray = plain_columns("C2UCB", catalog, coverage=True)
        super().__init__(catalog)
        self.catalog = catalog
        self.gamma = number("gamma", gamma, ProblemError, low=0.0)
        self.diversity = number("diversity", diversity, ProblemError, low=0.0)
        self.sigma = number("sigma", sigma, ProblemError, low=0.0)
        if not self.sigma:
            raise ProblemError("sigma must be above 0: without noise two items alike have no entropy")
        self._model = Ridge(self._features.shape[1])

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
    def weights(self) -> FloatArray:
        """Estimated preferences: for each topic, then for each relevance feature."""
        return self._model.weights.copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all it has learned, by name."""
        with self._model.lock:
            return self._model.arrays()

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:  # noqa: ARG002
        """The greedy list for upper confidence bounds and entropy; ties to the lowest row."""
        items = np.empty(k, dtype=np.int64)
        with self._model.lock:
            state = self._model.state
            entropy.rank(
                self._features, state.weights, state.covariance, self.gamma, self.diversity, self.sigma, rows, items
            )
        return as_shown(items)

    def _learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Learn from all items of the list: those clicked earned 1, the others 0."""
        rewards = np.zeros(len(ranking))
        rewards[clicks] = 1.0
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
