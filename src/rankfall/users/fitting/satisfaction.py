"""Fits of click models in which a click satisfies by item, and users may leave anywhere, by maximum likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.click_logs import ClickLog
from rankfall.kernels import click_models
from rankfall.users.fitting.click_logs import Clicks, read_log
from rankfall.users.fitting.em import checked_iterations, checked_prior, share, squarem
from rankfall.users.fitting.fitted import Fitted
from rankfall.users.fitting.fitted_table import Model


def fit_dynamic_bayesian(
    clicks: Clicks, *, prior: float = 0.0, iterations: int = 2_000, tolerance: float = 1e-9
) -> Fitted:
    """The dynamic Bayesian network, by EM over how far users read below the last click, and who was satisfied.

    Whether a click at the last position of a list satisfied cannot be observed. Items that were clicked nowhere else
    get the average satisfaction.

    Parameters
    ----------
    clicks, prior : as in :func:`rankfall.users.fitting.fit_cascade`; the prior also holds satisfaction to its average.
    iterations : most steps of EM.
    tolerance : stop when steps change the log-likelihood by less than this share.
    """
    return _fit_bayesian("dynamic_bayesian", clicks, prior, iterations, tolerance)


def fit_simplified_bayesian(
    clicks: Clicks, *, prior: float = 0.0, iterations: int = 2_000, tolerance: float = 1e-9
) -> Fitted:
    """The simplified dynamic Bayesian network, in which users leave only satisfied: continuation is 1.

    Chapelle and Zhang (2009) take the last click of a list for one that satisfied, and nothing below it for read, and
    get a closed form, which overstates both attraction and satisfaction. This is EM over whether it did.

    Parameters
    ----------
    clicks, prior, iterations, tolerance : as in :func:`fit_dynamic_bayesian`.
    """
    return _fit_bayesian("simplified_bayesian", clicks, prior, iterations, tolerance)


def fit_click_chain(clicks: Clicks, *, prior: float = 0.0, iterations: int = 2_000, tolerance: float = 1e-9) -> Fitted:
    """The click chain model, by EM over how far users read below the last click, and which case a click was.

    After a click on an item of attraction alpha, a user goes on as after an attractive item with probability alpha, and
    as after a dull one otherwise. So clicks say more about alpha than in other models: also by what comes after.

    Parameters
    ----------
    clicks, prior, iterations, tolerance : as in :func:`fit_dynamic_bayesian`.
    """
    log, prior = read_log(clicks), checked_prior(prior)
    n, seen = len(log.items), _seen(log)

    def step(parameters: FloatArray) -> tuple[FloatArray, float]:
        alpha, goes_on = parameters[:n], parameters[n:]
        counts = _expectation(log, seen, alpha, alpha, goes_on)
        attracted = share(seen.clicked + counts.content, counts.views + counts.judged, prior)
        after = np.divide(counts.went, counts.could, out=goes_on.copy(), where=counts.could > 0)
        return np.concatenate([attracted, after]), counts.log_likelihood

    start = np.concatenate([share(seen.clicked, seen.sure, prior), [0.9, 0.8, 0.4]])
    found, taken, converged = squarem(step, start, checked_iterations(iterations), tolerance, held=prior > 0)
    alpha, goes_on = found[:n], found[n:]
    counts = _expectation(log, seen, alpha, alpha, goes_on)
    return _fitted("click_chain", log, alpha, None, goes_on, counts, taken, converged)


def _fit_bayesian(model: Model, clicks: Clicks, prior: float, iterations: int, tolerance: float) -> Fitted:
    log, prior = read_log(clicks), checked_prior(prior)
    n, seen, simplified = len(log.items), _seen(log), model == "simplified_bayesian"

    def goes_on(gamma: float) -> FloatArray:
        return np.array([gamma, gamma, 0.0])

    def step(parameters: FloatArray) -> tuple[FloatArray, float]:
        alpha, sigma, gamma = parameters[:n], parameters[n:-1], float(parameters[-1])
        counts = _expectation(log, seen, alpha, sigma, goes_on(gamma))
        could = counts.could[:2].sum()
        if not simplified and could > 0:
            gamma = counts.went[:2].sum() / could
        attracted, content = share(seen.clicked, counts.views, prior), share(counts.content, counts.judged, prior)
        return np.concatenate([attracted, content, [gamma]]), counts.log_likelihood

    first = share(seen.last, seen.clicked, prior) * 0.5 + 0.25
    start = np.concatenate([share(seen.clicked, seen.sure, prior), first, [1.0 if simplified else 0.9]])
    found, taken, converged = squarem(step, start, checked_iterations(iterations), tolerance, held=prior > 0)
    alpha, sigma, gamma = found[:n], found[n:-1], float(found[-1])
    counts = _expectation(log, seen, alpha, sigma, goes_on(gamma))
    return _fitted(model, log, alpha, sigma, np.array([gamma]), counts, taken, converged)


class _Seen(NamedTuple):
    """What is sure: the row of each list's last click; by item, clicks, last clicks, and views down to the last."""

    row: IntArray
    clicked: FloatArray
    last: FloatArray
    sure: FloatArray


class _Counts(NamedTuple):
    """Expected numbers: :func:`rankfall.kernels.click_models.satisfaction_step`."""

    views: FloatArray
    content: FloatArray
    judged: FloatArray
    went: FloatArray
    could: FloatArray
    log_likelihood: float


def _seen(log: ClickLog) -> _Seen:
    n, k = len(log.items), log.positions
    row = np.empty(log.lists, dtype=np.int64)
    clicked, sure = np.zeros(n), np.zeros(n)
    click_models.dependent_counts(log.start, log.item, log.click, row, clicked, sure, np.zeros(k), np.zeros(k))
    last = np.bincount(log.item[row[row >= 0]], minlength=n).astype(np.float64)
    return _Seen(row, clicked, last, sure)


def _expectation(log: ClickLog, seen: _Seen, alpha: FloatArray, sigma: FloatArray, goes_on: FloatArray) -> _Counts:
    n = len(log.items)
    views, content, judged, went, could = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(3), np.zeros(3)
    work = np.empty(log.positions + 1)
    likelihood = click_models.satisfaction_step(
        log.start, log.item, log.click, seen.row, alpha, sigma, goes_on, views, content, judged, went, could, work
    )
    return _Counts(views, content, judged, went, could, float(likelihood))


def _fitted(
    model: Model,
    log: ClickLog,
    alpha: FloatArray,
    satisfaction: FloatArray | None,
    continuation: FloatArray,
    counts: _Counts,
    iterations: int,
    converged: bool,
) -> Fitted:
    ones = np.ones(log.positions)
    return Fitted(
        model,
        log.items,
        alpha,
        examination=ones,
        termination=ones,
        views=counts.views,
        log_likelihood=counts.log_likelihood,
        lists=log.lists,
        iterations=iterations,
        converged=converged,
        satisfaction=satisfaction,
        continuation=continuation,
    )
