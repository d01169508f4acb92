"""CascadeLinUCB with bounds that are cut at 1."""

import numpy as np
import pytest

from rankfall import CascadeLinUCB, Catalog, Coverage, Number, ProblemError, RequestFeatures, User, simulate
from rankfall.experiments.episodes import is_compiled
from rankfall.users import Cascade

RNG = np.random.default_rng(3)
RELEVANCE = RNG.normal(size=(12, 3)) * 0.6
CATALOG = Catalog(relevance=RELEVANCE)


def cut_bounds(lists: list[tuple[list[int], int | None]], gamma: float) -> np.ndarray:
    """Bounds after these lists and their first clicks, solved for directly."""
    gram, moment = np.eye(3), np.zeros(3)
    for items, click in lists:
        for position, item in enumerate(items[: None if click is None else click + 1]):
            gram += np.outer(RELEVANCE[item], RELEVANCE[item])
            moment += RELEVANCE[item] * (position == click)
    inverse = np.linalg.inv(gram)
    widths = np.sqrt(np.einsum("ij,jk,ik->i", RELEVANCE, inverse, RELEVANCE))
    return np.minimum(RELEVANCE @ inverse @ moment + gamma * widths, 1.0)


@pytest.mark.parametrize("gamma", [0.5, 1.5, 4.0])
def test_items_above_1_are_equal_and_the_lower_row_comes_first(gamma):
    policy, rng, lists, equal = CascadeLinUCB(CATALOG, gamma=gamma, cut=True), np.random.default_rng(0), [], 0
    for _ in range(60):
        bounds = cut_bounds(lists, gamma)
        shown = policy.rank(4)
        assert shown.items.tolist() == np.argsort(-bounds, kind="stable")[:4].tolist()
        equal += int((bounds == 1.0).sum() > 1)
        click = [None, 0, 1, 2, 3][rng.integers(5)]
        policy.update(shown, click)
        lists.append((shown.items.tolist(), click))
    assert equal > 0 or gamma < 1.0


def test_only_what_may_be_shown_where_nothing_is_fixed():
    policy = CascadeLinUCB(CATALOG, gamma=4.0, cut=True)
    order = [row for row in np.argsort(-cut_bounds([], 4.0), kind="stable").tolist() if row not in (0, 7)]
    assert policy.rank(4, exclude=[0], fixed={1: 7}).items.tolist() == [order[0], 7, *order[1:3]]


def test_scores_are_not_cut_and_explanations_add_up_to_them():
    shown = CascadeLinUCB(CATALOG, gamma=4.0, cut=True).rank(3)
    assert (shown.scores == shown.means + 4.0 * shown.widths).all()
    assert shown.scores.max() > 1.0


def test_where_all_bounds_stay_below_1_it_is_the_same_policy():
    user = User(Coverage(np.random.default_rng(5).random((12, 2)), [0.3, 0.5]), Cascade())
    small = Catalog(relevance=0.1 * RELEVANCE)
    runs = [simulate(CascadeLinUCB(small, cut=cut), user, 300, 4, seed=1) for cut in (False, True)]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    assert is_compiled(CascadeLinUCB(small), user, 4)
    assert not is_compiled(CascadeLinUCB(small, cut=True), user, 4)


def test_what_cut_bounds_are_not_for():
    with pytest.raises(ProblemError, match="with cut bounds takes no request_features"):
        CascadeLinUCB(CATALOG, cut=True, request_features=RequestFeatures({"near": Number()}))
