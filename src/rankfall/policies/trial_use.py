"""Uses everything a policy has, on a few items, so that its kernels are compiled or loaded when they are needed."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from rankfall.catalog import Catalog
from rankfall.errors import ProblemError, RankError
from rankfall.kernels.epochs import SHORT
from rankfall.policies.linear.crosses import FIRST_CHOICE
from rankfall.policies.list_rules import ListRules
from rankfall.policies.policy import Policy
from rankfall.wire.rules import AtMost


def a_few_items() -> Catalog:
    """Items on which every policy can be tried."""
    rng = np.random.default_rng(0)
    coverage = rng.random((8, 3)) * (rng.random((8, 3)) < 0.5)
    return Catalog(
        coverage=coverage,
        relevance=rng.normal(size=(8, 2)),
        topics=["a", "b", "c"],
        attributes={"kind": ["a", "b"] * 4},
    )


def try_out(policy: Policy) -> None:
    """Rank and learn in every way there is. The policy has learned something then, so give one that nobody else uses.

    >>> from rankfall import CascadeLinUCB
    >>> policy = CascadeLinUCB(a_few_items())
    >>> try_out(policy)
    >>> policy.n_updates
    2
    """
    rng = np.random.default_rng(0)
    ranking = policy.rank(2, rng=rng)
    policy.update(ranking, 0)
    with suppress(ProblemError):  # it is not served
        policy.learn_record(policy.record(ranking), 0)
    with suppress(ProblemError):  # it learns clicks only, or forgets
        policy.add_outcome(ranking, 0, 0, 0.0, earned=1.0)
    if getattr(policy, "context", None) is not None:
        for _ in range(FIRST_CHOICE):  # until variances are chosen
            policy.update(ranking, 0)
    for request in ({"candidates": [0, 1]}, {"exclude": [0]}):
        with suppress(RankError):  # it shows all or nothing
            policy.rank(2, rng=rng, **request)  # type: ignore[arg-type]
    if policy.why_not_ruled is None:
        rules = ListRules([AtMost(n=1, attribute="kind")], policy.catalog, checked=False)
        policy.rank(2, rng=rng, rules=rules)
        rules.in_order([0, 1], 2)
        rules.at_random([0, 1], np.array([-1, -1]), rng)
    for fixed in ({0: 0}, {0: 0, 1: 1}):
        with suppress(RankError, ProblemError):
            policy.rank(2, rng=rng, fixed=fixed)
    for _ in range(SHORT + 1):  # the first lists are made without shortlists
        policy.rank(2, rng=rng)
