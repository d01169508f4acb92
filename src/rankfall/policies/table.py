"""The table of policies by name. A new linear policy is a row here; others bring rows of their own."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from rankfall.policies import batchrank, bubblerank, c2ucb, cascading, pdgd, ranked, recurrank, toprank
from rankfall.policies.kinds import Kind
from rankfall.policies.linear import Recipe

CascadeHybrid = Recipe(
    "CascadeHybrid",
    summary="relevance and diversity, learned together",
    coverage="diminishing",
    relevance="constant",
    paper="Li, Feng, de Rijke: Cascading Hybrid Bandits, RecSys 2020, Algorithm 1",
)
CascadeLinUCB = Recipe(
    "CascadeLinUCB",
    summary="relevance alone",
    relevance="constant",
    paper="Zong et al.: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016",
)
CascadeLinUCBFull = Recipe(
    "CascadeLinUCBFull",
    summary="relevance and topics as plain features",
    coverage="constant",
    relevance="constant",
    paper="CascadeLinUCB on coverage and relevance (Cascading Hybrid Bandits, section 4.1)",
)
CascadeLSB = Recipe(
    "CascadeLSB",
    summary="diversity alone",
    coverage="diminishing",
    paper="Hiranandani et al.: Cascading Linear Submodular Bandits, UAI 2019",
)
CascadeLSBFull = Recipe(
    "CascadeLSBFull",
    summary="everything diminishes",
    coverage="diminishing",
    relevance="diminishing",
    paper="CascadeLSB on coverage and relevance (Cascading Hybrid Bandits, section 4.1)",
)

CascadeHybridTS = replace(
    CascadeHybrid,
    name="CascadeHybridTS",
    summary="relevance and diversity, explored by Thompson sampling",
    exploration="thompson",
    paper="Thompson sampling for Cascading Hybrid Bandits (RecSys 2020), which names it as future work",
)
CascadeLinTS = replace(
    CascadeLinUCB,
    name="CascadeLinTS",
    summary="relevance alone, explored by Thompson sampling",
    exploration="thompson",
    paper="Zong et al.: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016, Algorithm CascadeLinTS",
)
CascadeLSBTS = replace(
    CascadeLSB,
    name="CascadeLSBTS",
    summary="diversity alone, explored by Thompson sampling",
    exploration="thompson",
    paper="Thompson sampling for Hiranandani et al.: Cascading Linear Submodular Bandits, UAI 2019",
)
CascadeHybridGreedy = replace(
    CascadeHybrid,
    name="CascadeHybridGreedy",
    summary="relevance and diversity, never exploring",
    exploration="greedy",
    paper="plain reference: CascadeHybrid without exploration; gamma is not used",
)
CascadeHybridEpsilon = replace(
    CascadeHybrid,
    name="CascadeHybridEpsilon",
    summary="relevance and diversity, with a random list now and then",
    exploration="epsilon",
    paper="plain reference: CascadeHybrid without exploration, and a share epsilon (0.1) of lists drawn uniformly",
)
LSBGreedy = replace(
    CascadeLSB,
    name="LSBGreedy",
    summary="diversity alone, every item of the list observed",
    feedback="all",
    paper="Yue, Guestrin: Linear Submodular Bandits and their Application to Diversified Retrieval, NIPS 2011",
)

PAPER = ("CascadeHybrid", "CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull")
"""The policy of the paper and those it is compared with."""

LINEAR: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            CascadeHybrid,
            CascadeLinUCB,
            CascadeLinUCBFull,
            CascadeLSB,
            CascadeLSBFull,
            CascadeHybridTS,
            CascadeLinTS,
            CascadeLSBTS,
            CascadeHybridGreedy,
            CascadeHybridEpsilon,
            LSBGreedy,
        )
    }
)
"""Every linear policy."""

_OTHERS: tuple[Kind, ...] = (
    *cascading.KINDS,
    *ranked.KINDS,
    *batchrank.KINDS,
    *toprank.KINDS,
    *bubblerank.KINDS,
    *recurrank.KINDS,
    *pdgd.KINDS,
    *c2ucb.KINDS,
)

POLICIES: Mapping[str, Recipe | Kind] = MappingProxyType({**LINEAR, **{kind.name: kind for kind in _OTHERS}})
"""Every policy that can be named in a study or on the command line."""
