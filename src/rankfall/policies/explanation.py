"""What a policy says about itself: why an item stands where it stands, and what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rankfall.catalog import Id


@dataclass(frozen=True)
class Explanation:
    """Why one item stands where it stands: ``relevance + sum(coverage.values()) + bonus == score``."""

    id: Id
    title: str
    relevance: float
    coverage: Mapping[str, float]
    bonus: float
    score: float

    def __str__(self) -> str:
        parts = [f"relevance {self.relevance:+.3f}"] if self.relevance else []
        parts += [f"{topic} {gain:+.3f}" for topic, gain in self.coverage.items()]
        return f"{self.title}: {self.score:.3f} = {', '.join(parts)}, exploration {self.bonus:+.3f}"


class Weight(NamedTuple):
    """One number that was learned, and its standard deviation: the weight of a column, or the attraction of an item."""

    name: str
    block: Literal["topic", "feature", "item"]
    weight: float
    sd: float
