"""What a policy says about itself: why an item stands where it stands, and what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rankfall.item_names import Id
from rankfall.policies.list_rules import HeldBack

_LARGEST = 3  # features that the words of an explanation name


@dataclass(frozen=True)
class Explanation:
    """Why one item stands where it stands: ``relevance + sum(coverage.values()) + bonus == score``.

    ``features`` has the parts of ``relevance`` by name, where the policy has any and the catalog names them.
    ``held_back`` is the item that a rule did not allow here, and that would have been chosen without.
    """

    id: Id
    title: str
    relevance: float
    coverage: Mapping[str, float]
    bonus: float
    score: float
    features: Mapping[str, float] = field(default_factory=dict)
    held_back: HeldBack | None = None

    def __str__(self) -> str:
        parts = [f"relevance {self.relevance:+.3f}{self._largest_features()}"] if self.relevance else []
        parts += [f"{topic} {gain:+.3f}" for topic, gain in self.coverage.items()]
        told = f"{self.title}: {self.score:.3f} = {', '.join(parts)}, exploration {self.bonus:+.3f}"
        other = self.held_back
        return told if other is None else f"{told}; not {other.id} ({other.score:.3f}): {other.rule}"

    def _largest_features(self) -> str:
        """The features that matter most here, in words."""
        largest = sorted(self.features, key=lambda name: -abs(self.features[name]))[:_LARGEST]
        told = ", ".join(f"{name} {self.features[name]:+.3f}" for name in largest if self.features[name])
        return f" ({told})" if told else ""


class Weight(NamedTuple):
    """One number that was learned, and its standard deviation: the weight of a column, or the attraction of an item."""

    name: str
    block: Literal["topic", "feature", "item"]
    weight: float
    sd: float
