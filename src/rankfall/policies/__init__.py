"""Policies rank and learn. The linear ones are rows of one table; others share the contract and nothing else."""

from rankfall.policies.byitem import ByItem
from rankfall.policies.checks import check_policy
from rankfall.policies.explaining import Explanation
from rankfall.policies.kinds import Kind
from rankfall.policies.linear import LinearPolicy, Recipe
from rankfall.policies.ranking import Policy, Ranking
from rankfall.policies.served import SERVED, Served, load
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
    "SERVED",
    "ByItem",
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
    "Served",
    "check_policy",
    "load",
]
