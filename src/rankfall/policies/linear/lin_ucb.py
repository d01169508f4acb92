"""Policies that learn relevance alone: no column diminishes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.errors import ProblemError
from rankfall.kernels import greedy
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.settings import LinearSettings
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request, check_request
from rankfall.policies.settings import flag


@dataclass(frozen=True)
class LinUCBSettings(LinearSettings):
    """Settings of :class:`CascadeLinUCB`, beside those of linear policies.

    Attributes
    ----------
    cut : whether bounds above 1 count as 1.
    """

    cut: bool = flag(False)

    def check(self) -> None:
        """Cut bounds are those of one model and of the features of the catalog."""
        super().check()
        for name in ("context", "request_features"):
            if self.cut and getattr(self, name) is not None:
                raise ProblemError(f"CascadeLinUCB with cut bounds takes no {name}; leave out one of the two")


class CascadeLinUCB(LinearPolicy):
    """Relevance alone: LinUCB for the cascade.

    Zong, Ni, Sung, Ke, Wen, Kveton: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016, Algorithm
    CascadeLinUCB. With relevance features ``z_a``, the list shows the items with the highest

        mu_a = z_a . beta + gamma sqrt(z_a' O^-1 z_a),

    ``O = I + sum z z'`` and ``beta = O^-1 sum r z`` over the items seen so far: those down to the first click.

    With ``cut`` it is ``min(mu_a, 1)`` instead: a probability is never more. So it stands in public code that others
    compare with (zixinzh/2021-JMLR, of Zhong, Cheung, Tan: Thompson Sampling Algorithms for Cascading Bandits, JMLR
    2021); the code of RecurRank's authors (shuaili8/OnlineLearningToRank) cuts nothing. From memory, the paper has the
    cut as well. Items whose bounds are all above 1 are equal then, and as in that code the lower row is shown first: as
    long as bounds are wide, most of a list is not chosen at all. Cut, all items are scored for each list, as no
    shortlist can tell equals apart; scores of rankings are not cut.

    Parameters
    ----------
    catalog : items with relevance.
    gamma : exploration. In that code it is ``sqrt(d log(1 + T K / d) + 2 log(T K)) + 1``, about 10, for d features, T
        lists and K positions.
    feedback : which items were seen, if not down to the first click: ``"last_click"`` or ``"all"``.
    forgetting : how old lists fade: a :class:`rankfall.Discount` or a :class:`rankfall.Window`.
    cut : whether bounds above 1 count as 1, as above.

    >>> from rankfall import Catalog
    >>> CascadeLinUCB(Catalog(relevance=[[1.0], [3.0], [2.0]])).rank(2)
    Ranking(1, 2)
    >>> CascadeLinUCB(Catalog(relevance=[[1.0], [3.0], [2.0]]), cut=True).rank(2)
    Ranking(0, 1)
    """

    Settings = LinUCBSettings
    summary = "relevance alone"
    paper = "Zong et al.: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016"
    relevance = "constant"

    settings: LinUCBSettings

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """The items with the highest bounds; ties go to the lowest row."""
        if self.settings.cut:
            items = request.best(self._cut_bounds())
            held = check_request(request.k, self.n_items, fixed=dict(enumerate(items.tolist())))
            request = held if request.rules is None else held.under(request.rules)
        return super().choose(request, rng)

    def _cut_bounds(self) -> FloatArray:
        """The bound of every item, 1 at most."""
        means, widths = np.empty(self.n_items), np.empty(self.n_items)
        features = np.empty((self.n_items, self._n_columns))
        with self._model.lock:
            self.count(
                greedy.describe(self._layout.items, self._model.state, np.arange(self.n_items), features, means, widths)
            )
        bounds: FloatArray = np.minimum(means + self.gamma * widths, 1.0)
        return bounds


class CascadeLinUCBFull(LinearPolicy):
    """Relevance and topics as plain features: :class:`CascadeLinUCB` on ``[x_a, z_a]``, and nothing diminishes.

    A baseline of Cascading Hybrid Bandits, section 4.1.

    Parameters
    ----------
    catalog : items with coverage and relevance.
    gamma, feedback, forgetting : as in :class:`CascadeLinUCB`.

    >>> from rankfall import Catalog
    >>> CascadeLinUCBFull(Catalog(coverage=[[0.9], [0.8], [0.1]], relevance=[[0.3], [0.2], [0.1]])).rank(2)
    Ranking(0, 1)
    """

    summary = "relevance and topics as plain features"
    paper = "CascadeLinUCB on coverage and relevance (Cascading Hybrid Bandits, section 4.1)"
    coverage = "constant"
    relevance = "constant"


class CascadeLinTS(LinearPolicy):
    """Relevance alone, explored by Thompson sampling.

    Zong et al., UAI 2016, Algorithm CascadeLinTS: for each list weights ``v`` are drawn from N(beta, gamma^2 O^-1), and
    the list shows the items with the highest ``z_a . v``; features and learning as in :class:`CascadeLinUCB`.

    Parameters
    ----------
    catalog : items with relevance.
    gamma : how far weights are drawn from the estimate; 1 is the posterior for noise of variance 1.
    feedback, forgetting : as in :class:`CascadeLinUCB`.

    >>> import numpy as np
    >>> from rankfall import Catalog
    >>> CascadeLinTS(Catalog(relevance=[[1.0], [3.0], [2.0]])).rank(2, rng=np.random.default_rng(0))
    Ranking(1, 2)
    """

    summary = "relevance alone, explored by Thompson sampling"
    paper = "Zong et al.: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016, Algorithm CascadeLinTS"
    relevance = "constant"
    exploration = "thompson"
