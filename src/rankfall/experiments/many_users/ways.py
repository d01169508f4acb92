"""How models are shared among the users of a stream, by the words of a study: ``sharing`` of a case."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from rankfall.errors import ProblemError
from rankfall.policies import PolicyLike
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.many_users.across import AcrossUsers
from rankfall.policies.many_users.clusters import ClusteredUsers
from rankfall.policies.many_users.policy import ManyUsers
from rankfall.policies.many_users.sharing import IndependentUsers, Segments, SharedModel
from rankfall.users import Coverage, Environment, Hybrid, User

WAYS: Mapping[str, type[ManyUsers]] = {
    "across_users": AcrossUsers,
    "independent": IndependentUsers,
    "shared": SharedModel,
    "segments": Segments,
    "clusters": ClusteredUsers,
}
"""Each word with its policy for many users. Segments are by the topic that a user likes best."""


def settings_of_way(sharing: str) -> frozenset[str]:
    """The settings that a way to share has besides those of the policy; none where nothing is shared among users.

    >>> sorted(settings_of_way("clusters")), sorted(settings_of_way(""))
    (['alpha', 'edges', 'seed'], [])
    """
    if not sharing:
        return frozenset()
    if sharing not in WAYS:
        raise ProblemError(f"sharing is {sharing!r}; choose from {', '.join(WAYS)}")
    parameters = inspect.signature(WAYS[sharing]).parameters.values()
    return frozenset(one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY)


def make_way(sharing: str, policy: PolicyLike, people: Sequence[Environment], settings: Mapping[str, Any]) -> ManyUsers:
    """The policy for many users of this name, over models of one linear policy."""
    if not isinstance(policy, LinearPolicy):
        raise ProblemError(f"users who come in a stream need a linear policy, got {policy!r}")
    if sharing == "segments":
        favourite = [_favourite(person) for person in people]

        def segment(user: Hashable) -> Hashable:
            assert isinstance(user, int)
            return favourite[user]

        return Segments(policy, segment)
    if sharing == "clusters":
        return ClusteredUsers(policy, range(len(people)), **settings)
    return WAYS[sharing](policy, **settings)


def _favourite(person: Environment) -> int:
    attraction = person.attraction if isinstance(person, User) else None
    if not isinstance(attraction, Hybrid | Coverage) or not len(attraction.theta):
        raise ProblemError("segments are by the topic that a user likes best, and these users have no topics")
    return int(np.argmax(attraction.theta))
