"""Uses everything a policy has, on a few items, so that its kernels are compiled or loaded when they are needed."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from rankfall.catalog import Catalog
from rankfall.errors import ProblemError, RankError
from rankfall.kernels.shortlists import SHORT
from rankfall.policies.linear.crosses import FIRST_CHOICE
from rankfall.policies.policy import Policy


def a_few_items() -> Catalog:
    """Items on which every policy can be tried."""
    rng = np.random.default_rng(0)
    coverage = rng.random((8, 3)) * (rng.random((8, 3)) < 0.5)
    return Catalog(coverage=coverage, relevance=rng.normal(size=(8, 2)), topics=["a", "b", "c"])


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
        policy.add_outcome(ranking, 0, 0, 0.0)
    if getattr(policy, "context", None) is not None:
        for _ in range(FIRST_CHOICE):  # until variances are chosen
            policy.update(ranking, 0)
    for request in ({"candidates": [0, 1]}, {"exclude": [0]}):
        with suppress(RankError):  # it shows all or nothing
            policy.rank(2, rng=rng, **request)  # type: ignore[arg-type]
    for fixed in ({0: 0}, {0: 0, 1: 1}):
        with suppress(RankError, ProblemError):
            policy.rank(2, rng=rng, fixed=fixed)
    for _ in range(SHORT + 1):  # the first lists are made without shortlists
        policy.rank(2, rng=rng)
