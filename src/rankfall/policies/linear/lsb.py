"""Policies that learn diversity alone, or in which every column diminishes."""

from __future__ import annotations

from rankfall.policies.linear.policy import LinearPolicy


class CascadeLSB(LinearPolicy):
    """Diversity alone: linear submodular bandits for the cascade.

    Hiranandani, Singh, Gupta, Burhanuddin, Wen, Kveton: Cascading Linear Submodular Bandits: Accounting for Position
    Bias and Diversity in Online Learning to Rank, UAI 2019. Given the items S above, item a adds
    ``omega_a = x_a * prod over b in S of (1 - x_b)`` to the topics covered; each position shows the item with the
    highest

        mu_a = omega_a . theta + gamma sqrt(omega_a' O^-1 omega_a),

    ``O = I + sum omega omega'`` and ``theta = O^-1 sum r omega`` over the items seen so far: those down to the first
    click.

    Parameters
    ----------
    catalog : items with coverage.
    gamma : exploration.
    feedback : which items were seen, if not down to the first click: ``"last_click"`` or ``"all"``.
    forgetting : how old lists fade: a :class:`rankfall.Discount` or a :class:`rankfall.Window`.

    >>> from rankfall import Catalog
    >>> CascadeLSB(Catalog(coverage=[[0.9, 0.0], [0.8, 0.0], [0.0, 0.5]])).rank(2)
    Ranking(0, 2)
    """

    summary = "diversity alone"
    paper = "Hiranandani et al.: Cascading Linear Submodular Bandits, UAI 2019"
    coverage = "diminishing"


class CascadeLSBFull(LinearPolicy):
    """Everything diminishes: :class:`CascadeLSB` on ``[x_a, z_a]``, with the coverage formula on all columns.

    A baseline of Cascading Hybrid Bandits, section 4.1. A column with a value below 0 grows down the list.

    Parameters
    ----------
    catalog : items with coverage and relevance.
    gamma, feedback, forgetting : as in :class:`CascadeLSB`.

    >>> from rankfall import Catalog
    >>> CascadeLSBFull(Catalog(coverage=[[0.9], [0.8], [0.1]], relevance=[[0.3], [0.2], [0.1]])).rank(2).features
    array([[0.9 , 0.3 ],
           [0.08, 0.14]])
    """

    summary = "everything diminishes"
    paper = "CascadeLSB on coverage and relevance (Cascading Hybrid Bandits, section 4.1)"
    coverage = "diminishing"
    relevance = "diminishing"


class CascadeLSBTS(LinearPolicy):
    """Diversity alone, explored by Thompson sampling.

    The features and the learning of :class:`CascadeLSB`; for each list weights ``v`` are drawn from
    N(theta, gamma^2 O^-1), and each position shows the item with the highest ``omega_a . v``.

    Parameters
    ----------
    catalog : items with coverage.
    gamma : how far weights are drawn from the estimate; 1 is the posterior for noise of variance 1.
    feedback, forgetting : as in :class:`CascadeLSB`.

    >>> import numpy as np
    >>> from rankfall import Catalog
    >>> CascadeLSBTS(Catalog(coverage=[[0.9, 0.0], [0.8, 0.0], [0.0, 0.5]])).rank(2, rng=np.random.default_rng(0))
    Ranking(0, 1)
    """

    summary = "diversity alone, explored by Thompson sampling"
    paper = "Thompson sampling for Hiranandani et al.: Cascading Linear Submodular Bandits, UAI 2019"
    coverage = "diminishing"
    exploration = "thompson"


class LSBGreedy(LinearPolicy):
    """Diversity alone, where every item of the list is observed.

    Yue, Guestrin: Linear Submodular Bandits and their Application to Diversified Retrieval, NIPS 2011, LSBGreedy:
    :class:`CascadeLSB`, but each item of the list counts as seen, with r = 1 if it was clicked. Ours has the identity
    as prior and a constant ``gamma``.

    Parameters
    ----------
    catalog : items with coverage.
    gamma, forgetting : as in :class:`CascadeLSB`.

    >>> from rankfall import Catalog
    >>> policy = LSBGreedy(Catalog(coverage=[[0.9, 0.0], [0.8, 0.0], [0.0, 0.5]]))
    >>> policy.update(policy.rank(3), [0, 1])
    >>> policy.weights.round(3)
    array([0.495, 0.4  ])
    """

    summary = "diversity alone, every item of the list observed"
    paper = "Yue, Guestrin: Linear Submodular Bandits and their Application to Diversified Retrieval, NIPS 2011"
    coverage = "diminishing"
    feedback = "all"
