"""PDGD: a linear ranker that learns from pairs of clicked and unclicked items, corrected for where they stood."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, finite, number
from rankfall.catalog import Catalog
from rankfall.errors import FeedbackError, ProblemError
from rankfall.kernels import pairs
from rankfall.policies.base import BasePolicy, as_shown
from rankfall.policies.columns import plain_columns
from rankfall.policies.kinds import Kind
from rankfall.policies.ranking import Click, Ranking, generator


class PDGD(BasePolicy):
    """Pairwise differentiable gradient descent with a linear scoring function.

    Oosterhuis, de Rijke: Differentiable Unbiased Online Learning to Rank, CIKM 2018, Algorithm 1, for one query.
    In every step it

    1. scores every item, ``f(a) = w . phi_a``;
    2. draws the list R from the Plackett-Luce model: at each position the item a of those left, with probability
       proportional to ``exp(f(a))``. (Here: the k highest of ``f + Gumbel noise``, which is the same);
    3. infers from the clicks that clicked items are preferred to those seen and not clicked. Seen are the
       items above a click, and the first one below the last click;
    4. for every such pair (c, u): ``R*`` is R with the two exchanged, and ``rho = P(R*) / (P(R) + P(R*))``;
    5. sets ``w <- w + eta * sum over the pairs of rho * s (1 - s) * (phi_c - phi_u)``, where
       ``s = 1 / (1 + exp(f(u) - f(c)))``.

    Unbiased means in the paper: in expectation over lists and clicks, the weight of each pair has the sign of the
    user's preference between the two, whatever the position bias; two items equally liked do not move each other,
    although one of them stands above the other more often. That is not the gradient of a reward.

    Constants: ``eta = 0.1`` (the paper's, as we have it, for linear models) and ``w = 0`` to begin with: all lists are
    equally likely. Public implementations may also begin at random. What counts as seen in 3 follows them: of several
    clicks each is preferred to every unclicked item above the last one, also to those below itself.

    Where this form differs: the paper ranks the documents of many queries, with features of query and document; here
    there is one set of items. Steps 4 and 5 use the scores *at the time the list was shown*, which come back with the
    ranking: of a late answer ``P(R)`` must be that of the model the list was drawn from. So what is learned from
    a set of answers does not depend on the order in which they come. With ``candidates`` or ``exclude`` the
    probabilities are those of drawing from what was allowed.

    The draw never stops exploring on its own; it becomes sharper as ``w`` grows.

    Parameters
    ----------
    catalog : its relevance features are used; also its coverage if ``coverage`` (as plain features).
    learning_rate : eta.

    >>> policy = PDGD(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> shown = policy.rank(2, rng=np.random.default_rng(0))
    >>> shown
    Ranking(2, 1)
    >>> policy.update(shown, click=1)
    >>> policy.weights
    array([-0.00625,  0.00625])

    A user who only ever clicks the first item is learned quickly:

    >>> rng = np.random.default_rng(0)
    >>> for _ in range(2000):
    ...     shown = policy.rank(2, rng=rng)
    ...     policy.update(shown, [i for i, item in enumerate(shown.items) if item == 0])
    >>> policy.scores.argmax()
    np.int64(0)
    """

    def __init__(self, catalog: Catalog, *, learning_rate: float = 0.1, coverage: bool = False) -> None:
        self._features: FloatArray = plain_columns("PDGD", catalog, coverage=coverage)
        super().__init__(catalog)
        self._ids = catalog.ids
        self.learning_rate = number("learning_rate", learning_rate, ProblemError, low=0.0, high=1e6)
        self._weights = np.zeros(self._features.shape[1])
        self._scores = np.zeros(len(self._features))

    def __repr__(self) -> str:
        return f"PDGD({self._n_items} items, {len(self._weights)} features, learning_rate={self.learning_rate:g})"

    @property
    def weights(self) -> FloatArray:
        """The model: one weight for each column."""
        return self._weights.copy()

    @property
    def scores(self) -> FloatArray:
        """``f(a)`` of every item. Differences matter, not the level."""
        return self._scores.copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All it knows, by name."""
        return {"weights": self.weights}

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:
        """A list drawn from the Plackett-Luce model over what is allowed."""
        items, scores = np.empty(k, dtype=np.int64), np.empty(k)
        rest = pairs.draw(rows, self._scores, generator(rng).gumbel(size=len(rows)), items, scores)
        ids = tuple([self._ids[row] for row in items.tolist()])
        features = self._features.take(items, axis=0)
        return as_shown(items, rest, ids=ids, features=features, scores=scores, weights=self._weights)

    def _learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """One step along :meth:`gradient`."""
        self._weights = self._weights + self.learning_rate * self._gradient(ranking, clicks)
        self._scores = self._features @ self._weights

    def gradient(self, ranking: Ranking, click: Click) -> FloatArray:
        """What one answer says, before it is multiplied by the learning rate: (columns,)."""
        return self._gradient(ranking, self._checked(ranking, click))

    def _gradient(self, ranking: Ranking, clicks: list[int]) -> FloatArray:
        features, scores, rest = self._as_shown(ranking)
        clicked = np.zeros(len(scores), dtype=np.bool_)
        for position in clicks:
            clicked[position] = True
        gradient: FloatArray = pairs.pair_weights(scores, rest, clicked) @ features
        return gradient

    def _as_shown(self, ranking: Ranking) -> tuple[FloatArray, FloatArray, float]:
        """Features and scores of the list as shown, and the log-sum of the scores of what was not shown."""
        if not isinstance(ranking.note, float):
            raise self._not_ours(ranking)
        features = finite("the ranking's features", ranking.features, 2, FeedbackError)
        scores = finite("the ranking's scores", ranking.scores, 1, FeedbackError)
        if features.shape != (len(ranking), len(self._weights)) or len(scores) != len(ranking):
            raise FeedbackError(
                f"the ranking has {len(ranking)} items, features of shape {features.shape} and {len(scores)} scores; "
                f"expected ({len(ranking)}, {len(self._weights)}) and {len(ranking)}"
            )
        if math.isnan(ranking.note) or ranking.note == math.inf:
            raise FeedbackError(f"the ranking's note must be a log-sum of scores, got {ranking.note}")
        return features, scores, ranking.note


KINDS: tuple[Kind, ...] = (
    Kind(
        "PDGD",
        summary="a linear ranker drawn from, and taught by pairs of clicked and unclicked items",
        paper="Oosterhuis, de Rijke: Differentiable Unbiased Online Learning to Rank, CIKM 2018, Algorithm 1",
        build=PDGD,
        needs=frozenset({"relevance"}),
    ),
)
