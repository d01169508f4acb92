"""UCB-CCA: clicks whose log-odds are linear in the features."""

from __future__ import annotations

from rankfall.kernels.weighted_ridge import LOGIT, LOGIT_BESIDE
from rankfall.policies.linear.weighted import WeightedPolicy


class UCBCCA(WeightedPolicy):
    """Relevance alone, with clicks whose log-odds are linear: a model of chances that stay between 0 and 1.

    Choi, Udwani, Oh: Cascading Contextual Assortment Bandits, NeurIPS 2023, algorithm UCB-CCA, for cascades of single
    items. Only the abstract could be read; the algorithm is from memory. There a cascade shows several items at a time,
    of which one or none is chosen by a multinomial logit; with one item at a time that is logistic regression. With
    relevance features ``z_a``:

    1. theta = the most likely weights for ``P(click on a) = 1 / (1 + exp(-z_a . theta))``, and ``V = I + sum z z'``,
       over the items seen so far: those down to the first click.
    2. The list shows the items with the highest ``z_a . theta + gamma |z_a|_(V^-1)``. These are upper bounds of
       log-odds; chances are in the same order.

    Where ours differs: theta has the prior N(0, I), in place of random lists at the beginning. It follows the
    observations one by one, each time the most likely weights given a Gaussian for all before, whose precision is the
    curvature of the likelihood, in place of a fit of all observations before every list. ``gamma`` is a constant, where
    the paper's radius has log t and a bound of the curvature from below. And there is a constant beside the features,
    without which clicks would be as likely as not on average. Means, widths and scores of a ranking are log-odds.

    Parameters
    ----------
    catalog : items with relevance.
    gamma, feedback : as in :class:`CascadeLinUCB`; a width of log-odds is larger than one of chances, here by the
        square root of ``1 / p (1 - p)``, which is at least 2.

    >>> from rankfall import Catalog
    >>> policy = UCBCCA(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]), gamma=1.0)
    >>> policy.update(policy.rank(2), 1)
    >>> policy.weights.round(3), policy.rank(1)
    (array([-0.399,  0.401,  0.001]), Ranking(1))
    """

    summary = "relevance alone, clicks with linear log-odds"
    paper = "Choi, Udwani, Oh: Cascading Contextual Assortment Bandits, NeurIPS 2023, algorithm UCB-CCA"
    rule = LOGIT_BESIDE
    constant = True
    paired = True


class UCBCCAPlus(WeightedPolicy):
    """Relevance alone, with clicks whose log-odds are linear, and widths by the curvature of the likelihood.

    Choi, Udwani, Oh: Cascading Contextual Assortment Bandits, NeurIPS 2023, algorithm UCB-CCA+ (Bernstein-type widths),
    as far as the abstract says and we remember it. As :class:`UCBCCA`, with ``H = I + sum p (1 - p) z z'`` in place of
    V: an observation of an item that is hardly ever clicked tells little of its log-odds. ``gamma`` is in standard
    deviations of the log-odds. That p is the chance when the item was learned from, and not by today's weights, is
    ours.

    Parameters
    ----------
    catalog : items with relevance.
    gamma, feedback : as in :class:`CascadeLinUCB`, for log-odds.

    >>> from rankfall import Catalog
    >>> policy = UCBCCAPlus(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]), gamma=1.0)
    >>> policy.update(policy.rank(2), 1)
    >>> policy.weights.round(3), policy.rank(1)
    (array([-0.399,  0.401,  0.001]), Ranking(1))
    """

    summary = "relevance alone, clicks with linear log-odds, widths by curvature"
    paper = "Choi, Udwani, Oh: Cascading Contextual Assortment Bandits, NeurIPS 2023, algorithm UCB-CCA+"
    rule = LOGIT
    constant = True
