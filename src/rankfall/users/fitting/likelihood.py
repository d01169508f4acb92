"""Fits of click models with an attraction for each item, by maximum likelihood."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.click_logs import ClickLog
from rankfall.kernels import click_models
from rankfall.kernels.clicks import click_arrays
from rankfall.users.fitting.click_logs import Clicks, read_log
from rankfall.users.fitting.em import binomial, checked_iterations, checked_prior, share, squarem
from rankfall.users.fitting.fitted import Fitted
from rankfall.users.fitting.fitted_table import Model


def fit_cascade(clicks: Clicks, *, prior: float = 0.0) -> Fitted:
    """The cascade model, in closed form.

    The attraction of an item is its clicks divided by its views, where items down to the first click of a list were
    viewed. Clicks after the first, which the model cannot explain, are left out and counted as ``ignored``.

    Parameters
    ----------
    clicks : a click log, as :func:`rankfall.users.fitting.read_log` reads it: a path, a polars frame or a ClickLog.
    prior : number of views with the mean attraction that are added to each item; 0 is maximum likelihood. A few keep
        the attraction of items that were hardly seen away from 0 and 1.

    >>> import polars as pl
    >>> rows = {"list": [1, 1, 2, 2], "position": [1, 2, 1, 2], "item": ["a", "b", "b", "a"], "click": [0, 1, 1, 0]}
    >>> fitted = fit_cascade(pl.DataFrame(rows))
    >>> dict(zip(fitted.items, fitted.attraction.tolist(), strict=True))
    {'a': 0.0, 'b': 1.0}
    """
    log, prior = read_log(clicks), checked_prior(prior)
    clicked, views = np.zeros(len(log.items)), np.zeros(len(log.items))
    click_models.first_clicks(log.start, log.item, log.click, clicked, views)
    alpha = share(clicked, views, prior)
    ones = np.ones(log.positions)
    # The likelihood of first clicks is that of a binomial for each item, as what is below is not looked at.
    return Fitted(
        "cascade",
        log.items,
        alpha,
        examination=ones,
        termination=ones,
        views=views,
        log_likelihood=binomial(clicked, views - clicked, alpha),
        lists=log.lists,
        ignored=int(log.click.sum() - clicked.sum()),
    )


def fit_examined_cascade(
    clicks: Clicks, *, prior: float = 0.0, iterations: int = 10_000, tolerance: float = 1e-9
) -> Fitted:
    """The cascade with examination by position: that of :func:`fit_position_based`, on lists down to the first click.

    Parameters
    ----------
    clicks, prior, iterations, tolerance : as in :func:`fit_dependent_click`.
    """
    log = read_log(clicks)
    cut = log.to_first_click()
    found = fit_position_based(cut, prior=prior, iterations=iterations, tolerance=tolerance)
    deeper = np.full(log.positions - found.positions, found.examination[-1])  # where every list was clicked further up
    examination = np.append(found.examination, deeper)
    ignored = int(log.click.sum() - cut.click.sum())
    model: Model = "examined_cascade"
    return replace(found, model=model, examination=examination, termination=np.ones(log.positions), ignored=ignored)


def fit_dependent_click(
    clicks: Clicks, *, prior: float = 0.0, iterations: int = 500, tolerance: float = 1e-9
) -> Fitted:
    """The dependent click model, by EM over whether the user read on below the last click.

    Everything down to the last click was examined, and the user read on after each click but the last; so most of the
    log is counted once. Guo et al. (2009) assume that the user always left at the last click and get a closed form,
    which overstates both attraction and termination; EM starts from it.

    Whether a user left at the last position of a list cannot be observed. Where no list goes on below a position, the
    termination of the position above is used for it.

    Parameters
    ----------
    clicks, prior : as in :func:`fit_cascade`.
    iterations : most steps of EM.
    tolerance : stop when steps change the log-likelihood by less than this share.
    """
    log, prior = read_log(clicks), checked_prior(prior)
    n, k = len(log.items), log.positions
    last = np.empty(log.lists, dtype=np.int64)
    clicked, sure, passed, open_ends = np.zeros(n), np.zeros(n), np.zeros(k), np.zeros(k)
    click_models.dependent_counts(log.start, log.item, log.click, last, clicked, sure, passed, open_ends)
    seen = passed + open_ends
    v = np.divide(open_ends, seen, out=np.full(k, 0.5), where=seen > 0)

    def step(parameters: FloatArray) -> tuple[FloatArray, float]:
        alpha, v = parameters[:n], parameters[n:]
        more, ended = np.zeros(n), np.zeros(k)
        unsure = click_models.dependent_step(log.start, log.item, last, alpha, v, more, ended)
        now = unsure + binomial(clicked, sure - clicked, alpha) + binomial(np.zeros(k), passed, v)
        after = np.divide(ended, seen, out=v.copy(), where=seen > 0)
        return np.concatenate([share(clicked, sure + more, prior), after]), now

    start = np.concatenate([share(clicked, sure, prior), v])
    found, taken, converged = squarem(step, start, checked_iterations(iterations), tolerance, held=prior > 0)
    alpha, v = found[:n], found[n:]
    more = np.zeros(n)
    click_models.dependent_step(log.start, log.item, last, alpha, v, more, np.zeros(k))
    for r in range(1, k):
        if not seen[r]:
            v[r] = v[r - 1]
    ones = np.ones(k)
    likelihood = click_models.log_likelihood(log.start, log.item, log.click, click_arrays(alpha, ones, v), 1e-300)
    return Fitted(
        "dependent_click", log.items, alpha, ones, v, sure + more, float(likelihood), log.lists, taken, converged
    )


def fit_position_based(
    clicks: Clicks, *, prior: float = 0.0, iterations: int = 10_000, tolerance: float = 1e-9
) -> Fitted:
    """The position-based model, by EM over which items attracted and which were examined.

    Only products of attraction and examination are observed, so the scale is free: the most examined position counts as
    always examined. The log is counted once, by position and item; EM runs over those counts. Its steps are lengthened
    where that helps (SQUAREM: Varadhan and Roland, 2008).

    Parameters
    ----------
    clicks, prior, iterations, tolerance : as in :func:`fit_dependent_click`.
    """
    log = read_log(clicks)
    found = _fit_places(log, log.position, log.positions, prior, iterations, tolerance)
    return _fitted("position_based", log, found, found.examination)


def fit_user_browsing(
    clicks: Clicks, *, prior: float = 0.0, iterations: int = 10_000, tolerance: float = 1e-9
) -> Fitted:
    """The user browsing model: :func:`fit_position_based`, with an examination for each position and last click above.

    Given the clicks above, whether a position is examined does not depend on anything else; so a position with the last
    click at another one is a place of its own. Where no list has a click at a position, and so nothing is seen of
    places below it, they get the average of their position.

    Parameters
    ----------
    clicks, prior, iterations, tolerance : as in :func:`fit_dependent_click`.
    """
    log = read_log(clicks)
    k = log.positions
    last = np.empty(len(log.item), dtype=np.int64)
    click_models.last_clicks(log.start, log.click, last)
    found = _fit_places(log, log.position * k + last, k * k, prior, iterations, tolerance)
    examination, shown = found.examination.reshape(k, k), found.shown.reshape(k, k)
    usual = (examination * shown).sum(axis=1) / shown.sum(axis=1)
    return _fitted("user_browsing", log, found, np.tril(np.where(shown > 0, examination, usual[:, None])))


class _Places(NamedTuple):
    """What was fitted: by item, and by place."""

    alpha: FloatArray
    views: FloatArray
    examination: FloatArray
    shown: FloatArray
    iterations: int
    converged: bool


def _fit_places(
    log: ClickLog, place: IntArray, places: int, prior: float, iterations: int, tolerance: float
) -> _Places:
    """Attraction of items and examination of places, one for each row of the log, by EM; 0 for places never seen."""
    prior, n = checked_prior(prior), len(log.items)
    counts = click_models.place_counts(place, log.item, log.click, places, n)
    at, item = np.nonzero(counts[:, :, 0])
    shown, clicked = (np.ascontiguousarray(counts[at, item, i]) for i in (0, 1))
    shown_item, shown_place = counts[:, :, 0].sum(axis=0), counts[:, :, 0].sum(axis=1)
    mean = float(clicked.sum() / shown.sum())

    def step(parameters: FloatArray) -> tuple[FloatArray, float]:
        attracted, examined = np.zeros(n), np.zeros(places)
        now = click_models.place_step(at, item, shown, clicked, parameters[:n], parameters[n:], attracted, examined)
        views = shown_item + prior  # 0 for an item of another part of the log
        alpha = np.divide(attracted + prior * mean, views, out=np.full(n, mean), where=views > 0)
        examination = np.divide(examined, shown_place, out=np.zeros(places), where=shown_place > 0)
        return np.concatenate([alpha, examination]), now

    clicked_place = np.bincount(at, weights=clicked, minlength=places)
    rate = np.divide(clicked_place, shown_place, out=np.zeros(places), where=shown_place > 0)
    alpha = share(counts[:, :, 1].sum(axis=0), shown_item, prior)
    start = np.concatenate([alpha, 0.1 + 0.9 * rate / max(float(rate.max()), 1e-12)])
    found, taken, converged = squarem(step, start, checked_iterations(iterations), tolerance, held=prior > 0)
    alpha, examination = found[:n], found[n:]
    scale = float(examination.max())
    if scale > 0:
        alpha, examination = alpha * scale, examination / scale
    views = np.zeros(n)
    np.add.at(views, item, shown * examination[at])
    return _Places(alpha, views, examination, shown_place, taken, converged)


def _fitted(model: Model, log: ClickLog, found: _Places, examination: FloatArray) -> Fitted:
    """A model in which nobody leaves."""
    never = np.zeros(log.positions)
    user = click_arrays(found.alpha, examination, never)
    likelihood = click_models.log_likelihood(log.start, log.item, log.click, user, 1e-300)
    return Fitted(
        model,
        log.items,
        found.alpha,
        examination,
        never,
        found.views,
        float(likelihood),
        log.lists,
        found.iterations,
        found.converged,
    )
