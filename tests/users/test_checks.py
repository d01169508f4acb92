"""The check of environments finds what is wrong, and says so."""

import math

import numpy as np
import pytest
from user_kinds import ATTRACTIONS, PAIRS, attraction, clicks

from rankfall import (
    Cascade,
    CascadeUser,
    ContractError,
    DependentClick,
    DocumentBased,
    Drifting,
    PerItem,
    User,
    check_environment,
)


class Broken(CascadeUser):
    """A sound user, to be broken in one way by each subclass."""

    def __init__(self):
        rng = np.random.default_rng(31)
        super().__init__(rng.random((8, 2)), rng.random((8, 2)), [0.3, 0.3], [0.2, 0.3])


class PromisesTooMuch(Broken):
    def reward(self, items):
        return min(1.0, super().reward(items) + 0.05)


class RewardIsNotANumber(Broken):
    def reward(self, items):
        return math.nan


class ClicksOutOfRange(Broken):
    def click(self, items, coins):
        position = super().click(items, coins)
        return None if position is None else position + 1


class ClicksAreFloats(Broken):
    def click(self, items, coins):
        position = super().click(items, coins)
        return None if position is None else float(position)


class BestHoldsDuplicates(Broken):
    def best(self, k):
        return np.zeros(k, dtype=np.int64)


class BestIsTooShort(Broken):
    def best(self, k):
        return super().best(k)[:-1]


class BestIsNoRow(Broken):
    def best(self, k):
        return super().best(k) + self.n_items


class TossesItsOwnCoins(Broken):
    def __init__(self):
        super().__init__()
        self.own = np.random.default_rng(32)

    def click(self, items, coins):
        return super().click(items, self.own.random(len(coins)))


class Raises(Broken):
    def click(self, items, coins):
        raise RuntimeError("no user today")


def test_checker_accepts_a_sound_user():
    for k in (1, 3, 8):
        check_environment(Broken(), k, trials=5_000)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (PromisesTooMuch, r"reward\(.*\) is 0\.\d+, and 0\.\d+ was earned on average in \d+ lists"),
        (RewardIsNotANumber, "finite number.*got nan"),
        (ClicksOutOfRange, "position from 0 to 2, got 3"),
        (ClicksAreFloats, r"position from 0 to 2, got \d\.0"),
        (BestHoldsDuplicates, r"best\(3\) must be 3 different rows.*\[0, 0, 0\]"),
        (BestIsTooShort, r"best\(3\) must be 3 different rows"),
        (BestIsNoRow, "different rows from 0 to 7"),
        (TossesItsOwnCoins, "depend on the coins alone"),
        (Raises, "raised RuntimeError: no user today"),
    ],
)
def test_checker_names_what_is_broken(broken, problem):
    with pytest.raises(ContractError, match=problem) as caught:
        check_environment(broken(), trials=5_000)
    assert broken.__name__ in str(caught.value)


def test_checker_lists_everything_that_is_broken():
    class Both(PromisesTooMuch, ClicksOutOfRange):
        pass

    with pytest.raises(ContractError, match="position from 0 to 2") as caught:
        check_environment(Both(), trials=5_000)
    assert "was earned on average" in str(caught.value)


@pytest.mark.parametrize("kind", ATTRACTIONS)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_every_user_keeps_the_contract(model, reward, kind):
    rng = np.random.default_rng(2)
    check_environment(User(attraction(kind, rng), clicks(model, rng), reward), trials=2000)


def test_the_checker_looks_at_drifting_users_at_many_steps():
    class Promising(User):
        def reward(self, items):
            return super().reward(items) + 0.5

    one = User(PerItem([0.3, 0.2, 0.1, 0.4]), DependentClick([0.5, 0.5, 0.5]))
    check_environment(Drifting([(0, one), (50, User(PerItem([0.1] * 4), Cascade()))]), trials=2000)
    check_environment(
        Drifting([(0, one), (500, User(PerItem([0.1] * 4), DependentClick([0.5] * 3)))], smooth=True), trials=2000
    )
    with pytest.raises(ContractError, match="was earned on average"):
        check_environment(Drifting([(0, one), (50, Promising(PerItem([0.3] * 4), Cascade()))]), trials=2000)


def test_the_checker_knows_clicks_on_several_positions():
    class Backwards(User):
        def click(self, items, coins):
            return super().click(items, coins)[::-1]

    class Beyond(User):
        def click(self, items, coins):
            return tuple(i + 1 for i in super().click(items, coins))

    for broken in (Backwards, Beyond):
        with pytest.raises(ContractError, match="tuple of ascending positions"):
            check_environment(broken(PerItem([0.5] * 4), DocumentBased()), trials=500)
