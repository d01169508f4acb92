"""Topic coverage: the gains the package computes are those of the definition, and shrink as lists grow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rankfall

probabilities = st.floats(0, 1, allow_subnormal=False)


@st.composite
def items(draw):
    """Coverage (L, d) with plenty of zeros and ones, and relevance (L, m)."""
    L, d, m = draw(st.integers(2, 7)), draw(st.integers(1, 4)), draw(st.integers(1, 2))
    x = draw(arrays(np.float64, (L, d), elements=st.one_of(st.sampled_from([0.0, 1.0]), probabilities)))
    return x, draw(arrays(np.float64, (L, m), elements=st.floats(-1, 1, allow_subnormal=False)))


def g(x, j, A):
    """Eq. topic coverage: the probability that the items A cover topic j."""
    return 1 - math.prod(1 - x[a, j] for a in A)


def gains(x, R):
    """Delta_j(R(i) | R(1), ..., R(i - 1)) for every position i and topic j."""
    return [[g(x, j, R[: i + 1]) - g(x, j, R[:i]) for j in range(x.shape[1])] for i in range(len(R))]


def gain_seen_by_user(x, j, A, a):
    """What item a adds to the list A for a user who cares for topic j alone.

    Read off an attraction of 0.25 + gain / 2, so that neither end of the clipping to [0, 1] can touch it.
    """
    theta = np.eye(x.shape[1])[j]
    user = rankfall.CascadeUser(x, np.full((len(x), 1), 0.5), theta, [1.0], tradeoff=0.5)
    return 2 * (user.attraction_of([*A, a])[-1] - 0.25)


@pytest.mark.parametrize("kind", [rankfall.CascadeHybrid, rankfall.CascadeLSB], ids=lambda kind: kind.__name__)
@given(problem=items(), data=st.data())
def test_features_as_shown_are_the_coverage_gains_of_the_definition(kind, problem, data):
    x, z = problem
    policy = kind(rankfall.Catalog(x, z))
    k = data.draw(st.integers(1, len(x)))
    for click in data.draw(st.lists(st.one_of(st.none(), st.integers(0, k - 1)), max_size=4)):
        policy.update(policy.rank(k), click)
    ranking = policy.rank(k)
    R = ranking.items.tolist()
    assert len(set(R)) == k
    np.testing.assert_allclose(ranking.features[:, : x.shape[1]], gains(x, R), rtol=0, atol=1e-14)
    if kind is rankfall.CascadeHybrid:
        np.testing.assert_array_equal(ranking.features[:, x.shape[1] :], z[R])


@given(problem=items(), data=st.data())
def test_gains_of_a_ranking_add_up_to_what_the_whole_list_covers(problem, data):
    x, _ = problem
    ranking = rankfall.CascadeLSB(rankfall.Catalog(x)).rank(data.draw(st.integers(1, len(x))))
    covered = [g(x, j, ranking.items) for j in range(x.shape[1])]
    np.testing.assert_allclose(ranking.features.sum(axis=0), covered, atol=1e-14)


@given(problem=items(), data=st.data())
def test_coverage_is_monotone_and_submodular(problem, data):
    """For B within A, in any order: gain(a | B) >= gain(a | A) >= 0."""
    x, _ = problem
    *A, a = data.draw(st.permutations(range(len(x))))
    A = A[: data.draw(st.integers(0, len(A)))]
    B = [b for b in data.draw(st.permutations(A)) if data.draw(st.booleans())]
    j = data.draw(st.integers(0, x.shape[1] - 1))
    small, large = gain_seen_by_user(x, j, A, a), gain_seen_by_user(x, j, B, a)
    assert small >= -1e-14
    assert large >= small - 1e-14
    assert small == pytest.approx(g(x, j, [*A, a]) - g(x, j, A), abs=1e-14)


@given(problem=items())
def test_an_item_below_others_shows_between_nothing_and_what_it_shows_alone(problem):
    x, _ = problem
    policy = rankfall.CascadeLSB(rankfall.Catalog(x))
    ranking = policy.rank(len(x))
    for item, as_shown in zip(ranking.items, ranking.features, strict=True):
        alone = policy.rank(1, candidates=[item]).features[0]
        np.testing.assert_array_equal(alone, x[item])
        assert (as_shown <= alone).all()
        assert (as_shown >= 0).all()


def assert_same_lists_and_estimates(one, other, columns, steps=400, k=4):
    """Both learn from the same clicks; ``columns`` of the first policy are all of the second's."""
    rng = np.random.default_rng(3)
    for step in range(steps):
        a, b = one.rank(k), other.rank(k)
        assert a.items.tolist() == b.items.tolist(), f"step {step}"
        np.testing.assert_allclose(a.scores, b.scores, rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.weights[columns], other.weights, rtol=0, atol=1e-12)
        click = None if rng.random() < 0.3 else int(rng.integers(k))
        one.update(a, click)
        other.update(b, click)
    assert np.abs(other.weights).max() > 0.01


def test_hybrid_without_topics_is_cascade_lin_ucb():
    z = np.random.default_rng(0).normal(size=(15, 4))
    catalog = rankfall.Catalog(relevance=z)
    assert_same_lists_and_estimates(rankfall.CascadeHybrid(catalog), rankfall.CascadeLinUCB(catalog), slice(None))


def test_hybrid_with_topics_that_no_item_covers_is_cascade_lin_ucb():
    z = np.random.default_rng(1).normal(size=(15, 4))
    catalog = rankfall.Catalog(np.zeros((15, 2)), z)
    assert_same_lists_and_estimates(rankfall.CascadeHybrid(catalog), rankfall.CascadeLinUCB(catalog), slice(2, None))


def test_hybrid_without_relevance_features_is_cascade_lsb():
    x = np.random.default_rng(2).random((15, 4))
    catalog = rankfall.Catalog(x)
    assert_same_lists_and_estimates(rankfall.CascadeHybrid(catalog), rankfall.CascadeLSB(catalog), slice(None))


def test_hybrid_with_relevance_features_that_are_all_zero_is_cascade_lsb():
    x = np.random.default_rng(3).random((15, 4))
    catalog = rankfall.Catalog(x, np.zeros((15, 2)))
    assert_same_lists_and_estimates(rankfall.CascadeHybrid(catalog), rankfall.CascadeLSB(catalog), slice(0, 4))


def test_hybrid_differs_from_its_parts_where_both_matter():
    """By hand, by length of phi: items 0 and 1 share a topic, item 1 is the most relevant, item 2 stands alone."""
    catalog = rankfall.Catalog([[0.9, 0.0], [0.9, 0.0], [0.0, 0.8]], [[0.2], [0.3], [0.1]])
    assert rankfall.CascadeLinUCB(catalog).rank(3).items.tolist() == [1, 0, 2]
    assert rankfall.CascadeLSB(catalog).rank(3).items.tolist() == [0, 2, 1]
    assert rankfall.CascadeHybrid(catalog).rank(3).items.tolist() == [1, 2, 0]
