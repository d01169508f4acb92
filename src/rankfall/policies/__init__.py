"""Policies rank and learn. The linear ones are rows of one table; others share the contract and nothing else."""

from rankfall.policies.checks import check_policy
from rankfall.policies.kinds import Kind
from rankfall.policies.linear import Explanation, LinearPolicy, Recipe, load
from rankfall.policies.ranking import Policy, Ranking
from rankfall.policies.table import (
    LINEAR,
    PAPER,
    POLICIES,
    CascadeHybrid,
    CascadeLinUCB,
    CascadeLinUCBFull,
    CascadeLSB,
    CascadeLSBFull,
)

__all__ = [
    "LINEAR",
    "PAPER",
    "POLICIES",
    "CascadeHybrid",
    "CascadeLSB",
    "CascadeLSBFull",
    "CascadeLinUCB",
    "CascadeLinUCBFull",
    "Explanation",
    "Kind",
    "LinearPolicy",
    "Policy",
    "Ranking",
    "Recipe",
    "check_policy",
    "load",
]
