"""How likely a policy shows a given list: exact where that can be, or counted among lists that it draws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.estimates.chances import ListChances
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.settings import EpsilonSettings
from rankfall.policies.policy import Policy
from rankfall.policies.request import check_request, rows_named

FEWEST = 10
"""So often a list must have been drawn for its share to be a chance: with a standard error of a third at most."""


@dataclass(frozen=True, eq=False)
class KnownChances:
    """Chances of one list.

    Attributes
    ----------
    chances : of the list (1, k). Where it was counted, never below ``FEWEST / draws``: what is likely to be 0 by bad
        luck would weigh without bound.
    errors : (k,) standard errors of ``chances.down_to``, if it was counted; 0 where it is exact.
    too_low : whether some of them were below that, and are said to be higher than they are.
    """

    chances: ListChances
    errors: FloatArray
    too_low: bool


def drawn_lists(policy: Policy, k: int, draws: int, rng: np.random.Generator | None = None, **request: Any) -> IntArray:
    """(draws, k) lists that a policy shows for a request, as it knows today; only one if it never draws.

    ``request`` has the words of :meth:`rankfall.Policy.rank`.
    """
    n = draws if policy.randomised else 1
    return np.array([policy.rank(k, rng=rng, **request).items for _ in range(n)])


def chances_under(
    policy: Policy, shown: Iterable[int], draws: int = 1_000, rng: np.random.Generator | None = None, **request: Any
) -> KnownChances:
    """How likely a policy, as it knows today, is to show these rows for a request.

    Exact for policies that never draw, and for a linear one that draws a share epsilon, without rules. For others
    (Thompson sampling) as many lists are drawn as ``draws`` says, and those counted that agree.

    >>> from rankfall import CascadeTS
    >>> found = chances_under(CascadeTS(3), [2, 0], 3_000, np.random.default_rng(0))
    >>> found.chances.down_to.round(2), found.errors.round(3)  # of six lists, all equally likely
    (array([[0.33, 0.17]]), array([0.009, 0.007]))
    """
    rows = np.asarray(tuple(shown), dtype=np.int64)
    k = len(rows)
    exact = np.zeros(k)
    if not policy.randomised:
        return KnownChances(
            ListChances.of_drawn(rows[None], drawn_lists(policy, k, 1, rng, **request)[None]), exact, False
        )
    settings = policy.settings
    if isinstance(policy, LinearPolicy) and isinstance(settings, EpsilonSettings) and not request.get("rules"):
        candidates, exclude = (rows_named(policy.catalog, request.get(name)) for name in ("candidates", "exclude"))
        asked = check_request(k, policy.n_items, candidates, exclude, request.get("fixed"))
        held = asked.empty_list()
        allowed = np.where(held < 0, np.isin(rows, asked.rows), rows == held)
        first = np.isin(np.arange(k), np.unique(rows, return_index=True)[1])
        drawn = ListChances.uniform([asked.n_rows], (held < 0)[None])
        assert drawn.at_position is not None
        drawn = ListChances(drawn.down_to * np.logical_and.accumulate(allowed & first), drawn.at_position * allowed)
        greedy = policy.with_settings(epsilon=0.0).rank(k, rng=rng, **request).items
        parts = [
            (settings.epsilon, drawn),
            (1.0 - settings.epsilon, ListChances.of_drawn(rows[None], greedy[None, None])),
        ]
        return KnownChances(ListChances.mixture(parts), exact, too_low=False)
    counted = ListChances.of_drawn(rows[None], drawn_lists(policy, k, draws, rng, **request)[None])
    assert counted.at_position is not None
    least = min(1.0, FEWEST / draws)
    low = bool((counted.down_to < least).any())
    chances = ListChances(np.maximum(counted.down_to, least), np.maximum(counted.at_position, least))
    return KnownChances(chances, np.sqrt(chances.down_to[0] * (1.0 - chances.down_to[0]) / draws), low)
