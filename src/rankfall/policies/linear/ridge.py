"""The one model behind every linear policy: ridge regression of clicks on the features as shown."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, fill
from rankfall.errors import ProblemError
from rankfall.kernels.forgetting import learn_fading, learn_sliding
from rankfall.kernels.ridge import UPDATES, State, earn, learn, new_state
from rankfall.policies.forgetting import Discount, Forgetting, Window


class Ridge:
    """Ridge regression with identity prior, kept up to date one list at a time.

    In the paper's words (section 5.2): ``gram`` is O, ``moment`` is b, ``covariance`` is O^-1 and ``weights`` is
    w = O^-1 b, the estimates of theta, then beta. The covariance follows every observation by a rank-1 update and
    is computed again from ``gram`` on a schedule, so that rounding errors do not add up; with ``forgetting`` it is
    computed again every time. Hold the ``lock`` while you read or change it.

    >>> model = Ridge(2)
    >>> model.learn(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.0, 1.0]))
    >>> model.weights
    array([0. , 0.4])
    """

    def __init__(self, columns: int, forgetting: Forgetting | None = None) -> None:
        if not isinstance(forgetting, Discount | Window | None):
            raise ProblemError(f"forgetting must be a Discount, a Window or None, got {forgetting!r}")
        self.forgetting = forgetting
        self.state: State = new_state(columns)
        self.lock = threading.Lock()
        self._work: FloatArray = np.empty(columns)
        # With a window: the lists in it, oldest first, and what rounding left out of gram and moment.
        self._window: deque[tuple[FloatArray, FloatArray]] = deque()
        self._rest: FloatArray = np.zeros((columns + 1 if isinstance(forgetting, Window) else 0, columns))

    @property
    def gram(self) -> FloatArray:
        """O = I + sum phi phi' over the items seen and not forgotten."""
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
        """Learn from the items seen of one list: features (n, columns), rewards (n,)."""
        if self.forgetting is None:
            learn(self.state, features, rewards, len(rewards), self._work)
        elif isinstance(self.forgetting, Discount):
            learn_fading(self.state, float(self.forgetting.rho), features, rewards)
        else:
            newest = np.array(features, order="C"), np.array(rewards)
            full = len(self._window) == self.forgetting.lists
            oldest = self._window.popleft() if full else (newest[0][:0], newest[1][:0])
            self._window.append(newest)
            learn_sliding(self.state, self._rest, *newest, *oldest)

    def earn(self, features: FloatArray, reward: float) -> None:
        """Learn that an item of a list learned from before earned more: its features (columns,), and how much.

        It adds to what the item earned, and not to how often it was seen. What has faded or left a window would have to
        be told from what has not, so a model that forgets cannot learn it.

        >>> model = Ridge(1)
        >>> model.learn(np.array([[1.0]]), np.array([1.0]))
        >>> model.earn(np.array([1.0]), 0.5)
        >>> model.weights, model.n_updates
        (array([0.75]), 1)
        """
        if self.forgetting is not None:
            raise ProblemError(f"a model with {self.forgetting} cannot learn what a list earns later")
        earn(self.state, features, float(reward))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, as copies of its arrays by name."""
        arrays = {name: array.copy() for name, array in self.state._asdict().items()}
        if isinstance(self.forgetting, Window):
            arrays["window_rest"] = self._rest.copy()
            arrays["window_features"] = np.concatenate([self._rest[:0], *(features for features, _ in self._window)])
            arrays["window_rewards"] = np.concatenate([self._rest[0, :0], *(rewards for _, rewards in self._window)])
            arrays["window_lengths"] = np.array([len(rewards) for _, rewards in self._window], dtype=np.int64)
        return arrays

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], forgetting: Forgetting | None = None) -> Ridge:
        """The model with exactly these arrays and this forgetting; raises ValueError where they cannot be one."""
        missing = cls(0, forgetting).arrays().keys() - arrays.keys()
        if missing:
            raise ValueError(f"a model with forgetting={forgetting} needs {', '.join(sorted(missing))} too")
        if "window_rest" in arrays and not isinstance(forgetting, Window):
            raise ValueError(f"the arrays are of a model with a Window, not with forgetting={forgetting}")
        model = cls(arrays["moment"].size, forgetting)
        for name, own in model.state._asdict().items():
            fill(own, name, arrays[name])
        if isinstance(forgetting, Window):
            fill(model._rest, "window_rest", arrays["window_rest"])
            model._window.extend(_lists(arrays, len(model.weights)))
            if len(model._window) != min(model.n_updates, forgetting.lists):
                raise ValueError(f"{len(model._window)} lists in {forgetting} after {model.n_updates} updates")
        return model

    @staticmethod
    def widened(arrays: Mapping[str, NDArray[Any]], at: int, count: int) -> dict[str, NDArray[Any]]:
        """The arrays of a model that had ``count`` more columns from column ``at`` on, all zero in what it has seen.

        Exactly what it would have learned: such columns take no part in any sum.

        >>> model = Ridge.restore(Ridge.widened(Ridge(1).arrays(), at=0, count=1))
        >>> model.learn(np.array([[0.0, 2.0]]), np.array([1.0]))
        >>> model.weights
        array([0. , 0.4])
        """
        made = {**arrays}
        for name in ("gram", "covariance"):
            wide = np.insert(np.insert(arrays[name], [at] * count, 0.0, axis=0), [at] * count, 0.0, axis=1)
            wide[range(at, at + count), range(at, at + count)] = 1.0
            made[name] = wide
        for name in ("moment", "weights"):
            made[name] = np.insert(arrays[name], [at] * count, 0.0)
        if "window_rest" in arrays:  # (columns + 1, columns): rest of gram, then of moment
            made["window_rest"] = np.insert(
                np.insert(arrays["window_rest"], [at] * count, 0.0, axis=0), [at] * count, 0.0, axis=1
            )
            made["window_features"] = np.insert(arrays["window_features"], [at] * count, 0.0, axis=1)
        return made

    def copy(self) -> Ridge:
        """A model that knows the same and learns on its own from here."""
        return Ridge.restore(self.arrays(), self.forgetting)


def _lists(arrays: Mapping[str, NDArray[Any]], columns: int) -> list[tuple[FloatArray, FloatArray]]:
    """The features and rewards of each list in a window."""
    lengths = np.empty(arrays["window_lengths"].size, dtype=np.int64)
    rewards = np.empty(arrays["window_rewards"].size)
    features = np.empty((len(rewards), columns))
    for name, own in (("lengths", lengths), ("rewards", rewards), ("features", features)):
        fill(own, f"window_{name}", arrays[f"window_{name}"])
    if (lengths < 0).any() or lengths.sum() != len(rewards):
        raise ValueError(f"window_lengths are {lengths}; they must sum to the {len(rewards)} rows in the window")
    ends = np.cumsum(lengths)
    return [(features[end - n : end], rewards[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
