"""What a model of rewards says about the lists of a policy, as Cascade-DR and the direct method need it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray

RewardModel: TypeAlias = Callable[[IntArray], FloatArray]
"""Lists (n, k) of rows to the expected reward (n, k) of each position."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """What a model expects a list to earn from a position on, if the policy chooses all below.

    Attributes
    ----------
    with_shown : (lists, k) Q_j(a_1..a_j), given what was shown down to position j.
    on_average : (lists, k) given what was shown above j, with the policy's own choice at j: the mean of Q_j over it.
        In the first column, what it expects of the policy.
    """

    with_shown: FloatArray
    on_average: FloatArray


def with_worth(model: RewardModel, worth: ArrayLike) -> RewardModel:
    """A model of what clicks are worth, from one of the clicks: ``worth`` (items,) is that of a click on each item.

    >>> with_worth(lambda lists: np.full(lists.shape, 0.5), [1.0, 8.0])(np.array([[1, 0]]))
    array([[4. , 0.5]])
    """
    by_item = np.append(np.asarray(worth, dtype=np.float64), 0.0)  # -1 is nothing
    return lambda lists: model(lists) * by_item[lists]


def predicted(shown: IntArray, drawn: IntArray, model: RewardModel) -> Predicted:
    """Of lists ``shown`` (lists, k), for a policy that shows one of ``drawn`` (lists, draws, k).

    Where none of the drawn lists agrees with what was shown the policy cannot get there, and nothing (0) is said.

    >>> ones = lambda lists: np.ones(lists.shape)
    >>> predicted(np.array([[1, 2]]), np.array([[[1, 2], [1, 0]]]), ones)
    Predicted(with_shown=array([[2., 1.]]), on_average=array([[2., 1.]]))
    """
    lists, draws, k = drawn.shape
    expected = model(drawn.reshape(-1, k)).reshape(lists, draws, k)
    to_come = np.cumsum(expected[:, :, ::-1], axis=2)[:, :, ::-1]
    same = np.logical_and.accumulate(shown[:, None, :] == drawn, axis=2)
    above = np.concatenate([np.ones((lists, draws, 1), dtype=bool), same[:, :, :-1]], axis=2)
    return Predicted(_mean_where(same, to_come), _mean_where(above, to_come))


def _mean_where(which: FloatArray, values: FloatArray) -> FloatArray:
    """Mean over the draws of which it holds; 0 where it holds of none."""
    count = which.sum(axis=1)
    mean: FloatArray = (values * which).sum(axis=1) / np.maximum(count, 1)
    return mean
