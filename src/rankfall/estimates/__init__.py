"""What a ranking policy is worth, estimated from lists that another one has shown."""

from rankfall.estimates.chances import ListChances
from rankfall.estimates.estimators import ESTIMATORS, Estimate, Estimator, contributions, estimate_all
from rankfall.estimates.interval import Interval
from rankfall.estimates.policy_chances import KnownChances, chances_under, drawn_lists
from rankfall.estimates.reward_model import Predicted, RewardModel, predicted, with_worth
from rankfall.estimates.rewards import CountedAs, position_rewards

__all__ = [
    "ESTIMATORS",
    "CountedAs",
    "Estimate",
    "Estimator",
    "Interval",
    "KnownChances",
    "ListChances",
    "Predicted",
    "RewardModel",
    "chances_under",
    "contributions",
    "drawn_lists",
    "estimate_all",
    "position_rewards",
    "predicted",
    "with_worth",
]
