"""The one model behind every linear policy: ridge regression of clicks on the features as shown."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray
from rankfall.kernels.ridge import UPDATES, State, learn, new_state


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

    def __init__(self, columns: int) -> None:
        self.state: State = new_state(columns)
        self.lock = threading.Lock()
        self._work: FloatArray = np.empty(columns)

    @property
    def gram(self) -> FloatArray:
        """O = I + sum phi phi' over the items seen."""
        return self.state.gram  # type: ignore[no-any-return]

    @property
    def covariance(self) -> FloatArray:
        """O^-1."""
        return self.state.covariance  # type: ignore[no-any-return]

    @property
    def weights(self) -> FloatArray:
        """O^-1 b: theta, then beta."""
        return self.state.weights  # type: ignore[no-any-return]

    @property
    def n_updates(self) -> int:
        """Lists learned from."""
        return int(self.state.counts[UPDATES])

    def learn(self, features: FloatArray, rewards: FloatArray) -> None:
        """Take in the items seen of one list: features (n, columns), rewards (n,)."""
        learn(self.state, features, rewards, len(rewards), self._work)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all there is to know, by name."""
        return {name: array.copy() for name, array in self.state._asdict().items()}

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]]) -> Ridge:
        """The model with exactly these arrays; raises ValueError where they cannot be one."""
        model = cls(len(arrays["moment"]))
        for name, own in model.state._asdict().items():
            given = arrays[name]
            if own.shape != given.shape or own.dtype != given.dtype or not np.isfinite(given).all():
                raise ValueError(f"{name} is {given.dtype} of shape {given.shape}, not {own.dtype} of {own.shape}")
            own[...] = given
        return model
