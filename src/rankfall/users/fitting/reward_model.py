"""What fitted users are expected to click, position by position: a model of rewards for estimates from logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.click_logs import ClickLog
from rankfall.errors import ProblemError
from rankfall.estimates import CountedAs, RewardModel
from rankfall.kernels import click_models
from rankfall.users.fitting.fits import FITS
from rankfall.users.fitting.fitted import Fitted
from rankfall.users.fitting.fitted_table import Model
from rankfall.users.fitting.hybrid import FOLDS, MOST_LISTS

_PRIOR = 1.0
"""Views that are added to each item, clicked as often as the average item, so that none is certain."""


def reward_model(fitted: Fitted, ids: Sequence[int | str], counted: CountedAs) -> RewardModel:
    """The expected reward of each position of lists, whose items are numbers 0, 1, ... of these ids; -1 is nothing.

    Any click model will do. Items that it was not fitted on are like the average one.

    >>> import polars as pl
    >>> from rankfall.users.fitting import fit_cascade
    >>> rows = {"list": [1, 1, 2], "position": [1, 2, 1], "item": ["a", "b", "a"], "click": [0, 1, 1]}
    >>> expected = reward_model(fit_cascade(pl.DataFrame(rows)), ["b", "a"], "any")
    >>> expected(np.array([[1, 0]]))
    array([[0.5, 0.5]])
    """
    people = fitted.over(ids)

    def expected(lists: IntArray) -> FloatArray:
        n, k = lists.shape
        if k > fitted.positions:
            raise ProblemError(f"a list of {k} items is longer than the {fitted.positions} positions of {fitted!r}")
        user = people.user(k).arrays(k)
        assert user is not None  # attraction is by item
        alpha, satisfaction = np.append(user.attraction, 0.0), np.append(user.satisfaction, 1.0)  # -1 is the last one
        start, item = np.arange(0, n * k + 1, k), np.where(lists < 0, len(ids), lists).ravel()
        chance = np.empty(n * k)
        if counted == "any":  # given that there was no click above
            click_models.before_first_click(start, user._replace(attraction=alpha[item]), chance)
            first = chance.reshape(n, k)
            none = np.cumprod(1.0 - first, axis=1)
            return np.column_stack([np.ones(n), none[:, :-1]]) * first
        user = user._replace(attraction=alpha, satisfaction=satisfaction)
        click_models.probabilities(start, item.astype(np.int32), user, chance, np.empty(k + 1))
        return chance.reshape(n, k)

    return expected


class ChosenFit(NamedTuple):
    """A fitted click model, and how it was chosen.

    ``likelihoods`` has the mean log-likelihood of a list under each model, fitted to other lists, the best one first;
    nothing, where there was no choice. It is of all clicks, or, where any click counts, of the first one.
    """

    fitted: Fitted
    likelihoods: Mapping[Model, float]


def best_fit(log: ClickLog, counted: CountedAs, model: Model | None = None, seed: int = 0) -> ChosenFit:
    """The click model under which lists are most likely that it was not fitted on, fitted on all lists.

    Lists are set aside in five parts, one after the other (cross-validation); of models that differ by less than
    0.0001 a list, the one that comes first in :data:`FITS`. With ``model`` there is no choice.
    """
    likelihoods: dict[Model, float] = {}
    if model is None and log.lists >= 2 * FOLDS:
        some = np.random.default_rng(seed).permutation(log.lists)[:MOST_LISTS]
        found = {name: _held_out(log, some, name, counted) for name in FITS}
        likelihoods = {name: found[name] for name in sorted(found, key=lambda name: -round(found[name], 4))}
    names: list[Model] = [*likelihoods, "cascade"] if model is None else [model]
    return ChosenFit(FITS[names[0]](log, prior=_PRIOR), likelihoods)


def _held_out(log: ClickLog, some: IntArray, name: Model, counted: CountedAs) -> float:
    """Mean log-likelihood of these lists, each under the model fitted to other ones."""
    total, lists = 0.0, 0
    for fold in range(FOLDS):
        train, test = log.take(np.delete(some, np.s_[fold::FOLDS])), log.take(some[fold::FOLDS])
        test = test.take(np.flatnonzero(np.diff(test.start) <= train.positions))
        if test.lists:
            fitted = FITS[name](train, prior=_PRIOR)
            total += float(fitted.first_clicks(test).sum()) if counted == "any" else fitted.all_clicks(test)
            lists += test.lists
    return total / lists
