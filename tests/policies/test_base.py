"""What policies that are not linear check in one place."""

import numpy as np
import pytest

from rankfall import POLICIES, Catalog, FeedbackError, RankError, Ranking
from rankfall.policies import LINEAR, Kind

CATALOG = Catalog(coverage=np.eye(5), relevance=np.eye(5))
OTHERS = [kind for kind in POLICIES.values() if isinstance(kind, Kind)]


def test_all_others_are_meant() -> None:
    assert len(OTHERS) == len(POLICIES) - len(LINEAR)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.name)
def test_nothing_is_learned_from_what_is_no_answer(kind: Kind) -> None:
    policy = kind.make(CATALOG, k=2, steps=100)
    note = policy.rank(2).note
    before = {name: np.copy(array) for name, array in policy.arrays().items()}  # type: ignore[attr-defined]
    for ranking, said in (
        ([0, 1], "expected the Ranking"),
        (Ranking([0, 5], note=note), "shows row 5 of 5 items"),
        (Ranking([], note=note), "shows no items"),
    ):
        with pytest.raises(FeedbackError, match=said):
            policy.update(ranking, None)  # type: ignore[arg-type]
    with pytest.raises(FeedbackError, match="click must be a whole number from 0 to 1"):
        policy.update(policy.rank(2), 2)
    np.testing.assert_equal(policy.arrays(), before)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.name)
def test_lists_that_cannot_be_made_are_refused(kind: Kind) -> None:
    policy = kind.make(CATALOG, k=2, steps=100)
    for k, limits in ((0, {}), (6, {}), (True, {}), (3, {"candidates": [0, 1]}), (1, {"exclude": [5]})):
        with pytest.raises(RankError):
            policy.rank(k, **limits)
