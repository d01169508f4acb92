"""What linear policies share whose observations have weights, or whose clicks are logistic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Never

from numpy.typing import NDArray

from rankfall.arrays import FloatArray
from rankfall.errors import ProblemError
from rankfall.kernels.ridge import State
from rankfall.kernels.weighted_ridge import INTERVAL, learn_weighted, new_room
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.ridge import Ridge
from rankfall.policies.linear.settings import LinearSettings

SECOND = "second_"
"""What the names of the arrays of a second model begin with."""


@dataclass(frozen=True)
class WeightedSettings(LinearSettings):
    """Settings of linear policies whose observations have weights."""

    def check(self) -> None:
        """They neither forget nor have a context."""
        super().check()
        for name in ("forgetting", "context"):
            if getattr(self, name) is not None:
                raise ProblemError(f"policies whose observations have weights take no {name}; leave it out")


class WeightedPolicy(LinearPolicy):
    """A linear policy that learns by :func:`rankfall.kernels.weighted_ridge.learn_weighted`.

    Attributes
    ----------
    rule : of the class: how observations are weighted; see :mod:`rankfall.kernels.weighted_ridge`.
    paired : of the class: whether a second model says how the first is to learn.
    """

    Settings = WeightedSettings
    relevance = "constant"
    rule: ClassVar[int] = INTERVAL
    paired: ClassVar[bool] = False
    why_not_served = "a service can neither widen its state by new topics nor start it from a prior"
    why_not_rewarded = "it knows what a click can tell, and not what other rewards can"

    settings: WeightedSettings

    def begin(self) -> None:
        """Nothing learned, in either model."""
        super().begin()
        self._second: Ridge | None = Ridge(self._n_columns) if self.paired else None

    @property
    def least_variance(self) -> float:
        """The least variance that an observation counts with, where the rule needs one."""
        return 0.0

    @property
    def second(self) -> State:
        """The second model, live; the first where there is none."""
        return self._model.state if self._second is None else self._second.state

    def teach(self, features: FloatArray, earned: FloatArray) -> None:
        """Learn by the rule."""
        room = new_room(*features.shape)
        learn_weighted(
            self.rule, self._model.state, self.second, self.gamma, self.least_variance, features, earned, len(earned),
            room,
        )  # fmt: skip

    def with_prior(self, prior: Prior) -> Never:  # noqa: ARG002
        """Not possible."""
        raise ProblemError(f"{type(self).__name__} starts from the identity, and from no other prior")

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays of the model, and those of the second one by names of their own."""
        arrays = super().state()
        if self._second is None:
            return arrays
        with self._model.lock:
            return arrays | {SECOND + name: array for name, array in self._second.arrays().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        others = {name.removeprefix(SECOND): array for name, array in arrays.items() if name.startswith(SECOND)}
        second = Ridge.restore(others) if self.paired else None
        if second is not None and len(second.weights) != self._n_columns:
            raise ValueError(f"a second model of {len(second.weights)} columns for a policy of {self._n_columns}")
        super().restore({name: array for name, array in arrays.items() if not name.startswith(SECOND)})
        self._second = second
