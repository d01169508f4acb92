"""How a data set is prepared, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from rankfall.arrays import number, whole
from rankfall.errors import ProblemError


@dataclass(frozen=True)
class PreparationSettings:
    """How a data set is prepared; see :func:`prepare`."""

    users: int = 1000
    items: int = 1000
    threshold: float = 5.0
    topics: int | None = None
    rank: int = 10
    unit_preferences: bool = False
    seed: int = 0
    one_topic: bool = False

    def __post_init__(self) -> None:
        whole("users", self.users, ProblemError, low=2)
        whole("items", self.items, ProblemError, low=1)
        number("threshold", self.threshold, ProblemError)
        if self.topics is not None:
            whole("topics", self.topics, ProblemError, low=1)
        whole("rank", self.rank, ProblemError, low=1)
        whole("seed", self.seed, ProblemError, low=0)
        for name in ("unit_preferences", "one_topic"):
            if not isinstance(getattr(self, name), bool):
                raise ProblemError(f"{name} must be True or False, got {getattr(self, name)!r}")
