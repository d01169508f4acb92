"""Policies rank and learn. The linear ones are rows of one table; the others share the contract, and its checks."""

from rankfall.policies.batchrank import BatchRank
from rankfall.policies.bubblerank import BubbleRank
from rankfall.policies.byitem import ByItem
from rankfall.policies.c2ucb import C2UCB
from rankfall.policies.cascading import DCMKLUCB, CascadeDUCB, CascadeKLUCB, CascadeSWUCB, CascadeTS, CascadeUCB1
from rankfall.policies.checks import check_policy
from rankfall.policies.explaining import Explanation
from rankfall.policies.kinds import Kind
from rankfall.policies.linear import LinearPolicy, Recipe
from rankfall.policies.pdgd import PDGD
from rankfall.policies.ranked import RankedEXP3, RankedUCB1, RankedZooming
from rankfall.policies.ranking import Policy, Ranking
from rankfall.policies.recurrank import RecurRank
from rankfall.policies.served import SERVED, Served, load
from rankfall.policies.table import (
    LINEAR,
    PAPER,
    POLICIES,
    CascadeHybrid,
    CascadeHybridEpsilon,
    CascadeHybridGreedy,
    CascadeHybridTS,
    CascadeLinTS,
    CascadeLinUCB,
    CascadeLinUCBFull,
    CascadeLSB,
    CascadeLSBFull,
    CascadeLSBTS,
    LSBGreedy,
)
from rankfall.policies.toprank import TopRank

__all__ = [
    "C2UCB",
    "DCMKLUCB",
    "LINEAR",
    "PAPER",
    "PDGD",
    "POLICIES",
    "SERVED",
    "BatchRank",
    "BubbleRank",
    "ByItem",
    "CascadeDUCB",
    "CascadeHybrid",
    "CascadeHybridEpsilon",
    "CascadeHybridGreedy",
    "CascadeHybridTS",
    "CascadeKLUCB",
    "CascadeLSB",
    "CascadeLSBFull",
    "CascadeLSBTS",
    "CascadeLinTS",
    "CascadeLinUCB",
    "CascadeLinUCBFull",
    "CascadeSWUCB",
    "CascadeTS",
    "CascadeUCB1",
    "Explanation",
    "Kind",
    "LSBGreedy",
    "LinearPolicy",
    "Policy",
    "RankedEXP3",
    "RankedUCB1",
    "RankedZooming",
    "Ranking",
    "Recipe",
    "RecurRank",
    "Served",
    "TopRank",
    "check_policy",
    "load",
]
