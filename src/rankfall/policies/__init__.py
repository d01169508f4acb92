"""Policies rank and learn: one contract, one registry, and a file or two for each policy."""

from rankfall.policies.checks import CheckedPolicy, check_policy
from rankfall.policies.explanation import Explanation
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.policy import Policy, PolicyLike
from rankfall.policies.ranking import Ranking
from rankfall.policies.registry import POLICIES, SERVED, find_policy, make_policy, name_of, settings_of
from rankfall.policies.saving import load
from rankfall.policies.settings import PolicySettings

__all__ = [
    "POLICIES",
    "SERVED",
    "CheckedPolicy",
    "Explanation",
    "LinearPolicy",
    "Policy",
    "PolicyLike",
    "PolicySettings",
    "Ranking",
    "check_policy",
    "find_policy",
    "load",
    "make_policy",
    "name_of",
    "settings_of",
]
