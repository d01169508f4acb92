"""Fits of click models with an attraction for each item, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from rankfall.arrays import FloatArray, number, whole
from rankfall.click_logs import ClickLog
from rankfall.errors import ProblemError
from rankfall.kernels import click_models
from rankfall.users.fitting.click_logs import Clicks, read_log
from rankfall.users.fitting.fitted import Fitted, Model


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
    log, prior = read_log(clicks), _prior(prior)
    clicked, views = np.zeros(len(log.items)), np.zeros(len(log.items))
    click_models.first_clicks(log.start, log.item, log.click, clicked, views)
    alpha = _share(clicked, views, prior)
    ones = np.ones(log.positions)
    # The likelihood of first clicks is that of a binomial for each item, as what is below is not looked at.
    return Fitted(
        "cascade",
        log.items,
        alpha,
        examination=ones,
        termination=ones,
        views=views,
        log_likelihood=_binomial(clicked, views - clicked, alpha),
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
    tolerance : stop when a step improves the log-likelihood by less than this share.
    """
    log, prior = read_log(clicks), _prior(prior)
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
        now = unsure + _binomial(clicked, sure - clicked, alpha) + _binomial(np.zeros(k), passed, v)
        after = np.divide(ended, seen, out=v.copy(), where=seen > 0)
        return np.concatenate([_share(clicked, sure + more, prior), after]), now

    start = np.concatenate([_share(clicked, sure, prior), v])
    found, taken, converged = _squarem(step, start, _iterations(iterations), tolerance)
    alpha, v = found[:n], found[n:]
    more = np.zeros(n)
    click_models.dependent_step(log.start, log.item, last, alpha, v, more, np.zeros(k))
    for r in range(1, k):
        if not seen[r]:
            v[r] = v[r - 1]
    return _fitted("dependent_click", log, alpha, np.ones(k), v, sure + more, taken, converged)


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
    log, prior = read_log(clicks), _prior(prior)
    n, k = len(log.items), log.positions
    counts = click_models.position_counts(log.start, log.item, log.click, k, n)
    position, item = np.nonzero(counts[:, :, 0])
    shown, clicked = (np.ascontiguousarray(counts[position, item, i]) for i in (0, 1))
    shown_item, shown_position = counts[:, :, 0].sum(axis=0), counts[:, :, 0].sum(axis=1)
    mean = float(clicked.sum() / shown.sum())

    def step(parameters: FloatArray) -> tuple[FloatArray, float]:
        attracted, examined = np.zeros(n), np.zeros(k)
        now = click_models.position_step(
            position, item, shown, clicked, parameters[:n], parameters[n:], attracted, examined
        )
        views = shown_item + prior  # 0 for an item of another part of the log
        alpha = np.divide(attracted + prior * mean, views, out=np.full(n, mean), where=views > 0)
        return np.concatenate([alpha, examined / shown_position]), now

    rate = np.bincount(position, weights=clicked, minlength=k) / shown_position
    alpha = _share(counts[:, :, 1].sum(axis=0), shown_item, prior)
    start = np.concatenate([alpha, 0.1 + 0.9 * rate / max(float(rate.max()), 1e-12)])
    found, taken, converged = _squarem(step, start, _iterations(iterations), tolerance)
    alpha, examination = found[:n], found[n:]
    scale = float(examination.max())
    if scale > 0:
        alpha, examination = alpha * scale, examination / scale
    views = np.zeros(n)
    np.add.at(views, item, shown * examination[position])
    return _fitted("position_based", log, alpha, examination, np.zeros(k), views, taken, converged)


FITS: Mapping[Model, Callable[..., Fitted]] = MappingProxyType(
    {
        "cascade": fit_cascade,
        "examined_cascade": fit_examined_cascade,
        "dependent_click": fit_dependent_click,
        "position_based": fit_position_based,
    }
)
"""The fits by name."""


def _squarem(
    step: Callable[[FloatArray], tuple[FloatArray, float]], start: FloatArray, iterations: int, tolerance: float
) -> tuple[FloatArray, int, bool]:
    """Where EM converges, the number of steps, and whether it did.

    Two steps of EM give a direction r and its change v; parameters go ``|r| / |v|`` steps at once, or, where that
    is less likely, the two steps of EM.
    """
    here, taken, before = start, 0, -np.inf
    while taken < iterations:
        one, _ = step(here)
        two, now = step(one)
        r, v = one - here, (two - one) - (one - here)
        curve = float(np.linalg.norm(v))
        far = max(1.0, float(np.linalg.norm(r)) / curve) if curve > 0 else 1.0
        leap = np.clip(here + 2 * far * r + far * far * v, 1e-9, 1.0 - 1e-9)
        sure = (two == 0.0) | (two == 1.0)
        leap[sure] = two[sure]
        here = two
        after_leap, at_leap = step(leap)
        if at_leap >= now:
            here, now = after_leap, at_leap
        taken += 3
        if now - before < tolerance * abs(now):
            return here, taken, True
        before = now
    return here, taken, False


def _fitted(
    model: Model,
    log: ClickLog,
    alpha: FloatArray,
    examination: FloatArray,
    termination: FloatArray,
    views: FloatArray,
    iterations: int,
    converged: bool,
) -> Fitted:
    likelihood = click_models.log_likelihood(log.start, log.item, log.click, alpha, examination, termination, 1e-300)
    return Fitted(
        model, log.items, alpha, examination, termination, views, float(likelihood), log.lists, iterations, converged
    )


def _share(clicked: FloatArray, views: FloatArray, prior: float) -> FloatArray:
    """Clicks by views of each item; items that were never viewed get the average."""
    mean = clicked.sum() / views.sum() if views.sum() else 0.0
    seen = views + prior
    share: FloatArray = np.divide(clicked + prior * mean, seen, out=np.full(len(views), float(mean)), where=seen > 0)
    return share


def _binomial(yes: FloatArray, no: FloatArray, p: FloatArray) -> float:
    """Log-likelihood of these numbers of yes and no; a probability of 0 matters only for what happened."""
    with np.errstate(divide="ignore"):
        return float(np.log(p[yes > 0]) @ yes[yes > 0] + np.log1p(-p[no > 0]) @ no[no > 0])


def _prior(prior: float) -> float:
    return number("prior", prior, ProblemError, low=0.0)


def _iterations(iterations: int) -> int:
    return whole("iterations", iterations, ProblemError, low=1)
