"""Fits of click models: no other parameters are more likely, and known users are recovered."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from simulated_logs import ALPHA, SATISFACTION, USERS, log_of

from rankfall import (
    Cascade,
    ClickChain,
    DependentClick,
    DynamicBayesian,
    ExaminedCascade,
    PerItem,
    PositionBased,
    User,
    UserBrowsing,
    fit_cascade,
    fit_dependent_click,
)
from rankfall.kernels import click_models
from rankfall.users.fitting import FITS, draw_log, likelihood, read_log, satisfaction


def outcomes(user, items):
    """Probability of every set of clicks in a list, by telling every story that can happen."""
    model, found = user.clicks, defaultdict(float)

    def read(i, chance, clicks):
        if i == len(items):
            found[clicks] += chance
            return
        alpha, last = user.attraction.alone[items[i]], clicks[-1] + 1 if clicks else 0
        examination = getattr(model, "examination", np.ones(4))[i]
        p = alpha * (examination[last] if isinstance(model, UserBrowsing) else examination)
        leaves_none = leaves = 0.0
        match model:
            case Cascade() | ExaminedCascade():
                leaves = 1.0
            case DependentClick():
                leaves = model.termination[i]
            case DynamicBayesian():
                leaves_none, satisfied = 1 - model.continuation, SATISFACTION[items[i]]
                leaves = satisfied + (1 - satisfied) * (1 - model.continuation)
            case ClickChain():
                none, dull, attractive = model.continuation
                leaves_none, leaves = 1 - none, (1 - alpha) * (1 - dull) + alpha * (1 - attractive)
        found[clicks] += chance * (1 - p) * leaves_none
        found[(*clicks, i)] += chance * p * leaves
        read(i + 1, chance * (1 - p) * (1 - leaves_none), clicks)
        read(i + 1, chance * p * (1 - leaves), (*clicks, i))

    read(0, 1.0, ())
    return found


@pytest.mark.parametrize("name", USERS)
def test_likelihood_and_click_probabilities_are_those_of_all_outcomes(name):
    items, start = np.array([2, 0, 5, 7], dtype=np.int32), np.array([0, 4])
    user, each = USERS[name].arrays(4), outcomes(USERS[name], items)
    assert sum(each.values()) == pytest.approx(1.0)
    first, every = np.zeros(5), np.zeros(4)
    for clicks, expected in each.items():
        every[list(clicks)] += expected
        first[clicks[0] if clicks else 4] += expected
        if expected > 0:
            click = np.isin(np.arange(4), clicks)
            ours = click_models.log_likelihood(start, items, click, user, 1e-300)
            assert ours == pytest.approx(math.log(expected), abs=1e-12)
    out = np.empty(4)
    click_models.probabilities(start, items, user, out, np.empty(5))
    np.testing.assert_allclose(out, every, rtol=1e-12)
    click_models.before_first_click(start, user._replace(attraction=ALPHA[items]), out)
    np.testing.assert_allclose(out, first[:4] / (1 - np.append(0.0, np.cumsum(first[:3]))), rtol=1e-12)


FREE = {
    "cascade": (),
    "examined_cascade": ("examination",),
    "dependent_click": ("termination",),
    "position_based": ("examination",),
    "user_browsing": ("examination",),
    "dynamic_bayesian": ("satisfaction", "continuation"),
    "simplified_bayesian": ("satisfaction",),
    "click_chain": ("continuation",),
}


@pytest.mark.parametrize("name", USERS)
def test_no_other_parameters_are_more_likely(name):
    log = read_log(log_of(name, 3000))
    fitted = FITS[name](log)

    def likelihood(user):
        return click_models.log_likelihood(log.start, log.item, log.click, user.arrays(4), 1e-300)

    most = likelihood(fitted.user())
    assert fitted.log_likelihood == pytest.approx(most, rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (0.1, 0.01, 0.001):
        for _ in range(40):
            other = {
                part: np.clip(getattr(fitted, part) * np.exp(size * rng.normal(size=getattr(fitted, part).shape)), 0, 1)
                for part in ("attraction", *FREE[name])
            }
            assert likelihood(replace(fitted, **other).user()) <= most + 1e-3
    assert most >= likelihood(USERS[name])


@pytest.mark.parametrize("name", USERS)
def test_parameters_of_simulated_logs_are_recovered(name):
    """The mean over twelve logs is within 4.5 standard errors of the truth, and single fits are close to it."""
    fits = [FITS[name](log_of(name, 10_000, seed)) for seed in range(12)]
    assert all(fitted.converged for fitted in fits)
    clicks = USERS[name].clicks
    truth = {"attraction": ALPHA, **{part: getattr(clicks, part) for part in FREE[name] if part != "satisfaction"}}
    if "satisfaction" in FREE[name]:
        truth["satisfaction"] = SATISFACTION
    if name == "dependent_click":
        truth["termination"] = np.array([0.7, 0.5, 0.4])  # that of the last position is never seen
    clear = ALPHA >= 0.15  # items that are clicked often enough to say how satisfying they are
    for parameter, true in truth.items():
        found = np.array([getattr(fitted, parameter)[: np.size(true)] for fitted in fits])
        spread = found.std(axis=0, ddof=1)
        if parameter == "satisfaction":  # that of items which are seldom clicked is cut off at 0 and 1
            found, spread, true = found[:, clear], spread[clear], true[clear]
        assert (abs(found.mean(axis=0) - true) <= 4.5 * spread / math.sqrt(12) + 1e-12).all(), parameter
        assert spread.max() < (0.05 if parameter in ("attraction", "termination") else 0.1)


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


@pytest.mark.parametrize("name", ["position_based", "user_browsing", "dynamic_bayesian", "click_chain"])
@pytest.mark.parametrize("prior", [1.0, 5.0])
def test_with_a_prior_fits_end_where_plain_em_does(name, prior, monkeypatch):
    rng = np.random.default_rng(1)
    shown = rng.permuted(np.tile(np.arange(100), (200, 1)), axis=1)[:, :8]
    log = read_log(draw_log(User(PerItem(rng.random(100) * 0.15), PositionBased(0.8 ** np.arange(8))), shown, seed=1))
    found = FITS[name](log, prior=prior)

    def plain(step, here, *_, **__):
        for _ in range(20_000):
            before, here = here, step(here)[0]
            if np.abs(here - before).max() < 1e-12:
                break
        return here, 1, True

    for module in (likelihood, satisfaction):
        monkeypatch.setattr(module, "squarem", plain)
    assert found.converged
    assert found.attraction == pytest.approx(FITS[name](log, prior=prior).attraction, abs=1e-3)


@pytest.mark.parametrize("name", FITS)
def test_a_log_without_clicks_is_fitted_at_once(name):
    log = {"list": [0, 0, 1, 1], "position": [1, 2, 1, 2], "item": ["a", "b", "b", "a"], "click": [0, 0, 0, 0]}
    found = FITS[name](pl.DataFrame(log))
    assert found.converged
    assert found.attraction.tolist() == [0.0, 0.0]
