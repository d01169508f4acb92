"""The loops in plain Python."""

import itertools

import numpy as np
import pytest
from general_loop import Shuffling, Wrapped
from user_kinds import ATTRACTIONS, PAIRS, attraction, clicks

from rankfall import Cascade, CascadeUser, PerItem, User, simulate
from rankfall.experiments.episodes.general import _Memory, any_policy_with_any_user
from rankfall.experiments.simulation import streams


@pytest.mark.parametrize("kind", ATTRACTIONS)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_the_fast_loop_does_what_the_plain_one_does_to_the_bit(model, reward, kind):
    rng = np.random.default_rng(1)
    user = User(attraction(kind, rng), clicks(model, rng), reward)
    policies, runs = [Shuffling(6), Shuffling(6)], []
    for policy, person in zip(policies, (user, Wrapped(user)), strict=True):
        runs.append(simulate(policy, person, 300, 3, seed=4))
    assert policies[0].told == policies[1].told
    for name in ("regret", "clicks", "touched", "covered"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()
    most = user.reward(user.best(3))
    by_hand = np.cumsum([most - user.reward(items) for items, _ in policies[0].told])
    assert runs[0].regret[-1] == pytest.approx(by_hand[-1], abs=1e-9)
    assert runs[0].clicks[-1] == sum(click not in (None, ()) for _, click in policies[0].told)


def test_policies_of_any_kind_on_the_user_of_the_paper_see_what_the_plain_loop_shows_to_the_bit():
    rng = np.random.default_rng(10)
    user = CascadeUser(rng.random((7, 3)), rng.random((7, 2)), rng.dirichlet(np.ones(3)), rng.normal(size=2), 0.6)
    policies = [Shuffling(7), Shuffling(7)]
    runs = [simulate(policy, one, 300, 3, seed=4) for policy, one in zip(policies, (user, Wrapped(user)), strict=True)]
    assert policies[0].told == policies[1].told
    for name in ("regret", "clicks", "touched", "covered"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()


def test_the_plain_loop_adds_up_as_it_always_did():
    """The sums before they were kept as plain numbers: an array, added to at each step."""
    person = User(PerItem(np.linspace(0.1, 0.7, 6)), Cascade())
    best = person.reward(person.best(3))
    totals, expected = np.zeros((201, 4)), np.zeros(4)
    policy, again = Shuffling(6), Shuffling(6)
    coin_rng, rng = streams(3)
    coins = coin_rng.random((200, 3))
    any_policy_with_any_user(policy, Wrapped(person), 3, best, rng)(coins, totals)
    _, rng = streams(3)
    for step, flips in enumerate(coins, 1):
        ranking = again.rank(3, rng=rng)
        click = person.click(ranking.items, flips)
        expected += best - person.reward(ranking.items), click is not None, *person.covered(ranking.items)
        assert totals[step].tobytes() == expected.tobytes()


def test_a_simulation_remembers_a_bounded_number_of_lists():
    user = User(PerItem(np.linspace(0.1, 0.7, 6)), Cascade())
    memory = _Memory(user, room=10)
    for items in itertools.permutations(range(6), 3):
        for _ in range(2):
            assert memory.view(np.array(items)).reward == user.reward(items)
        assert len(memory._lists) <= 10
