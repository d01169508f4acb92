"""What fitted users are expected to earn, against simulated users with the same parameters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankfall.errors import ProblemError
from rankfall.estimates import CountedAs
from rankfall.users import Cascade, DependentClick, PerItem, PositionBased, User
from rankfall.users.fitting import draw_log, fit_user_browsing, read_log
from rankfall.users.fitting.fits import FITS
from rankfall.users.fitting.reward_model import best_fit, reward_model, user_of_catalog

ALPHA = [0.6, 0.1, 0.4, 0.3]
LISTS = np.array(list(itertools.permutations(range(4), 3)) * 60)
PEOPLE = {
    "cascade": Cascade(),
    "dependent_click": DependentClick([0.9, 0.5, 0.3]),
    "position_based": PositionBased([0.9, 0.5, 0.2]),
}


@pytest.mark.parametrize("counted", ["any", "clicks"])
@pytest.mark.parametrize("model", ["cascade", "examined_cascade", "dependent_click", "position_based"])
def test_positions_add_up_to_the_reward_of_the_fitted_user(model: str, counted: CountedAs) -> None:
    fitted = FITS[model](draw_log(User(PerItem(ALPHA), PEOPLE.get(model, Cascade())), LISTS), prior=1.0)  # type: ignore[index]
    found = reward_model(fitted, range(4), counted)(LISTS[:24])
    user = fitted.user(3, counted)
    assert found.sum(axis=1) == pytest.approx([user.reward(one) for one in LISTS[:24]])
    twin = user_of_catalog(fitted, [3, 2, 1, 0], counted)  # rows in another order
    assert twin.reward([3, 2, 1]) == pytest.approx(user.reward([0, 1, 2]))


def test_below_the_end_of_a_list_nothing_is_earned_and_unknown_items_are_average() -> None:
    fitted = FITS["cascade"](draw_log(User(PerItem(ALPHA), Cascade()), LISTS))
    found = reward_model(fitted, [0, 99], "any")(np.array([[0, -1, -1], [1, 0, -1]]))
    assert found[0].tolist() == [fitted.attraction[0], 0.0, 0.0]
    assert found[1, 0] == pytest.approx(np.average(fitted.attraction, weights=fitted.views))


@pytest.mark.parametrize("people", PEOPLE)
def test_the_best_fit_is_one_that_the_people_fit(people: str) -> None:
    lists = np.array(list(itertools.permutations(range(4), 3)) * 400)
    user = User(PerItem(ALPHA), PEOPLE[people])
    fitted = best_fit(read_log(draw_log(user, lists)))
    expected = reward_model(fitted, range(4), "any")(lists[:24]).sum(axis=1)
    truth = [User(PerItem(ALPHA), PEOPLE[people], "any").reward(one) for one in lists[:24]]
    assert expected == pytest.approx(truth, abs=0.04)


def test_what_it_cannot_say() -> None:
    log = draw_log(User(PerItem(ALPHA), Cascade()), LISTS)
    with pytest.raises(ProblemError, match="got user_browsing"):
        reward_model(fit_user_browsing(log), range(4), "any")
    with pytest.raises(ProblemError, match="a list of 4 items is longer than the 3 positions"):
        reward_model(FITS["cascade"](log), range(4), "any")(np.array([[0, 1, 2, 3]]))
