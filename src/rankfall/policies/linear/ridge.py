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
from rankfall.kernels.own_statistics import Own, add, add_reward, apply_prior, fade, new_own, slide
from rankfall.kernels.ridge import UPDATES, State, earn, learn, new_state
from rankfall.policies.forgetting import Discount, Forgetting, Window
from rankfall.policies.linear.prior import Prior


class Ridge:
    """Ridge regression, kept up to date one list at a time.

    In the paper's words (section 5.2): ``gram`` is O, ``moment`` is b, ``covariance`` is O^-1 and ``weights`` is
    w = O^-1 b, the estimates of theta, then beta. The covariance follows every observation by a rank-1 update and
    is computed again from ``gram`` on a schedule, so that rounding errors do not add up; with ``forgetting`` it is
    computed again every time. Hold the ``lock`` while you read or change it.

    The prior is the identity, unless another one is given. Then what was seen is also kept on its own (``own``), free
    of any prior, so that another one can be put in its place; see :mod:`rankfall.kernels.own_statistics`.

    >>> model = Ridge(2)
    >>> model.learn(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.0, 1.0]))
    >>> model.weights
    array([0. , 0.4])
    """

    def __init__(self, columns: int, forgetting: Forgetting | None = None, prior: Prior | None = None) -> None:
        if not isinstance(forgetting, Discount | Window | None):
            raise ProblemError(f"forgetting must be a Discount, a Window or None, got {forgetting!r}")
        self.forgetting = forgetting
        self.state: State = new_state(columns)
        self.lock = threading.Lock()
        self._work: FloatArray = np.empty(columns)
        # With a window: the lists in it, oldest first, and what rounding left out of gram and moment.
        self._window: deque[tuple[FloatArray, FloatArray]] = deque()
        self._rest: FloatArray = np.zeros((columns + 1 if isinstance(forgetting, Window) else 0, columns))
        self.prior, self.own = prior, None if prior is None else new_own(columns)
        if prior is not None:
            _check_columns(prior, columns)
            self._apply()

    def _apply(self) -> None:
        """Compute the state afresh from the prior and what was seen."""
        assert self.prior is not None
        assert self.own is not None
        apply_prior(self.own, self.prior.precision, self.prior.pull, self.state)

    @property
    def gram(self) -> FloatArray:
        """O = I + sum phi phi' over the items seen and not forgotten; with a prior its precision instead of I."""
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
            if self.own is not None:
                add(self.own, features, rewards, len(rewards))
            learn(self.state, features, rewards, len(rewards), self._work)
        elif isinstance(self.forgetting, Discount):
            rho = float(self.forgetting.rho)
            if self.own is None:
                learn_fading(self.state, rho, features, rewards)
            else:
                fade(self.own, rho)
                add(self.own, features, rewards, len(rewards))
                self.state.counts[UPDATES] += 1
                self._apply()
        else:
            newest = np.array(features, order="C"), np.array(rewards)
            full = len(self._window) == self.forgetting.lists
            oldest = self._window.popleft() if full else (newest[0][:0], newest[1][:0])
            self._window.append(newest)
            if self.own is None:
                learn_sliding(self.state, self._rest, *newest, *oldest)
            else:
                slide(self.own, self._rest, *newest, *oldest)
                self.state.counts[UPDATES] += 1
                self._apply()

    def with_prior(self, prior: Prior) -> Ridge:
        """A model that has seen the same and starts from another prior; this one must have a prior too.

        >>> from rankfall import Prior
        >>> model = Ridge(1, prior=Prior.identity(1))
        >>> model.learn(np.array([[1.0]]), np.array([1.0]))
        >>> model.weights, model.with_prior(Prior([0.0], [[3.0]])).weights
        (array([0.5]), array([0.75]))
        """
        if self.own is None:
            if self.n_updates:
                raise ProblemError("the model has learned without a prior, and has not kept what it has seen apart")
            return Ridge(len(self.weights), self.forgetting, prior)
        _check_columns(prior, len(self.weights))
        made = Ridge(len(self.weights), self.forgetting)
        made.prior, made.own = prior, Own(*(array.copy() for array in self.own))
        made._rest[...] = self._rest
        made._window.extend(self._window)
        made.state.counts[UPDATES] = self.n_updates
        made._apply()
        return made

    def earn(self, features: FloatArray, reward: float, earned: float | None = None) -> None:
        """Learn that an item of a list learned from before earned more: its features (columns,), and how much.

        It adds to what the item earned, and not to how often it was seen. What has faded or left a window would have to
        be told from what has not, so a model that forgets cannot learn it. One with a prior keeps the sum of the
        squares of what items earned, so it must be told what this one had ``earned`` before.

        >>> model = Ridge(1)
        >>> model.learn(np.array([[1.0]]), np.array([1.0]))
        >>> model.earn(np.array([1.0]), 0.5)
        >>> model.weights, model.n_updates
        (array([0.75]), 1)
        """
        if self.forgetting is not None:
            raise ProblemError(f"a model with {self.forgetting} cannot learn what a list earns later")
        if self.own is not None:
            if earned is None:
                raise ProblemError("a model with a prior must be told what the item had earned before: earned")
            add_reward(self.own, features, float(reward), float(earned))
        earn(self.state, features, float(reward))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, as copies of its arrays by name."""
        arrays = {name: array.copy() for name, array in self.state._asdict().items()}
        if isinstance(self.forgetting, Window):
            arrays["window_rest"] = self._rest.copy()
            arrays["window_features"] = np.concatenate([self._rest[:0], *(features for features, _ in self._window)])
            arrays["window_rewards"] = np.concatenate([self._rest[0, :0], *(rewards for _, rewards in self._window)])
            arrays["window_lengths"] = np.array([len(rewards) for _, rewards in self._window], dtype=np.int64)
        if self.own is not None and self.prior is not None:
            arrays |= {f"own_{name}": array.copy() for name, array in self.own._asdict().items()}
            arrays |= {f"prior_{name}": array for name, array in self.prior.arrays().items()}
        return arrays

    @classmethod
    def restore(
        cls, arrays: Mapping[str, NDArray[Any]], forgetting: Forgetting | None = None, prior: Prior | None = None
    ) -> Ridge:
        """The model with exactly these arrays and this forgetting; raises ValueError where they cannot be one.

        ``prior`` is that of the model, if its arrays were kept without those of the prior.
        """
        missing = cls(0, forgetting).arrays().keys() - arrays.keys()
        if missing:
            raise ValueError(f"a model with forgetting={forgetting} needs {', '.join(sorted(missing))} too")
        if "window_rest" in arrays and not isinstance(forgetting, Window):
            raise ValueError(f"the arrays are of a model with a Window, not with forgetting={forgetting}")
        model = cls(arrays["moment"].size, forgetting)
        if "prior_mean" in arrays or "own_gram" in arrays:
            model.prior = _prior_in(arrays) if "prior_mean" in arrays else prior
            model.own = new_own(len(model.weights))
            if model.prior is None or len(model.prior.mean) != len(model.weights):
                raise ValueError(f"the arrays are of a model with a prior of {len(model.weights)} columns, not {prior}")
            for name, own in model.own._asdict().items():
                fill(own, f"own_{name}", arrays[f"own_{name}"])
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
        if "own_gram" in arrays:
            gram = arrays["own_gram"]
            made["own_gram"] = np.insert(np.insert(gram, [at] * count, 0.0, axis=0), [at] * count, 0.0, axis=1)
            made["own_moment"] = np.insert(arrays["own_moment"], [at] * count, 0.0)
        if "prior_mean" in arrays:
            prior = _prior_in(arrays)
            made |= {f"prior_{name}": array for name, array in prior.widened(at, count).arrays().items()}
        return made

    def copy(self) -> Ridge:
        """A model that knows the same and learns on its own from here."""
        return Ridge.restore(self.arrays(), self.forgetting)


def _check_columns(prior: Prior, columns: int) -> None:
    if len(prior.mean) != columns:
        raise ProblemError(f"a prior of {len(prior.mean)} columns for a model of {columns}")


def _prior_in(arrays: Mapping[str, NDArray[Any]]) -> Prior:
    """The prior of a model with these arrays."""
    names = ("mean", "covariance", "noise", "users")
    try:
        return Prior.of({name: arrays[f"prior_{name}"] for name in names})
    except (KeyError, ProblemError, TypeError) as problem:
        raise ValueError(f"the arrays have no prior that makes sense: {problem}") from None


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
