"""Policies that learn relevance alone: no column diminishes."""

from __future__ import annotations

from rankfall.policies.linear.policy import LinearPolicy


class CascadeLinUCB(LinearPolicy):
    """Relevance alone: LinUCB for the cascade.

    Zong, Ni, Sung, Ke, Wen, Kveton: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016, Algorithm
    CascadeLinUCB. With relevance features ``z_a``, the list shows the items with the highest

        mu_a = z_a . beta + gamma sqrt(z_a' O^-1 z_a),

    ``O = I + sum z z'`` and ``beta = O^-1 sum r z`` over the items seen so far: those down to the first click.

    Parameters
    ----------
    catalog : items with relevance.
    gamma : exploration.
    feedback : which items were seen, if not down to the first click: ``"last_click"`` or ``"all"``.
    forgetting : how old lists fade: a :class:`rankfall.Discount` or a :class:`rankfall.Window`.

    >>> from rankfall import Catalog
    >>> CascadeLinUCB(Catalog(relevance=[[1.0], [3.0], [2.0]])).rank(2)
    Ranking(1, 2)
    """

    summary = "relevance alone"
    paper = "Zong et al.: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016"
    relevance = "constant"


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
