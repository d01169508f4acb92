"""What is known of a user's weights before the user has shown anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfall.arrays import FloatArray, finite, frozen, number, whole
from rankfall.errors import ProblemError
from rankfall.kernels.ridge import invert


@dataclass(frozen=True, eq=False)
class Prior:
    """Weights before the first click: normal, with this mean and this covariance. A value: its arrays are read-only.

    A policy that starts from it has ``O = covariance^-1 + G`` and ``b = covariance^-1 mean + h``, where G and h are
    sums over what it has seen; see :meth:`rankfall.LinearPolicy.with_prior`. The covariance is in units of the
    variance of clicks around their expectation (the noise), as that of ridge regression is: so the identity is the
    prior of every policy that was given none, and gamma keeps its meaning.

    Parameters
    ----------
    mean : (columns,) weights of an average user: for topics, then for relevance features.
    covariance : (columns, columns) how users differ from it, positive definite, divided by the noise.
    noise : variance of clicks around their expectation, for whoever wants the covariance in its own units.
    users : how many users taught it.

    >>> Prior([0.5, 0.0], [[0.1, 0.0], [0.0, 0.1]], users=20)
    Prior(2 columns, learned from 20 users)
    """

    mean: FloatArray
    covariance: FloatArray
    noise: float = 1.0
    users: int = 0
    precision: FloatArray = field(init=False, repr=False)
    """(columns, columns) the inverse of the covariance."""
    pull: FloatArray = field(init=False, repr=False)
    """(columns,) the inverse of the covariance times the mean: what a policy adds to the sum of clicked features."""

    def __init__(self, mean: ArrayLike, covariance: ArrayLike, noise: float = 1.0, users: int = 0) -> None:
        centre, spread = finite("mean", mean, 1, ProblemError), finite("covariance", covariance, 2, ProblemError)
        if spread.shape != (len(centre), len(centre)):
            raise ProblemError(f"a covariance of shape {spread.shape} for {len(centre)} columns")
        if not np.array_equal(spread, spread.T):
            raise ProblemError("the covariance is not symmetric; it must be, to the bit")
        precision = np.empty_like(spread)
        invert(spread.copy(), precision)  # kernels take arrays that can be written
        if not np.isfinite(precision).all():
            raise ProblemError("the covariance is not positive definite")
        pull = np.zeros(len(centre))
        for i, value in enumerate(centre):  # in one order on every machine, as the bits of lists depend on it
            pull += value * precision[i]
        values: dict[str, Any] = {
            "mean": centre,
            "covariance": spread,
            "noise": number("noise", noise, ProblemError, low=0.0),
            "users": whole("users", users, ProblemError, low=0),
            "precision": frozen(precision),
            "pull": frozen(pull),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Prior({len(self.mean)} columns, learned from {self.users:,} users)"

    @classmethod
    def identity(cls, columns: int) -> Self:
        """The prior of ridge regression: mean 0, covariance the identity.

        >>> Prior.identity(3)
        Prior(3 columns, learned from 0 users)
        """
        return cls(np.zeros(columns), np.eye(columns))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything it says, as plain arrays by name; :meth:`of` gives it back to the bit."""
        return {
            "mean": self.mean.copy(),
            "covariance": self.covariance.copy(),
            "noise": np.array(self.noise),
            "users": np.array(self.users),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The prior with these arrays."""
        return cls(arrays["mean"], arrays["covariance"], float(arrays["noise"]), int(arrays["users"]))

    def widened(self, at: int, count: int) -> Prior:
        """The prior with ``count`` more columns from column ``at`` on, of which nothing is known.

        >>> Prior([0.5], [[0.1]]).widened(at=0, count=1).covariance
        array([[1. , 0. ],
               [0. , 0.1]])
        """
        wide = np.insert(np.insert(self.covariance, [at] * count, 0.0, axis=0), [at] * count, 0.0, axis=1)
        wide[range(at, at + count), range(at, at + count)] = 1.0
        return Prior(np.insert(self.mean, [at] * count, 0.0), wide, self.noise, self.users)
