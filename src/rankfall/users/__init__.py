"""Simulated users: what attracts them, where they click, and what the best list would have earned."""

from rankfall.users.attraction import Attraction
from rankfall.users.cascade_user import CascadeUser
from rankfall.users.checks import check_environment
from rankfall.users.click_models import (
    Cascade,
    ClickChain,
    ClickModel,
    DependentClick,
    DocumentBased,
    DynamicBayesian,
    ExaminedCascade,
    PositionBased,
    Reward,
    UserBrowsing,
)
from rankfall.users.drifting import Drifting
from rankfall.users.environment import Environment
from rankfall.users.hybrid import Coverage, Hybrid
from rankfall.users.in_context import InContext
from rankfall.users.intents import Intents, generate_intents
from rankfall.users.per_item import Linear, PerItem
from rankfall.users.tastes import moved_tastes, situations_of
from rankfall.users.theorem import Bound, eta, theorem_bound
from rankfall.users.user import User

__all__ = [
    "Attraction",
    "Bound",
    "Cascade",
    "CascadeUser",
    "ClickChain",
    "ClickModel",
    "Coverage",
    "DependentClick",
    "DocumentBased",
    "Drifting",
    "DynamicBayesian",
    "Environment",
    "ExaminedCascade",
    "Hybrid",
    "InContext",
    "Intents",
    "Linear",
    "PerItem",
    "PositionBased",
    "Reward",
    "User",
    "UserBrowsing",
    "check_environment",
    "eta",
    "generate_intents",
    "moved_tastes",
    "situations_of",
    "theorem_bound",
]
