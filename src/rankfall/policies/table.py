"""The table of policies by name. A new linear policy is a row here."""

from collections.abc import Mapping
from types import MappingProxyType

from rankfall.policies.linear import Recipe

CascadeHybrid = Recipe(
    "CascadeHybrid",
    coverage="diminishing",
    relevance="constant",
    paper="Li, Feng, de Rijke: Cascading Hybrid Bandits, RecSys 2020, Algorithm 1",
)
CascadeLinUCB = Recipe(
    "CascadeLinUCB",
    relevance="constant",
    paper="Zong et al.: Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016",
)
CascadeLinUCBFull = Recipe(
    "CascadeLinUCBFull",
    coverage="constant",
    relevance="constant",
    paper="CascadeLinUCB on coverage and relevance (Cascading Hybrid Bandits, section 4.1)",
)
CascadeLSB = Recipe(
    "CascadeLSB",
    coverage="diminishing",
    paper="Hiranandani et al.: Cascading Linear Submodular Bandits, UAI 2019",
)
CascadeLSBFull = Recipe(
    "CascadeLSBFull",
    coverage="diminishing",
    relevance="diminishing",
    paper="CascadeLSB on coverage and relevance (Cascading Hybrid Bandits, section 4.1)",
)

POLICIES: Mapping[str, Recipe] = MappingProxyType(
    {recipe.name: recipe for recipe in (CascadeHybrid, CascadeLinUCB, CascadeLinUCBFull, CascadeLSB, CascadeLSBFull)}
)
"""Every policy that can be named in a study or on the command line."""
