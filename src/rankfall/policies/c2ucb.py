"""C2UCB: contextual combinatorial bandits, with diversity in what the list is chosen for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray
from rankfall.errors import ProblemError
from rankfall.kernels import c2ucb
from rankfall.policies.linear.ridge import Ridge
from rankfall.policies.plain_features import plain_features
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, real


@dataclass(frozen=True)
class C2UCBSettings(PolicySettings):
    """Settings of :class:`C2UCB`."""

    gamma: float = real(1.0, low=0.0)
    diversity: float = real(0.1, low=0.0)
    sigma: float = real(0.5, low=0.0)

    def check(self) -> None:
        """There is some noise."""
        if not self.sigma:
            raise ProblemError("sigma must be above 0: without noise two items alike have no entropy")


class C2UCB(Policy):
    """Relevant items unlike each other, every item of the list observed.

    Qin, Chen, Zhu: Contextual Combinatorial Bandit and its Application on Diversified Online Recommendation, SDM 2014.
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

    >>> from rankfall import Catalog
    >>> catalog = Catalog(relevance=[[1.0, 0.0], [0.9, 0.0], [0.0, 0.5]])
    >>> C2UCB(catalog, diversity=0.0).rank(2), C2UCB(catalog, diversity=9.0).rank(2)
    (Ranking(0, 1), Ranking(0, 2))
    """

    Settings = C2UCBSettings
    summary = "relevant items unlike each other, every item of the list observed"
    paper = (
        "Qin, Chen, Zhu: Contextual Combinatorial Bandit and its Application on Diversified Online "
        "Recommendation, SDM 2014"
    )
    needs = frozenset({"coverage", "relevance"})
    why_not_served = "its lists do not carry the features they were made with"

    settings: C2UCBSettings

    def prepare(self) -> None:
        """The features."""
        self._features: FloatArray = plain_features("C2UCB", self.catalog, coverage=True)

    def begin(self) -> None:
        """A ridge model that has seen nothing."""
        self._model = Ridge(self._features.shape[1])

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value:g}" for name, value in vars(self.settings).items())
        return f"C2UCB({self.catalog!r}, {settings}, {self.n_updates} updates)"

    @property
    def n_updates(self) -> int:
        """How many lists it has learned from."""
        return self._model.n_updates

    @property
    def weights(self) -> FloatArray:
        """Estimated preferences: for each topic, then for each relevance feature."""
        return self._model.weights.copy()

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays of the ridge model."""
        with self._model.lock:
            return self._model.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        model = Ridge.restore(arrays)
        if len(model.weights) != self._features.shape[1]:
            raise ValueError(f"a state of {len(model.weights)} columns for {self._features.shape[1]}")
        self._model = model

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:  # noqa: ARG002 - draws nothing
        """The greedy list for upper confidence bounds and entropy; ties go to the lowest row."""
        items, candidates = request.empty_list(), request.rows
        if request.fixed:
            candidates = np.sort(np.append(candidates, list(request.fixed.values())))
        gamma, diversity, sigma = self.settings.gamma, self.settings.diversity, self.settings.sigma
        with self._model.lock:
            state = self._model.state
            c2ucb.rank(self._features, state.weights, state.covariance, gamma, diversity, sigma, candidates, items)
        return Ranking.trusted(items, None, self.catalog)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Learn from all items of the list: those clicked earned 1, the others 0."""
        rewards = np.zeros(len(ranking))
        rewards[clicks] = 1.0
        with self._model.lock:
            self._model.learn(self._features[ranking.items], rewards)

    def compiled_state(self, k: int, rng: np.random.Generator) -> c2ucb.C2UCBSteps:  # noqa: ARG002
        """Its model and features."""
        settings, rows, columns = self.settings, np.arange(self.n_items), self._features.shape[1]
        return c2ucb.C2UCBSteps(
            self._features,
            self._model.state,
            settings.gamma,
            settings.diversity,
            settings.sigma,
            rows,
            np.empty((k, columns)),
            np.empty(k),
            np.empty(columns),
            c2ucb.room(self._features, rows, settings.sigma, k, True),
        )
