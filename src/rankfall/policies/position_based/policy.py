"""What policies for position-based clicks share: counts by item and position."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.errors import ProblemError
from rankfall.kernels import position_based
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, count, reals


class PositionPolicy(Policy):
    """Counts by item and position, for the first ``k`` positions of lists."""

    why_not_served = "it counts by position, and from one set of items"

    k: int

    def begin(self) -> None:
        """How often each item was shown and clicked at each position: (items, k)."""
        shape = (self.n_items, self.k)
        self.arrays = {"shown": np.zeros(shape), "clicked": np.zeros(shape)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items, k={self.k})"

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Count what was shown and clicked where."""
        rows = ranking.items[: self.k]
        shown, clicked = self.arrays["shown"], self.arrays["clicked"]
        shown[rows, np.arange(len(rows))] += 1.0
        for position in clicks:
            if position < self.k:
                clicked[rows[position], position] += 1.0


@dataclass(frozen=True)
class KnownBiasSettings(PolicySettings):
    """Settings of policies that know how likely positions are examined."""

    k: int | None = count(None)
    examination: tuple[float, ...] | None = reals(None)

    def check(self) -> None:
        """Examination is a probability for each position, above 0."""
        if self.examination is None:
            return
        if not self.examination or not all(0.0 < one <= 1.0 for one in self.examination):
            raise ProblemError(
                f"examination must be a probability above 0 for each position, got {list(self.examination)}"
            )
        if self.k is not None and self.k > len(self.examination):
            raise ProblemError(f"examination has {len(self.examination)} numbers, and k is {self.k}; one for each")


class KnownBiasPolicy(PositionPolicy):
    """Knows how likely each position is examined, and puts the best item where users look most."""

    Settings = KnownBiasSettings
    why_not_ruled = "it puts the best item where users look most, which need not be at the top"

    settings: KnownBiasSettings

    def prepare(self) -> None:
        """Examination of each position, and the positions from the most examined on."""
        given = self.settings.examination
        k = (len(given) if given else 10) if self.settings.k is None else self.settings.k
        self.k = min(k, self.n_items)
        self.examination: FloatArray = np.ones(self.k) if given is None else np.array(given[: self.k])
        self._order = np.argsort(-self.examination, kind="stable")

    @abstractmethod
    def scores(self, rng: np.random.Generator) -> FloatArray:
        """(items,) what items are ordered by: bounds or samples of their attraction."""

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """The items with the highest scores, the best where users look most."""
        scores = self.scores(rng)
        items, order = request.empty_list(), self._most_examined(request.k)
        order = order[items[order] < 0]
        items[order] = request.rows[np.argsort(-scores[request.rows], kind="stable")[: len(order)]]
        return Ranking.trusted(items, None, self.catalog, scores[items])

    def _most_examined(self, k: int) -> IntArray:
        """The positions of a list of ``k``, from the most examined on; those that are not known come last."""
        return np.append(self._order[self._order < k], np.arange(self.k, k))

    def places(self, k: int) -> position_based.Places:
        """Its live counts, for compiled steps."""
        return position_based.Places(
            self.arrays["shown"],
            self.arrays["clicked"],
            self.examination,
            self._most_examined(k),
            np.empty(self.n_items),
            np.empty(k, dtype=np.int64),
            np.empty(k),
        )
