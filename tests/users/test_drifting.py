"""Users who change."""

import numpy as np
import pytest
from general_loop import FirstItems
from user_kinds import attraction

from rankfall import Cascade, DocumentBased, Drifting, PerItem, ProblemError, User, check_environment, simulate


def test_smooth_drift_moves_in_a_straight_line_and_stays():
    one, other = User(PerItem([0.8, 0.2]), DocumentBased()), User(PerItem([0.0, 0.6]), DocumentBased())
    drifting = Drifting([(0, one), (100, other), (200, other)], smooth=True)
    for step in (0, 1, 50, 99):
        mixed = drifting.at(step)
        assert mixed is drifting.at(step)
        np.testing.assert_allclose(mixed.attraction.alone, [0.8 - 0.008 * step, 0.2 + 0.004 * step])
    assert drifting.at(100) is other
    assert drifting.at(10**9) is other
    run = simulate(FirstItems(2), Drifting([(0, one), (100, other)], smooth=True), 100, 1)
    by_hand = sum(max(0.0, (0.2 + 0.004 * s) - (0.8 - 0.008 * s)) for s in range(100))
    assert run.regret[-1] == pytest.approx(by_hand)
    coarse = Drifting([(0, one), (100, other)], smooth=True, every=10)
    assert coarse.at(37) is coarse.at(30)
    assert coarse.at(37).attraction.alone[0] == pytest.approx(0.8 - 0.24)


def test_smooth_drift_of_hybrid_attraction():
    rng = np.random.default_rng(8)
    one, other = (User(attraction("hybrid", rng), Cascade()) for _ in range(2))
    middle = Drifting([(0, one), (10, other)], smooth=True).at(5)
    items = np.array([4, 0, 3])
    np.testing.assert_allclose(middle.attraction_of(items), (one.attraction_of(items) + other.attraction_of(items)) / 2)
    greedy = middle.best(3)
    assert middle.attraction_of(greedy)[0] == max(middle.attraction_of([a])[0] for a in range(6))
    check_environment(middle)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Drifting([]), "changes is empty"),
        (lambda: Drifting([(5, User(PerItem([0.5]), Cascade()))]), "must be at step 0, got 5"),
        (lambda: Drifting([(0, User(PerItem([0.5]), Cascade()))] * 2), "must ascend, got 0 after 0"),
        (lambda: Drifting([(0, "me")]), "must be environments"),
        (
            lambda: Drifting([(0, User(PerItem([0.5]), Cascade())), (5, User(PerItem([0.5, 0.1]), Cascade()))]),
            "the same number of items, got 1 and 2",
        ),
        (
            lambda: Drifting(
                [(0, User(PerItem([0.5]), Cascade())), (5, User(PerItem([0.5]), DocumentBased()))], smooth=True
            ),
            "changes attraction only",
        ),
        (lambda: Drifting([(0, User(PerItem([0.5]), Cascade()))], every=3), "every is for smooth drift"),
        (lambda: Drifting([(0, User(PerItem([0.5]), Cascade()))]).at(-1), "step must be a whole number"),
    ],
)
def test_nonsense_is_refused_in_words(make, said):
    with pytest.raises(ProblemError, match=said):
        make()
