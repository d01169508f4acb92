"""Settings of linear policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rankfall.errors import ProblemError
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.forgetting import Discount, Forgetting, Window
from rankfall.policies.settings import PolicySettings, made_by, one_of, real

Exploration = Literal["ucb", "thompson", "greedy", "epsilon"]
Feedback = Literal["cascade", "last_click", "all"]


@dataclass(frozen=True)
class LinearSettings(PolicySettings):
    """Settings of linear policies.

    Attributes
    ----------
    gamma : exploration: how many widths above its mean an item is judged.
    feedback : which items were seen, if not as the policy has it; see :class:`LinearPolicy`.
    forgetting : how old lists fade: a :class:`rankfall.Discount`, a :class:`rankfall.Window`, or None for not at all.
    context : what requests may say beside who asks: a :class:`rankfall.Context`, or its factors by name.
    context_variance : how far preferences may move with the context, from 0 to 1, where 1 is how far they may be from 0
        at all; chosen from the clicks for each factor, if None.
    request_features : features that candidates have in one request: a :class:`rankfall.RequestFeatures`, or its numbers
        by name.
    """

    gamma: float = real(1.0, low=0.0)
    feedback: Feedback | None = one_of(None, "cascade", "last_click", "all")
    forgetting: Forgetting | None = None
    context: Context | None = made_by(Context)
    context_variance: float | None = real(None, low=0.0, high=1.0)
    request_features: RequestFeatures | None = made_by(RequestFeatures)

    def check(self) -> None:
        """Forgetting must be one of the two kinds."""
        if not isinstance(self.forgetting, Discount | Window | None):
            raise ProblemError(f"forgetting must be a Discount, a Window or None, got {self.forgetting!r}")
        if self.context_variance is not None and self.context is None:
            raise ProblemError("context_variance is for policies with a context; declare one")


@dataclass(frozen=True)
class EpsilonSettings(LinearSettings):
    """Settings of linear policies that draw some of their lists at random.

    Attributes
    ----------
    epsilon : share of lists drawn at random.
    """

    epsilon: float = real(0.1, low=0.0, high=1.0)
