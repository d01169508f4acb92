"""Fits of click models: no other parameters are more likely, and known users are recovered."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from simulated_logs import ALPHA, USERS, log_of

from rankfall import fit_cascade, fit_dependent_click
from rankfall.kernels import click_models
from rankfall.users.fitting import FITS, read_log

EXAMINED = ("examined_cascade", "position_based")


def by_position(user, k):
    """Examination and termination of the first k positions."""
    chain = user.clicks.chain(k)
    return np.array([columns[0] for columns in chain.examination]), np.array(chain.termination)


def chance(clicks, p, v):
    """Probability of these clicks in one list, by summing over after which click the user left, if any."""
    total = 0.0
    at = [i for i, c in enumerate(clicks) if c]
    for left in [*at, None]:
        if left is not None and any(i > left for i in at):
            continue
        seen = range(len(p)) if left is None else range(left + 1)
        one = math.prod(p[i] if clicks[i] else 1 - p[i] for i in seen)
        one *= math.prod(1 - v[i] for i in at if i != left) * (1.0 if left is None else v[left])
        total += one
    return total


@pytest.mark.parametrize("name", USERS)
def test_likelihood_and_click_probabilities_are_those_of_all_outcomes(name):
    e, v = by_position(USERS[name], 4)
    items = np.array([2, 0, 5, 7], dtype=np.int32)
    start = np.array([0, 4])
    outcomes = list(itertools.product([False, True], repeat=4))
    each = [chance(clicks, e * ALPHA[items], v) for clicks in outcomes]
    assert sum(each) == pytest.approx(1.0)
    for clicks, expected in zip(outcomes, each, strict=True):
        if expected > 0:
            ours = click_models.log_likelihood(start, items, np.array(clicks), ALPHA, e, v, 1e-300)
            assert ours == pytest.approx(math.log(expected), abs=1e-12)
    out = np.empty(4)
    click_models.probabilities(start, items, ALPHA, e, v, out)
    np.testing.assert_allclose(out, np.array(each) @ np.array(outcomes, dtype=float), rtol=1e-12)


@pytest.mark.parametrize("name", USERS)
def test_no_other_parameters_are_more_likely(name):
    log = read_log(log_of(name, 3000))
    fitted = FITS[name](log)
    e, v = fitted.examination, fitted.termination

    def likelihood(alpha, e, v):
        return click_models.log_likelihood(log.start, log.item, log.click, alpha, e, v, 1e-300)

    most = likelihood(fitted.attraction, e, v)
    assert fitted.log_likelihood == pytest.approx(most, rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (0.1, 0.01, 0.001):
        for _ in range(40):
            alpha = np.clip(fitted.attraction * np.exp(size * rng.normal(size=8)), 0, 1)
            other_v = np.clip(v * np.exp(size * rng.normal(size=4)), 0, 1) if name == "dependent_click" else v
            other_e = np.clip(e * np.exp(size * rng.normal(size=4)), 0, 1) if name in EXAMINED else e
            assert likelihood(alpha, other_e, other_v) <= most + 1e-3
    assert most >= likelihood(ALPHA, *by_position(USERS[name], 4))


@pytest.mark.parametrize("name", USERS)
def test_parameters_of_simulated_logs_are_recovered(name):
    """The mean over twelve logs is within 4.5 standard errors of the truth, and single fits are close to it."""
    fits = [FITS[name](log_of(name, 10_000, seed)) for seed in range(12)]
    assert all(fitted.converged for fitted in fits)
    truth = {"attraction": ALPHA}
    if name == "dependent_click":
        truth["termination"] = np.array([0.7, 0.5, 0.4])  # that of the last position is never seen
    if name == "position_based":
        truth["examination"] = np.array([1.0, 0.7, 0.4, 0.2])
    if name == "examined_cascade":
        truth["examination"] = np.array([1.0, 0.7, 0.5, 0.3])
    for parameter, true in truth.items():
        found = np.array([getattr(fitted, parameter)[: len(true)] for fitted in fits])
        spread = found.std(axis=0, ddof=1)
        assert (abs(found.mean(axis=0) - true) <= 4.5 * spread / math.sqrt(12) + 1e-12).all(), parameter
        assert spread.max() < 0.05


def test_the_cascade_in_closed_form_by_hand():
    rows = [  # a is looked at three times and clicked once; b twice and once; c once, below no click
        ("x", 1, "a", 1), ("x", 2, "b", 1), ("x", 3, "c", 0),
        ("y", 1, "b", 1), ("y", 2, "a", 0),
        ("z", 1, "a", 0), ("z", 2, "b", 0), ("z", 3, "c", 0),
    ]  # fmt: skip
    fitted = fit_cascade(pl.DataFrame(rows, schema=["list", "position", "item", "click"], orient="row"))
    assert fitted.items.to_list() == ["a", "b", "c"]
    assert fitted.attraction.tolist() == [1 / 2, 1 / 2, 0.0]
    assert fitted.views.tolist() == [2, 2, 1]
    assert fitted.ignored == 1
    assert fitted.log_likelihood == pytest.approx(4 * math.log(1 / 2))
    smoothed = fit_cascade(pl.DataFrame(rows, schema=["list", "position", "item", "click"], orient="row"), prior=1.0)
    assert smoothed.attraction.tolist() == pytest.approx([1.4 / 3, 1.4 / 3, 0.4 / 2])


def test_taking_the_last_click_for_the_end_overstates_termination():
    """What EM adds to the closed form of Guo et al.: it knows that silence below may be dull items."""
    log = log_of("dependent_click", 20_000)
    closed = fit_dependent_click(log, iterations=1, tolerance=1e9)
    exact = fit_dependent_click(log)
    shares = log.filter("click").with_columns(last=pl.col("position") == pl.col("position").max().over("list"))
    top = shares.filter(pl.col("position") == 1)["last"].mean()
    assert top > exact.termination[0] + 0.05
    assert exact.log_likelihood > closed.log_likelihood
    assert exact.termination[3] == exact.termination[2]


def test_logs_without_any_click_and_with_nothing_but_clicks():
    for click in (0, 1):
        frame = pl.DataFrame(
            {"list": [1, 1, 2, 2], "position": [1, 2, 1, 2], "item": [5, 6, 6, 5], "click": [click] * 4}
        )
        for name, fit in FITS.items():
            fitted = fit(frame)
            assert np.isfinite(fitted.attraction).all(), name
            assert ((fitted.attraction >= 0) & (fitted.attraction <= 1)).all()
            assert np.isfinite(fitted.perplexity(frame).overall)
            if name not in ("cascade", "examined_cascade") or not click:
                assert fitted.log_likelihood == pytest.approx(0.0, abs=1e-6)
