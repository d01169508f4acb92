"""CascadeHybrid, the policy of the paper, and its forms with other exploration."""

from __future__ import annotations

from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.settings import EpsilonSettings


class CascadeHybrid(LinearPolicy):
    """Relevance and diversity, learned together: coverage diminishes down the list, relevance does not.

    Li, Feng, de Rijke: Cascading Hybrid Bandits: Online Learning to Rank for Relevance and Diversity, RecSys 2020,
    Algorithm 1. Item a has topic coverage ``x_a`` and relevance features ``z_a``. Given the items S above, it adds
    ``omega_a = x_a * prod over b in S of (1 - x_b)`` to the coverage of the list (the paper's ``Delta(a | S)``). With
    ``phi_a = [omega_a, z_a]``, each position shows the item with the highest

        mu_a = phi_a . [theta, beta] + gamma sqrt(phi_a' O^-1 phi_a)

    of those not shown yet, where ``O = I + sum phi phi'`` and ``[theta, beta] = O^-1 sum r phi`` over the items seen so
    far: those down to the first click, which has r = 1, or all of a list without a click. The paper's block form (H, u,
    M, y, B) gives the same numbers.

    Parameters
    ----------
    catalog : items with coverage and relevance.
    gamma : exploration.
    feedback : which items were seen, if not down to the first click: ``"last_click"`` or ``"all"``.
    forgetting : how old lists fade: a :class:`rankfall.Discount` or a :class:`rankfall.Window`.

    >>> from rankfall import Catalog
    >>> catalog = Catalog(coverage=[[0.9, 0.0], [0.8, 0.0], [0.0, 0.5]], relevance=[[0.3], [0.4], [0.2]])
    >>> policy = CascadeHybrid(catalog, gamma=0.5)
    >>> ranking = policy.rank(2)
    >>> ranking
    Ranking(0, 2)
    >>> ranking.features  # the second item covers another topic
    array([[0.9, 0. , 0.3],
           [0. , 0.5, 0.2]])
    >>> policy.update(ranking, 1)
    >>> policy.weights.round(3)
    array([-0.022,  0.388,  0.148])
    """

    summary = "relevance and diversity, learned together"
    paper = "Li, Feng, de Rijke: Cascading Hybrid Bandits, RecSys 2020, Algorithm 1"
    coverage = "diminishing"
    relevance = "constant"


class CascadeHybridTS(LinearPolicy):
    """Relevance and diversity, explored by Thompson sampling.

    The features and the learning of :class:`CascadeHybrid`. For each list, weights ``v`` are drawn from
    N([theta, beta], gamma^2 O^-1), and each position shows the item with the highest ``phi_a . v``. The paper (RecSys
    2020) names Thompson sampling as future work; this form follows CascadeLinTS of Zong et al., UAI 2016.

    Parameters
    ----------
    catalog : items with coverage and relevance.
    gamma : how far weights are drawn from the estimate; 1 is the posterior for noise of variance 1.
    feedback, forgetting : as in :class:`CascadeHybrid`.

    >>> import numpy as np
    >>> from rankfall import Catalog
    >>> catalog = Catalog(coverage=[[0.9, 0.0], [0.8, 0.0], [0.0, 0.5]], relevance=[[0.3], [0.4], [0.2]])
    >>> CascadeHybridTS(catalog).rank(2, rng=np.random.default_rng(0))
    Ranking(1, 0)
    """

    summary = "relevance and diversity, explored by Thompson sampling"
    paper = "Thompson sampling for Cascading Hybrid Bandits (RecSys 2020), which names it as future work"
    coverage = "diminishing"
    relevance = "constant"
    exploration = "thompson"


class CascadeHybridGreedy(LinearPolicy):
    """Relevance and diversity, never exploring: a plain reference.

    As :class:`CascadeHybrid` with ``mu_a = phi_a . [theta, beta]``. It has a ``gamma``, so that a model of a service
    can change to it and back, and does not use it.

    Parameters
    ----------
    catalog : items with coverage and relevance.
    feedback, forgetting : as in :class:`CascadeHybrid`.

    >>> from rankfall import Catalog
    >>> CascadeHybridGreedy(Catalog(coverage=[[0.9], [0.8]], relevance=[[0.3], [0.4]])).rank(2)
    Ranking(0, 1)
    """

    summary = "relevance and diversity, never exploring"
    paper = "plain reference: CascadeHybrid without exploration; gamma is not used"
    coverage = "diminishing"
    relevance = "constant"
    exploration = "greedy"


class CascadeHybridEpsilon(LinearPolicy):
    """Relevance and diversity, with a random list from time to time: a plain reference.

    As :class:`CascadeHybridGreedy`, but a share ``epsilon`` of the lists is drawn uniformly from all lists.

    Parameters
    ----------
    catalog : items with coverage and relevance.
    epsilon : share of lists drawn at random.
    feedback, forgetting : as in :class:`CascadeHybrid`.

    >>> import numpy as np
    >>> from rankfall import Catalog
    >>> policy = CascadeHybridEpsilon(Catalog(coverage=[[0.9], [0.8]], relevance=[[0.3], [0.4]]), epsilon=1.0)
    >>> policy.rank(2, rng=np.random.default_rng(1))
    Ranking(1, 0)
    """

    Settings = EpsilonSettings
    summary = "relevance and diversity, with a random list now and then"
    paper = "plain reference: CascadeHybrid without exploration, and a share epsilon (0.1) of lists drawn uniformly"
    coverage = "diminishing"
    relevance = "constant"
    exploration = "epsilon"
