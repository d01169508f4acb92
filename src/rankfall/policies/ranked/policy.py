"""What ranked bandits share: what the bandits chose, and which clicks they are told."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rankfall.arrays import BoolArray, IntArray
from rankfall.errors import FeedbackError
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.settings import PolicySettings, count

Counted: TypeAlias = Literal["first", "all"]


class Choices(NamedTuple):
    """What the bandits chose, which need not be what was shown; noted in the ranking.

    Attributes
    ----------
    items : the choice at each position, -1 where there was none to learn from.
    odds : the probability with which it was drawn, if it was drawn.
    """

    items: list[int]
    odds: list[float]


@dataclass(frozen=True)
class RankedSettings(PolicySettings):
    """Settings of all ranked bandits: positions to learn."""

    k: int = count(10)


class RankedPolicy(Policy):
    """A bandit for each of ``k`` positions, and the clicks that are told to them."""

    Settings = RankedSettings
    why_not_served = "its bandits learn from lists they chose themselves, from one set of items"

    settings: RankedSettings

    def prepare(self) -> None:
        """No more bandits than items."""
        self.k = min(self.settings.k, self.n_items)

    def numbers_drawn(self, k: int) -> int:
        """Two for each position, where bandits draw."""
        return 2 * k if self.randomised else 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items, k={self.k})"

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Tell the bandits what their choices earned."""
        note = ranking.note
        if not isinstance(note, Choices) or len(note.items) != len(ranking):
            raise self.foreign(ranking)
        if max(note.items) >= self.n_items:
            raise FeedbackError(f"row {max(note.items)} was chosen; rows go from 0 to {self.n_items - 1}")
        clicked = np.zeros(len(ranking), dtype=bool)
        clicked[clicks] = True
        self.tell(note, ranking.items, clicked)

    @abstractmethod
    def tell(self, chosen: Choices, shown: IntArray, clicked: BoolArray) -> None:
        """Tell the bandits what their choices earned: what was chosen, what was shown instead, what was clicked."""
