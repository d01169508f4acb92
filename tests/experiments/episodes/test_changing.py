"""Simulations with users who change."""

import numpy as np
import pytest
from general_loop import FirstItems, Shuffling

from rankfall import Cascade, CascadeHybrid, CascadeUser, Catalog, Drifting, PerItem, User, simulate
from rankfall.experiments.simulation import streams


def test_regret_is_against_the_best_list_of_each_step():
    one, other = User(PerItem([0.6, 0.2, 0.1]), Cascade()), User(PerItem([0.1, 0.2, 0.9]), Cascade())
    drifting = Drifting([(0, one), (70, other), (90, one)])
    run = simulate(FirstItems(3), drifting, 120, 1, checkpoints=[70, 90, 120])
    assert run.regret.tolist() == pytest.approx([0.0, 20 * 0.8, 20 * 0.8])
    assert run.best == pytest.approx((100 * 0.6 + 20 * 0.9) / 120)


def test_a_drifting_user_of_the_paper_is_two_users_one_after_the_other():
    """Linear policies stay on their compiled path, and go on with what they know."""
    rng = np.random.default_rng(9)
    x, z = rng.random((20, 3)), rng.random((20, 2))
    one, other = (CascadeUser(x, z, rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))) for _ in range(2))
    policy = CascadeHybrid(Catalog(x, z))
    run = simulate(policy, Drifting([(0, one), (130, other)]), 300, 4, seed=6)
    by_hand = CascadeHybrid(Catalog(x, z))
    regret = 0.0
    for step, coins in enumerate(streams(6)[0].random((300, 4))):
        user = one if step < 130 else other
        ranking = by_hand.rank(4)
        by_hand.update(ranking, user.click(ranking.items, coins))
        regret += user.reward(user.best(4)) - user.reward(ranking.items)
    assert policy.weights.tobytes() == by_hand.weights.tobytes()
    assert run.regret[-1] == pytest.approx(regret, abs=1e-9)


def test_checkpoints_do_not_change_what_happens_to_a_drifting_user():
    one, other = User(PerItem([0.6, 0.2, 0.1]), Cascade()), User(PerItem([0.1, 0.2, 0.9]), Cascade())
    runs = [
        simulate(Shuffling(3), Drifting([(0, one), (70, other)], smooth=True), 200, 2, seed=2, checkpoints=marks)
        for marks in (None, [200])
    ]
    assert runs[0].regret[-1] == runs[1].regret[-1]
