"""What items can earn: how much a click is worth, and what may follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankfall.arrays import number, whole
from rankfall.errors import FeedbackError, ProblemError, short

CLICK = "click"
"""The kind that feedback itself reports; all others come as outcomes."""


@dataclass(frozen=True)
class Rewards:
    """What a click and each later outcome is worth.

    Policies learn rewards divided by the largest one, so that the best thing that can happen once counts 1, as a click
    does where nothing but clicks counts: then ``gamma`` means the same, in whatever unit rewards are given.

    Parameters
    ----------
    worth : what each kind is worth. It has ``"click"``, which may be 0, and at least one that is above 0.

    >>> rewards = Rewards({"click": 1, "purchase": 5, "dislike": -1})
    >>> rewards.click, rewards.earned("purchase"), rewards.earned("purchase", 2), rewards.earned("dislike")
    (0.2, 1.0, 2.0, -0.2)
    >>> Rewards({"purchase": 5})
    Traceback (most recent call last):
    rankfall.errors.ProblemError: rewards must say what a click is worth, if it is 0; they have purchase
    """

    worth: Mapping[str, float]

    def __post_init__(self) -> None:
        for kind, value in self.worth.items():
            number(f"the reward of {short(kind)}", value, ProblemError)
        if CLICK not in self.worth:
            have = ", ".join(self.worth) or "nothing"
            raise ProblemError(f"rewards must say what a click is worth, if it is 0; they have {have}")
        if max(self.worth.values()) <= 0:
            raise ProblemError(f"one reward at least must be above 0, got {dict(self.worth)}")

    @property
    def largest(self) -> float:
        """The largest reward, which counts 1."""
        return float(max(self.worth.values()))

    @property
    def click(self) -> float:
        """What policies learn for a click."""
        return self.earned(CLICK)

    def total(self, kind: str, value: float = 1.0) -> float:
        """What ``value`` outcomes of a kind are worth; nothing, where the kind is not known."""
        return self.worth.get(kind, 0.0) * value

    def earned(self, kind: str, value: float = 1.0) -> float:
        """What policies learn for that: divided by the largest reward."""
        return self.total(kind, value) / self.largest


def checked_rewards(rewards: Any, length: int) -> dict[int, float]:
    """Rewards by 0-based position of a list of so many items, as finite numbers.

    >>> checked_rewards({2: 5}, 3)
    {2: 5.0}
    >>> checked_rewards({1: float("nan")}, 3)
    Traceback (most recent call last):
    rankfall.errors.FeedbackError: the reward at position 1 must be a number in (-inf, inf), got nan
    """
    if not isinstance(rewards, Mapping):
        raise FeedbackError(f"rewards must map positions to numbers, got {type(rewards).__name__}")
    return {
        whole("a position of rewards", position, FeedbackError, low=0, high=length - 1): number(
            f"the reward at position {position}", reward, FeedbackError
        )
        for position, reward in rewards.items()
    }
