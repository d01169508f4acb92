"""What a linear policy says about itself: where scores came from, and its weights by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.catalog import Catalog
from rankfall.item_names import numbered
from rankfall.policies.explanation import Explanation, Weight
from rankfall.policies.ranking import Ranking


def explanations(ranking: Ranking, catalog: Catalog, n_topics: int, features: Sequence[str]) -> list[Explanation]:
    """Each item's score in parts: relevance, the coverage it added by topic, and the exploration bonus.

    The first ``n_topics`` columns of the ranking's features are coverage gains, the others relevance: in parts by
    feature too, where ``features`` have names.

    >>> from rankfall import CascadeLinUCB
    >>> policy = CascadeLinUCB(Catalog(relevance=[[1.0, 0.5]], features=["constant", "log_price"]))
    >>> policy.update(policy.rank(1), click=0)
    >>> print(policy.explain(policy.rank(1))[0])
    0: 1.301 = relevance +0.556 (constant +0.444, log_price +0.111), exploration +0.745
    """
    named = tuple(features) != numbered("feature", len(features))
    return [
        Explanation(
            id=ranking.ids[i],
            title=catalog.title_of(ranking.ids[i]),
            relevance=float(parts[n_topics:].sum()),
            coverage={catalog.topics[j]: float(parts[j]) for j in np.flatnonzero(ranking.features[i, :n_topics])},
            bonus=float(ranking.scores[i] - ranking.means[i]),
            score=float(ranking.scores[i]),
            features=dict(zip(features, parts[n_topics:].tolist(), strict=True)) if named else {},
            held_back=ranking.kept.held_at(i),
        )
        for i, parts in enumerate(ranking.features * ranking.weights)
    ]


def named_weights(
    weights: FloatArray,
    spread: FloatArray,
    topics: Sequence[str],
    features: Sequence[str],
    numbers: Sequence[str] = ("",),
) -> list[Weight]:
    """Weights with their standard deviations: topics, then features, once for each number of a context.

    >>> named_weights(np.array([0.5, 0.1]), np.array([0.2, 0.3]), ["war"], ["log_price"])[1]
    Weight(name='log_price', block='feature', weight=0.1, sd=0.3)
    >>> named_weights(np.array([0.5, 0.1]), np.array([0.2, 0.3]), ["war"], [], ["1", "device=mobile"])[1]
    Weight(name='war x device=mobile', block='topic', weight=0.1, sd=0.3)
    """
    names = [*topics, *features]
    every = names + [f"{name} x {number}" for number in numbers[1:] for name in names]
    return [
        Weight(name, "topic" if j % len(names) < len(topics) else "feature", float(weight), float(sd))
        for j, (name, weight, sd) in enumerate(zip(every, weights, spread, strict=True))
    ]
