"""What fitted users are expected to earn, against simulated users with the same parameters."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest

from rankfall.errors import ProblemError
from rankfall.estimates import CountedAs
from rankfall.users import (
    Cascade,
    ClickChain,
    DependentClick,
    DynamicBayesian,
    PerItem,
    PositionBased,
    User,
    UserBrowsing,
)
from rankfall.users.fitting import draw_log, read_log
from rankfall.users.fitting.fits import FITS
from rankfall.users.fitting.fitted_table import Model
from rankfall.users.fitting.reward_model import best_fit, reward_model

ALPHA = [0.6, 0.1, 0.4, 0.3]
LISTS = np.array(list(itertools.permutations(range(4), 3)) * 60)
PEOPLE = {
    "cascade": Cascade(),
    "dependent_click": DependentClick([0.9, 0.5, 0.3]),
    "position_based": PositionBased([0.9, 0.5, 0.2]),
    "user_browsing": UserBrowsing([[0.9], [0.7, 0.5], [0.6, 0.2, 0.9]]),
    "dynamic_bayesian": DynamicBayesian([0.8, 0.1, 0.5, 0.3], 0.7),
    "simplified_bayesian": DynamicBayesian([0.8, 0.1, 0.5, 0.3], 1.0),
    "click_chain": ClickChain([0.9, 0.6, 0.2]),
}


@pytest.mark.parametrize("counted", ["any", "clicks"])
@pytest.mark.parametrize("model", FITS)
def test_positions_earn_what_clicks_on_them_are_worth(model: Model, counted: CountedAs) -> None:
    fitted = FITS[model](draw_log(User(PerItem(ALPHA), PEOPLE.get(model, Cascade())), LISTS), prior=1.0)
    found = reward_model(fitted, range(4), counted)(LISTS[:24])
    user = fitted.user(3, counted)
    assert found.sum(axis=1) == pytest.approx([user.reward(one) for one in LISTS[:24]])
    drawn = draw_log(user, np.tile(LISTS[5], (20_000, 1)))["click"].to_numpy().reshape(-1, 3)
    share = drawn.mean(axis=0) if counted == "clicks" else ((drawn.cumsum(axis=1) == 1) & drawn).mean(axis=0)
    assert found[5] == pytest.approx(share, abs=4 * math.sqrt(0.25 / 20_000))
    twin = fitted.over([3, 2, 1, 0]).user(3, counted)  # rows in another order
    assert twin.reward([3, 2, 1]) == pytest.approx(user.reward([0, 1, 2]))


@pytest.mark.parametrize("model", FITS)
def test_all_clicks_have_a_probability(model: Model) -> None:
    """Over the eight ways to click on a list of three their probabilities add up to 1."""
    fitted = FITS[model](draw_log(User(PerItem(ALPHA), PEOPLE.get(model, Cascade())), LISTS), prior=1.0)
    rows = {"list": [0] * 3, "position": [1, 2, 3], "item": [2, 0, 3]}
    every = [fitted.all_clicks(pl.DataFrame({**rows, "click": click})) for click in itertools.product([0, 1], repeat=3)]
    assert np.exp(every).sum() == pytest.approx(1.0, abs=1e-5)  # nothing is less likely than a millionth
    first = [fitted.first_clicks(pl.DataFrame({**rows, "click": click})) for click in ([0, 1, 0], [0, 1, 1])]
    assert np.exp(every[2]) + np.exp(every[3]) == pytest.approx(np.exp(first[0]).item(), abs=1e-5)


def test_below_the_end_of_a_list_nothing_is_earned_and_unknown_items_are_average() -> None:
    fitted = FITS["cascade"](draw_log(User(PerItem(ALPHA), Cascade()), LISTS))
    found = reward_model(fitted, [0, 99], "any")(np.array([[0, -1, -1], [1, 0, -1]]))
    assert found[0].tolist() == [fitted.attraction[0], 0.0, 0.0]
    assert found[1, 0] == pytest.approx(np.average(fitted.attraction, weights=fitted.views))


def test_an_unknown_item_satisfies_like_the_average_one() -> None:
    log = draw_log(User(PerItem(ALPHA), PEOPLE["dynamic_bayesian"]), LISTS)
    fitted = FITS["dynamic_bayesian"](log, prior=1.0)
    other = fitted.over([99, 0])
    assert other.satisfaction is not None
    assert fitted.satisfaction is not None
    average = np.average(fitted.satisfaction, weights=fitted.views * fitted.attraction)
    assert other.satisfaction.tolist() == pytest.approx([average, fitted.satisfaction[0]])
    assert other.views.tolist() == [0.0, fitted.views[0]]


@pytest.mark.parametrize("counted", ["any", "clicks"])
@pytest.mark.parametrize("people", PEOPLE)
def test_the_best_fit_is_one_that_the_people_fit(people: Model, counted: CountedAs) -> None:
    lists = np.array(list(itertools.permutations(range(4), 3)) * 400)
    user = User(PerItem(ALPHA), PEOPLE[people], counted)
    chosen = best_fit(read_log(draw_log(user, lists)), counted)
    assert list(chosen.likelihoods) == sorted(FITS, key=lambda name: -round(chosen.likelihoods[name], 4))
    assert chosen.fitted.model == next(iter(chosen.likelihoods))
    expected = reward_model(chosen.fitted, range(4), counted)(lists[:24]).sum(axis=1)
    assert expected == pytest.approx([user.reward(one) for one in lists[:24]], abs=0.05)


def test_a_click_model_that_is_asked_for_is_not_compared() -> None:
    log = read_log(draw_log(User(PerItem(ALPHA), Cascade()), LISTS))
    chosen = best_fit(log, "any", "click_chain")
    assert chosen.fitted.model == "click_chain"
    assert not chosen.likelihoods
    assert best_fit(log.take(np.arange(4)), "any").fitted.model == "cascade"  # too few to choose by


def test_what_it_cannot_say() -> None:
    log = draw_log(User(PerItem(ALPHA), Cascade()), LISTS)
    with pytest.raises(ProblemError, match="a list of 4 items is longer than the 3 positions"):
        reward_model(FITS["cascade"](log), range(4), "any")(np.array([[0, 1, 2, 3]]))
