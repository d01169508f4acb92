"""What fitted users are expected to click, position by position: a model of rewards for estimates from logs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.click_logs import ClickLog
from rankfall.errors import ProblemError
from rankfall.estimates import CountedAs, RewardModel
from rankfall.users import PerItem, User
from rankfall.users.fitting.fits import FITS
from rankfall.users.fitting.fitted import Fitted, click_model
from rankfall.users.fitting.fitted_table import Model

_MODELS: tuple[Model, ...] = ("cascade", "examined_cascade", "dependent_click", "position_based")
"""Those whose clicks depend on examination and termination by position alone."""
_ENOUGH = 10
"""Lists below which there is nothing to hold out."""


def reward_model(fitted: Fitted, ids: Sequence[int | str], counted: CountedAs) -> RewardModel:
    """The expected reward of each position of lists, whose items are numbers 0, 1, ... of these ids; -1 is nothing.

    Items that the model was not fitted on have the average attraction of the others, by views.

    >>> import polars as pl
    >>> from rankfall.users.fitting import fit_cascade
    >>> rows = {"list": [1, 1, 2], "position": [1, 2, 1], "item": ["a", "b", "a"], "click": [0, 1, 1]}
    >>> expected = reward_model(fit_cascade(pl.DataFrame(rows)), ["b", "a"], "any")
    >>> expected(np.array([[1, 0]]))
    array([[0.5, 0.5]])
    """
    _check_model(fitted)
    alpha = np.append(attraction_by_id(fitted, ids), 0.0)  # -1 is the last one

    def expected(lists: IntArray) -> FloatArray:
        k = lists.shape[1]
        if k > fitted.positions:
            raise ProblemError(f"a list of {k} items is longer than the {fitted.positions} positions of {fitted!r}")
        clicked = fitted.examination[:k] * alpha[lists]
        leaves = clicked if counted == "any" else fitted.termination[:k] * clicked
        left = np.cumprod(1.0 - leaves, axis=1)
        rewards: FloatArray = np.column_stack([np.ones(len(lists)), left[:, :-1]]) * clicked
        return rewards

    return expected


def best_fit(log: ClickLog, seed: int = 0) -> Fitted:
    """The click model that predicts lists best that it was not fitted on, of those by item, fitted on all lists.

    A view is added to each item, clicked as often as the average item, so that none is certain.
    """
    fits = [FITS[name] for name in _MODELS]
    if log.lists >= _ENOUGH:
        most, others = log.split(0.2, seed)
        fits.sort(key=lambda fit: fit(most, prior=1.0).perplexity(others).overall)
    return fits[0](log, prior=1.0)


def attraction_by_id(fitted: Fitted, ids: Sequence[int | str]) -> FloatArray:
    """(ids,) attraction of each item; the average one for those that the model was not fitted on."""
    known = dict(zip(fitted.items.to_list(), fitted.attraction.tolist(), strict=True))
    usual = float(np.average(fitted.attraction, weights=fitted.views)) if fitted.views.sum() > 0 else 0.5
    return np.array([known.get(item, usual) for item in ids])


def user_of_catalog(fitted: Fitted, ids: Sequence[int | str], counted: CountedAs) -> User:
    """A simulated user like those of the log, whose rows are those of a catalog with these ids."""
    _check_model(fitted)
    clicks = click_model(fitted.model, fitted.examination, fitted.termination, fitted.positions)
    return User(PerItem(attraction_by_id(fitted, ids)), clicks, counted)


def _check_model(fitted: Fitted) -> None:
    if fitted.model not in _MODELS:
        raise ProblemError(f"a model of rewards is one of {', '.join(_MODELS)}; got {fitted.model}")
