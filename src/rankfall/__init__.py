"""Rankfall shows ranked lists that are relevant and diverse, and learns both from clicks.

Names are imported when first used: ``import rankfall`` is instant and compiles nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankfall.catalog import Catalog
    from rankfall.clicks import fit_cascade, fit_dependent_click, fit_position_based
    from rankfall.datasets import generate
    from rankfall.environment import (
        Bound,
        Cascade,
        CascadeUser,
        Coverage,
        DependentClick,
        DocumentBased,
        Drifting,
        Environment,
        Hybrid,
        Intents,
        Linear,
        PositionBased,
        Table,
        User,
        check_environment,
        restaurant,
        theorem_bound,
    )
    from rankfall.errors import (
        CatalogError,
        ContractError,
        FeedbackError,
        FileError,
        ProblemError,
        RankError,
        RankfallError,
        StoreError,
    )
    from rankfall.features import Prepared, prepare
    from rankfall.model import Discount, Window
    from rankfall.policies import (
        C2UCB,
        DCMKLUCB,
        PDGD,
        POLICIES,
        BatchRank,
        BubbleRank,
        CascadeDUCB,
        CascadeHybrid,
        CascadeHybridEpsilon,
        CascadeHybridGreedy,
        CascadeHybridTS,
        CascadeKLUCB,
        CascadeLinTS,
        CascadeLinUCB,
        CascadeLinUCBFull,
        CascadeLSB,
        CascadeLSBFull,
        CascadeLSBTS,
        CascadeSWUCB,
        CascadeTS,
        CascadeUCB1,
        Explanation,
        LinearPolicy,
        LSBGreedy,
        Policy,
        RankedEXP3,
        RankedUCB1,
        RankedZooming,
        Ranking,
        Recipe,
        RecurRank,
        TopRank,
        check_policy,
        load,
    )
    from rankfall.results import Run
    from rankfall.simulation import simulate, simulate_many

__version__ = "0.1.0"

_HOME = {
    "catalog": ["Catalog"],
    "clicks": ["fit_cascade", "fit_dependent_click", "fit_position_based"],
    "datasets": ["generate"],
    "environment": [
        "Bound",
        "Cascade",
        "CascadeUser",
        "Coverage",
        "DependentClick",
        "DocumentBased",
        "Drifting",
        "Environment",
        "Hybrid",
        "Intents",
        "Linear",
        "PositionBased",
        "Table",
        "User",
        "check_environment",
        "restaurant",
        "theorem_bound",
    ],
    "errors": [
        "CatalogError",
        "ContractError",
        "FeedbackError",
        "FileError",
        "ProblemError",
        "RankError",
        "RankfallError",
        "StoreError",
    ],
    "features": ["Prepared", "prepare"],
    "model": ["Discount", "Window"],
    "policies": [
        "BatchRank",
        "BubbleRank",
        "C2UCB",
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
        "DCMKLUCB",
        "Explanation",
        "LSBGreedy",
        "LinearPolicy",
        "PDGD",
        "POLICIES",
        "Policy",
        "RankedEXP3",
        "RankedUCB1",
        "RankedZooming",
        "Ranking",
        "Recipe",
        "RecurRank",
        "TopRank",
        "check_policy",
        "load",
    ],
    "results": ["Run"],
    "simulation": ["simulate", "simulate_many"],
}
_MODULE_OF = {name: f"{__name__}.{module}" for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
