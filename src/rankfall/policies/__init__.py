"""Policies rank and learn. The linear ones are rows of one table; others share the contract and nothing else."""

from rankfall.policies.checks import check_policy
from rankfall.policies.linear import Explanation, LinearPolicy, Recipe, load
from rankfall.policies.ranking import Policy, Ranking
from rankfall.policies.table import (
    POLICIES,
    CascadeHybrid,
    CascadeLinUCB,
    CascadeLinUCBFull,
    CascadeLSB,
    CascadeLSBFull,
)

__all__ = [
    "POLICIES",
    "CascadeHybrid",
    "CascadeLSB",
    "CascadeLSBFull",
    "CascadeLinUCB",
    "CascadeLinUCBFull",
    "Explanation",
    "LinearPolicy",
    "Policy",
    "Ranking",
    "Recipe",
    "check_policy",
    "load",
]
