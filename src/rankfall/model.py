"""The one model behind every linear policy: ridge regression of clicks on the features as shown."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, fill, number, whole
from rankfall.errors import ProblemError
from rankfall.kernels.forgetting import learn_fading, learn_sliding
from rankfall.kernels.ridge import UPDATES, State, learn, new_state


@dataclass(frozen=True)
class Discount:
    """Forgetting by fading: with every list learned from, all earlier ones count ``rho`` times what they did.

    So about ``1 / (1 - rho)`` lists count. The prior does not fade: O <- I + rho (O - I), b <- rho b, then the list is
    added. D-LinUCB (Russac et al., 2019) keeps a second matrix, faded by rho^2, to narrow its widths; we keep one, and
    so widths are never narrower than theirs.

    >>> Discount(1.5)
    Traceback (most recent call last):
    rankfall.errors.ProblemError: rho must be a number between 0 and 1, and neither of them, got 1.5
    """

    rho: float

    def __post_init__(self) -> None:
        rho = number("rho", self.rho, ProblemError)
        if not 0.0 < rho < 1.0:
            raise ProblemError(f"rho must be a number between 0 and 1, and neither of them, got {self.rho!r}")
        object.__setattr__(self, "rho", rho)


@dataclass(frozen=True)
class Window:
    """Forgetting by leaving: only the last ``lists`` lists learned from count, all alike.

    >>> Window(0)
    Traceback (most recent call last):
    rankfall.errors.ProblemError: lists must be a whole number from 1 on, got 0
    """

    lists: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lists", whole("lists", self.lists, ProblemError, low=1))


Forgetting: TypeAlias = Discount | Window


class Ridge:
    """Ridge regression with identity prior, kept up to date one list at a time.

    In the paper's words (section 5.2): ``gram`` is O, ``moment`` is b, ``covariance`` is O^-1 and ``weights`` is
    w = O^-1 b, the estimates of theta, then beta. The covariance follows every observation by a rank-1 update and
    is computed afresh from ``gram`` on a schedule, so that rounding does not pile up; with ``forgetting`` it is
    computed afresh every time.

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
        """Take in the items seen of one list: features (n, columns), rewards (n,)."""
        if self.forgetting is None:
            learn(self.state, features, rewards, len(rewards), self._work)
        elif isinstance(self.forgetting, Discount):
            learn_fading(self.state, self.forgetting.rho, features, rewards)
        else:
            newest = np.array(features, order="C"), np.array(rewards)
            full = len(self._window) == self.forgetting.lists
            oldest = self._window.popleft() if full else (newest[0][:0], newest[1][:0])
            self._window.append(newest)
            learn_sliding(self.state, self._rest, *newest, *oldest)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all there is to know, by name."""
        arrays = {name: array.copy() for name, array in self.state._asdict().items()}
        if isinstance(self.forgetting, Window):
            arrays["window_rest"] = self._rest.copy()
            arrays["window_features"] = np.concatenate([self._rest[:0], *(features for features, _ in self._window)])
            arrays["window_rewards"] = np.concatenate([self._rest[0, :0], *(rewards for _, rewards in self._window)])
            arrays["window_lengths"] = np.array([len(rewards) for _, rewards in self._window], dtype=np.int64)
        return arrays

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], forgetting: Forgetting | None = None) -> Ridge:
        """The model with exactly these arrays, and this forgetting; raises ValueError where they cannot be one."""
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

    def copy(self) -> Ridge:
        """A model that knows the same, and learns on its own from here."""
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
