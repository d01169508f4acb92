"""PDGD: a linear ranker that learns from pairs of clicked and unclicked items, corrected for where they stood."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, finite
from rankfall.errors import FeedbackError
from rankfall.kernels import pdgd
from rankfall.policies.clicks import Click, all_clicks
from rankfall.policies.plain_features import plain_features
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, flag, real


@dataclass(frozen=True)
class PDGDSettings(PolicySettings):
    """Settings of :class:`PDGD`."""

    learning_rate: float = real(0.1, low=0.0, high=1e6)
    coverage: bool = flag(False)
    decay: float = real(1.0, low=1e-9, high=1.0)


class PDGD(Policy):
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
    equally likely. The authors' public code (HarrieO/OnlineLearningToRank) multiplies eta by 0.9999977 after each list
    with a pair: that is ``decay``. Public implementations may also begin at random. What counts as seen in 3 follows
    them: of several clicks each is preferred to every unclicked item above the last one, also to those below itself.

    Where this form differs: the paper ranks the documents of many queries, with features of query and document; here
    there is one set of items. Steps 4 and 5 use the scores *at the time the list was shown*, which come back with the
    ranking: with late feedback ``P(R)`` must be that of the model the list was drawn from. So what is learned from
    a set of lists does not depend on the order in which their feedback comes. With ``candidates`` or ``exclude`` the
    probabilities are those of drawing from what was allowed.

    The draw never stops exploring on its own; it becomes sharper as ``w`` grows.

    Parameters
    ----------
    catalog : its relevance features are used; also its coverage if ``coverage`` (as plain features).
    learning_rate : eta.
    decay : what eta is multiplied by after each list that had a pair; 1 in the paper, as we have it.

    >>> from rankfall import Catalog
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

    Settings = PDGDSettings
    summary = "a linear ranker that draws its lists and learns from pairs of clicked and unclicked items"
    paper = "Oosterhuis, de Rijke: Differentiable Unbiased Online Learning to Rank, CIKM 2018, Algorithm 1"
    needs = frozenset({"relevance"})
    randomised = True
    why_not_served = "it must know how likely it was to draw each list, so others cannot make lists for it"
    why_not_fixed = "it learns from how likely it was to draw the list"

    settings: PDGDSettings

    def prepare(self) -> None:
        """The features."""
        self._features = plain_features("PDGD", self.catalog, coverage=self.settings.coverage)

    def begin(self) -> None:
        """All lists are equally likely. Rankings refer to the weights, so they are replaced, never changed."""
        self.arrays = {"weights": np.zeros(self._features.shape[1])}
        if self.settings.decay < 1.0:
            self.arrays["rate"] = np.array(self.settings.learning_rate)
        self._scores = np.zeros(self.n_items)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        super().restore(arrays)
        self._score()

    def _score(self) -> None:
        """Score every item anew; what was handed out stays as it is."""
        self._scores = np.empty(self.n_items)
        pdgd.score(self._features, self.arrays["weights"], self._scores)

    def __repr__(self) -> str:
        columns, rate = len(self.arrays["weights"]), self.settings.learning_rate
        return f"PDGD({self.n_items} items, {columns} features, learning_rate={rate:g})"

    @property
    def weights(self) -> FloatArray:
        """The model: one weight for each column."""
        return self.arrays["weights"].copy()

    @property
    def scores(self) -> FloatArray:
        """``f(a)`` of every item. Differences matter, not the level."""
        return self._scores.copy()

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """A list drawn from the Plackett-Luce model over what is allowed."""
        rows = request.rows
        items, scores = np.empty(request.k, dtype=np.int64), np.empty(request.k)
        rest = pdgd.draw(rows, self._scores, rng.gumbel(size=len(rows)), items, scores)
        features = self._features.take(items, axis=0)
        return Ranking.trusted(items, rest, self.catalog, scores, features=features, weights=self.arrays["weights"])

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """One step along :meth:`gradient`."""
        rate = float(self.arrays.get("rate", self.settings.learning_rate))
        gradient, paired = self._gradient(ranking, clicks)
        if paired:
            self.arrays["weights"] = self.arrays["weights"] + rate * gradient
            if "rate" in self.arrays:
                self.arrays["rate"] = np.array(rate * self.settings.decay)
            self._score()

    def compiled_state(self, k: int, rng: np.random.Generator) -> pdgd.PDGDSteps:
        """Its model, as copies that belong to the loop: lists refer to the weights they were made with."""
        rate = np.array([self.settings.learning_rate])
        self.arrays["weights"] = self.arrays["weights"].copy()
        if "rate" in self.arrays:
            rate[0] = self.arrays["rate"]
            self.arrays["rate"] = rate.reshape(())
        n_items, columns = self._features.shape
        return pdgd.PDGDSteps(
            self._features,
            self.arrays["weights"],
            self._scores,
            rate,
            self.settings.decay,
            rng,
            np.arange(n_items),
            np.empty(n_items),
            np.empty(k),
            np.empty(1),
            np.empty((k, columns)),
            np.empty(k + 1),
            np.empty(k),
            np.empty(columns),
        )

    def gradient(self, ranking: Ranking, click: Click) -> FloatArray:
        """What the clicks on one list say, before it is multiplied by the learning rate: (columns,)."""
        self.check_ranking(ranking)
        return self._gradient(ranking, all_clicks(click, len(ranking)))[0]

    def _gradient(self, ranking: Ranking, clicks: list[int]) -> tuple[FloatArray, bool]:
        """The gradient, and whether there was a pair."""
        features, scores, rest = self._as_shown(ranking)
        k = len(scores)
        clicked = np.zeros(k, dtype=np.bool_)
        for position in clicks:
            clicked[position] = True
        gradient = np.empty(features.shape[1])
        paired = pdgd.gradient(scores, rest, clicked, features, np.empty(k + 1), np.empty(k), gradient)
        return gradient, paired

    def _as_shown(self, ranking: Ranking) -> tuple[FloatArray, FloatArray, float]:
        """Features and scores of the list as shown, and the log-sum of the scores of what was not shown."""
        if not isinstance(ranking.note, float):
            raise self.foreign(ranking)
        features = finite("the ranking's features", ranking.features, 2, FeedbackError)
        scores = finite("the ranking's scores", ranking.scores, 1, FeedbackError)
        columns = len(self.arrays["weights"])
        if features.shape != (len(ranking), columns) or len(scores) != len(ranking):
            raise FeedbackError(
                f"the ranking has {len(ranking)} items, features of shape {features.shape} and {len(scores)} scores; "
                f"expected ({len(ranking)}, {len(self.arrays['weights'])}) and {len(ranking)}"
            )
        if math.isnan(ranking.note) or ranking.note == math.inf:
            raise FeedbackError(f"the ranking's note must be a log-sum of scores, got {ranking.note}")
        return features, scores, ranking.note
