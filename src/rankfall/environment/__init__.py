"""Simulated users: what attracts them, where they click, and what the best list would have earned."""

from rankfall.environment.attraction import Attraction, Coverage, Hybrid, Linear, Table
from rankfall.environment.cascade import CascadeUser
from rankfall.environment.checks import check_environment
from rankfall.environment.clicking import Cascade, ClickModel, DependentClick, DocumentBased, PositionBased, Reward
from rankfall.environment.drifting import Drifting
from rankfall.environment.intents import Intents, restaurant
from rankfall.environment.protocol import Environment
from rankfall.environment.theorem import Bound, theorem_bound
from rankfall.environment.user import User

__all__ = [
    "Attraction",
    "Bound",
    "Cascade",
    "CascadeUser",
    "ClickModel",
    "Coverage",
    "DependentClick",
    "DocumentBased",
    "Drifting",
    "Environment",
    "Hybrid",
    "Intents",
    "Linear",
    "PositionBased",
    "Reward",
    "Table",
    "User",
    "check_environment",
    "restaurant",
    "theorem_bound",
]
