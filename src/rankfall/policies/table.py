"""The table of policies by name. A new linear policy is a row here; others bring rows of their own."""

from collections.abc import Mapping
from types import MappingProxyType

from rankfall.policies import batchrank, bubblerank, cascading, pdgd, ranked, recurrank, toprank
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

PAPER = ("CascadeHybrid", "CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull")
"""The policy of the paper and those it is compared with."""

LINEAR: Mapping[str, Recipe] = MappingProxyType(
    {recipe.name: recipe for recipe in (CascadeHybrid, CascadeLinUCB, CascadeLinUCBFull, CascadeLSB, CascadeLSBFull)}
)
"""Every linear policy: those that a service can learn with."""

_OTHERS: tuple[Kind, ...] = (
    *cascading.KINDS,
    *ranked.KINDS,
    *batchrank.KINDS,
    *toprank.KINDS,
    *bubblerank.KINDS,
    *recurrank.KINDS,
    *pdgd.KINDS,
)

POLICIES: Mapping[str, Recipe | Kind] = MappingProxyType({**LINEAR, **{kind.name: kind for kind in _OTHERS}})
"""Every policy that can be named in a study or on the command line."""
