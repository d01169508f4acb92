"""The one model behind every linear policy: ridge regression of clicks on the features as shown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray
from rankfall.kernels.ridge import learn


class Ridge:
    """Ridge regression with identity prior, kept up to date one list at a time.

    In the paper's words (section 5.2): ``gram`` is O, ``moment`` is b, ``covariance`` is O^-1 and ``weights`` is
    w = O^-1 b, the estimates of theta, then beta. The covariance follows every observation by a rank-1 update and
    is computed afresh from ``gram`` on a schedule, so that rounding does not pile up.

    >>> model = Ridge(2)
    >>> model.learn(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.0, 1.0]))
    >>> model.weights
    array([0. , 0.4])
    """

    ARRAYS = ("gram", "covariance", "moment", "weights", "counts")

    def __init__(self, columns: int) -> None:
        self.gram: FloatArray = np.eye(columns)
        self.covariance: FloatArray = np.eye(columns)
        self.moment: FloatArray = np.zeros(columns)
        self.weights: FloatArray = np.zeros(columns)
        self.counts: NDArray[np.int64] = np.zeros(2, dtype=np.int64)

    @property
    def n_updates(self) -> int:
        """Lists learned from."""
        return int(self.counts[0])

    def learn(self, features: FloatArray, rewards: FloatArray) -> None:
        """Take in the seen items of one list: features (n, columns), rewards (n,)."""
        learn(self.gram, self.covariance, self.moment, self.weights, self.counts, features, rewards)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all there is to know, by name."""
        return {name: getattr(self, name).copy() for name in self.ARRAYS}

    @classmethod
    def restore(cls, state: dict[str, NDArray[np.generic]]) -> Ridge:
        """The model with exactly this state; raises ValueError where it cannot be one."""
        columns = len(state["moment"])
        model = cls(columns)
        for name in cls.ARRAYS:
            own, given = getattr(model, name), state[name]
            if own.shape != given.shape or own.dtype != given.dtype or not np.isfinite(given).all():
                raise ValueError(f"{name} is {given.dtype} of shape {given.shape}, not {own.dtype} of {own.shape}")
            own[...] = given
        return model
