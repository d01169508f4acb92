"""What can be said of a policy from a log in which nothing was left to chance: bounds, and click rates of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite
from rankfall.errors import ProblemError
from rankfall.estimates.chances import NOTHING, ListChances
from rankfall.estimates.interval import Interval
from rankfall.estimates.rewards import CountedAs, position_rewards


@dataclass(frozen=True)
class Bounds:
    """What a policy earns with a list lies between ``low`` and ``high``, both with their own sampling error.

    ``agreed`` is how many positions of a list, from the top, are as the log has them, on average.
    """

    low: Interval
    high: Interval
    agreed: float


def prefix_bounds(shown: IntArray, drawn: IntArray, clicks: ArrayLike, counted: CountedAs) -> Bounds:
    """Bounds on what a policy earns, where clicks do not depend on the items below (cascade).

    As far as its list agrees with the one shown, from the top down, the clicks would have been the same. Below that
    they are not known: at least none, at most one for each position, or where any click counts, one if there was none.

    Parameters
    ----------
    shown : (lists, k) what was shown; -1 below the end of a shorter list.
    drawn : (lists, draws, k) what the policy would show.
    clicks : (lists, k).

    >>> bounds = prefix_bounds(np.array([[1, 2], [1, 2]]), np.array([[[1, 2]], [[1, 0]]]), [[0, 1], [0, 1]], "any")
    >>> bounds.low.value, bounds.high.value, bounds.agreed
    (0.5, 1.0, 1.5)
    """
    rewards = position_rewards(finite("clicks", clicks, 2, ProblemError), counted)
    there = shown != NOTHING
    same = ListChances.of_drawn(shown, drawn).down_to
    low = (same * rewards).sum(axis=1)
    unknown = ((1.0 - same) * there).sum(axis=1)
    if counted == "any":
        unknown = (1.0 - same[:, -1]) - ((same - same[:, -1:]) * rewards).sum(axis=1)
    return Bounds(_mean(low), _mean(low + unknown), float((same * there).sum(axis=1).mean()))


@dataclass(frozen=True)
class ByItem:
    """What a policy earns by what items earned at positions, and the share of its positions that have no such mean."""

    interval: Interval
    missing: float


def item_position_means(shown: IntArray, drawn: IntArray, rewards: ArrayLike) -> ByItem:
    """What a list of a policy earns, if each item earns at each position what it earned there in the log, on average.

    That is right if the reward depends on item and position only, and what was shown where did not depend on who asked
    (Li et al.: Offline Evaluation of Ranking Policies with Click Models, KDD 2018, with counted propensities). Items
    never shown at a position count as nothing there. ``rewards`` (lists, k) are clicks, or what positions earned;
    lists as in :func:`prefix_bounds`.

    >>> item_position_means(np.array([[1], [1], [2]]), np.array([[[1]]] * 3), [[1], [0], [1]]).interval.value
    0.5
    """
    earned = finite("rewards", rewards, 2, ProblemError)
    lists, draws, k = drawn.shape
    items = int(max(shown.max(), drawn.max())) + 1
    views, sums, squares, uses = (np.zeros((items, k)) for _ in range(4))
    there = shown != NOTHING
    cells = shown[there], np.broadcast_to(np.arange(k), shown.shape)[there]
    np.add.at(views, cells, 1.0)
    np.add.at(sums, cells, earned[there])
    np.add.at(squares, cells, earned[there] ** 2)
    wanted, at = drawn.reshape(-1, k), np.broadcast_to(np.arange(k), (lists * draws, k))
    placed = wanted != NOTHING
    np.add.at(uses, (wanted[placed], at[placed]), 1.0 / (lists * draws))
    seen = np.maximum(views, 1.0)
    mean = sums / seen
    around, free = np.maximum(squares - views * mean**2, 0.0), np.maximum(views - 1.0, 0.0)
    usual = around.sum() / free.sum() if free.any() else np.nan  # one view alone does not say how much it varies
    spread = (uses**2 * (around + usual) / (free + 1.0) / seen)[views > 0.0].sum()
    missing = float(uses[views == 0.0].sum() / uses.sum())
    return ByItem(Interval(float((uses * mean).sum()), float(np.sqrt(spread))), missing)


def _mean(each: FloatArray) -> Interval:
    return Interval(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else np.nan)
