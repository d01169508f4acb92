"""Simulated users: what attracts them, where they click, and what the best list would have earned."""

from rankfall.users.attraction import Attraction, Coverage, Hybrid, Linear, Table
from rankfall.users.cascade import CascadeUser
from rankfall.users.checks import check_environment
from rankfall.users.click_models import Cascade, ClickModel, DependentClick, DocumentBased, PositionBased, Reward
from rankfall.users.drifting import Drifting
from rankfall.users.intents import Intents, restaurant
from rankfall.users.protocol import Environment
from rankfall.users.theorem import Bound, theorem_bound
from rankfall.users.user import User

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
