"""What policies that are not linear check in one place."""

import numpy as np
import pytest

from rankfall import POLICIES, Catalog, FeedbackError, LinearPolicy, Policy, RankError, Ranking
from rankfall.policies import make_policy

CATALOG = Catalog(coverage=np.eye(5), relevance=np.eye(5))
OTHERS = [kind for kind in POLICIES.values() if not issubclass(kind, LinearPolicy)]


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_nothing_is_learned_from_what_is_no_answer(kind: type[Policy]) -> None:
    policy = make_policy(kind, CATALOG, k=2, steps=100)
    note = policy.rank(2).note
    before = {name: np.copy(array) for name, array in policy.state().items()}
    for ranking, said in (
        ([0, 1], "expected the Ranking"),
        (Ranking([0, 5], note=note), "shows row 5 of 5 items"),
        (Ranking([], note=note), "shows no items"),
    ):
        with pytest.raises(FeedbackError, match=said):
            policy.update(ranking, None)  # type: ignore[arg-type]
    with pytest.raises(FeedbackError, match="click must be a whole number from 0 to 1"):
        policy.update(policy.rank(2), 2)
    np.testing.assert_equal(policy.state(), before)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_lists_that_cannot_be_made_are_refused(kind: type[Policy]) -> None:
    policy = make_policy(kind, CATALOG, k=2, steps=100)
    for k, limits in ((0, {}), (6, {}), (True, {}), (3, {"candidates": [0, 1]}), (1, {"exclude": [5]})):
        with pytest.raises(RankError):
            policy.rank(k, **limits)
