"""Random rankings with scores: a policy whose every probability can be written down."""

from __future__ import annotations

import itertools

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.estimates import ListChances


class PlackettLuce:
    """Draws a list from the top down, each item with a probability in proportion to its score."""

    def __init__(self, scores: list[float], k: int) -> None:
        self.scores, self.k = np.array(scores), k
        self.lists: IntArray = np.array(list(itertools.permutations(range(len(scores)), k)))
        """Every list there is (lists, k)."""
        self.given = self.given_above(self.lists)
        self.probability = self.given.prod(axis=1)

    def given_above(self, lists: IntArray) -> FloatArray:
        """Chance of each item given those above (lists, k)."""
        score = self.scores[lists]
        above = np.cumsum(score, axis=1) - score
        return score / (self.scores.sum() - above)

    def at_position(self, lists: IntArray) -> FloatArray:
        """Chance of each item at its position, by adding up all lists."""
        alone = np.zeros((len(self.scores), self.k))
        for shown, probability in zip(self.lists, self.probability, strict=True):
            alone[shown, np.arange(self.k)] += probability
        return alone[lists, np.arange(self.k)]

    def chances(self, lists: IntArray) -> ListChances:
        """Both."""
        return ListChances.given_above(self.given_above(lists), self.at_position(lists))

    def draw(self, n: int, rng: np.random.Generator) -> IntArray:
        """So many lists, each by one number from ``rng.random``."""
        return self.lists[np.searchsorted(np.cumsum(self.probability), rng.random(n) * (1 - 1e-12))]
