"""The package against Algorithm 1 and its relatives, written out in specification.py: same lists, same numbers."""

import numpy as np
import pytest
import specification

import rankfall

TOLERANCE = 1e-9


def random_items(rng, L, d, m, *, whole_topics=False):
    """Coverage with many zeros and a few items without topics, and relevance of either sign.

    Relevance has random length: items of one length and no topic left are ties in the first list, and which of
    them rounding puts first is nobody's business.
    """
    x = rng.random((L, d)) * (rng.random((L, d)) < 0.6)
    if whole_topics:
        x = np.where(rng.random((L, d)) < 0.3, 1.0, x)
    x[:: max(L // 4, 1)] = 0.0
    z = rng.normal(size=(L, m))
    return x, z / np.linalg.norm(z, axis=1, keepdims=True) * rng.uniform(0.2, 1.0, (L, 1))


def cascade_click(rng, attractive, R):
    """The paper's c_t in [K + 1]: the first attractive item of the list."""
    for position, a in enumerate(R, start=1):
        if rng.random() < attractive[a]:
            return position
    return len(R) + 1


def in_python(c, K):
    """The package's click: a position from 0 on, or None."""
    return c - 1 if c <= K else None


def assert_close(ours, papers, what, step):
    error = np.max(np.abs(ours - papers), initial=0.0)
    assert error <= TOLERANCE, f"{what} differs by {error:.1e} at step {step}"


# d topics, m features, K positions, L items, steps, gamma
PROBLEMS = {
    "middling": (5, 4, 4, 30, 700, 1.0),
    "one topic": (1, 3, 3, 15, 400, 0.5),
    "one feature": (4, 1, 5, 20, 400, 2.0),
    "one of each": (1, 1, 2, 10, 600, 1.0),
    "many columns": (12, 10, 6, 40, 400, 0.7),
    "shows every item": (3, 2, 7, 7, 300, 1.0),
    "no exploration": (3, 3, 3, 12, 400, 0.0),
}


@pytest.mark.parametrize("whole_topics", [False, True], ids=["part topics", "whole topics"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_cascade_hybrid_is_algorithm_1(problem, whole_topics):
    d, m, K, L, steps, gamma = PROBLEMS[problem]
    rng = np.random.default_rng([list(PROBLEMS).index(problem), whole_topics])
    x, z = random_items(rng, L, d, m, whole_topics=whole_topics)
    attractive = rng.random(L) * 0.5
    paper = specification.Algorithm1(x, z, gamma)
    ours = rankfall.CascadeHybrid(rankfall.Catalog(x, z), gamma=gamma)
    for step in range(steps):
        theta_hat, beta_hat = paper.estimate()
        assert_close(ours.weights[:d], theta_hat, "theta", step)
        assert_close(ours.weights[d:], beta_hat, "beta", step)
        R, omegas, s = paper.rank(K)
        ranking = ours.rank(K)
        assert ranking.items.tolist() == R, f"step {step}"
        assert_close(ranking.features, np.hstack([omegas, z[R]]), "phi", step)
        assert_close(ranking.widths**2, s, "s", step)
        c = cascade_click(rng, attractive, R)
        paper.update(R, omegas, c)
        ours.update(ranking, in_python(c, K))


RELATIVES = {
    "CascadeLinUCB": specification.cascade_lin_ucb,
    "CascadeLinUCBFull": specification.cascade_lin_ucb_full,
    "CascadeLSB": specification.cascade_lsb,
    "CascadeLSBFull": specification.cascade_lsb_full,
    "CascadeHybrid": specification.hybrid_as_ridge,
}


@pytest.mark.parametrize("size", [(5, 4, 4, 30), (1, 3, 6, 15), (6, 1, 3, 20)], ids=str)
@pytest.mark.parametrize("name", RELATIVES)
def test_relatives_are_ridge_regression_with_ucb(name, size):
    d, m, K, L = size
    rng = np.random.default_rng([*size, list(RELATIVES).index(name)])
    x, z = random_items(rng, L, d, m)
    attractive = rng.random(L) * 0.5
    paper = RELATIVES[name](x, z, 1.0)
    ours = rankfall.POLICIES[name](rankfall.Catalog(x, z), gamma=1.0)
    for step in range(500):
        assert_close(ours.weights, paper.estimate(), "w", step)
        R, phis, s = paper.rank(K)
        ranking = ours.rank(K)
        assert ranking.items.tolist() == R, f"step {step}"
        assert_close(ranking.features, phis, "phi", step)
        assert_close(ranking.widths**2, s, "s", step)
        c = cascade_click(rng, attractive, R)
        paper.update(R, phis, c)
        ours.update(ranking, in_python(c, K))
    assert_close(ours.covariance, np.linalg.inv(paper.O), "O^-1", "last")


@pytest.mark.parametrize("name", RELATIVES)
def test_positions_may_be_fixed(name):
    d, m, K, L = 5, 4, 6, 25
    rng = np.random.default_rng(list(RELATIVES).index(name))
    x, z = random_items(rng, L, d, m)
    attractive = rng.random(L) * 0.5
    paper = RELATIVES[name](x, z, 1.0)
    ours = rankfall.POLICIES[name](rankfall.Catalog(x, z), gamma=1.0)
    for step in range(300):
        held = rng.permutation(K)[: step % (K + 1)]
        fixed = dict(zip(held.tolist(), rng.permutation(L).tolist(), strict=False))
        R, phis, s = paper.rank(K, fixed.items())
        ranking = ours.rank(K, fixed=fixed)
        assert ranking.items.tolist() == R, f"step {step}"
        assert_close(ranking.features, phis, "phi", step)
        assert_close(ranking.means, phis @ paper.estimate(), "mean", step)
        assert_close(ranking.widths**2, s, "s", step)
        c = cascade_click(rng, attractive, R)
        paper.update(R, phis, c)
        ours.update(ranking, in_python(c, K))


@pytest.mark.parametrize("forgetting", [rankfall.Discount(0.95), rankfall.Window(20)], ids=repr)
@pytest.mark.parametrize("name", RELATIVES)
def test_forgetting_policies_are_ridge_regression_on_what_still_counts(name, forgetting):
    d, m, K, L = 5, 4, 4, 30
    rng = np.random.default_rng(list(RELATIVES).index(name))
    x, z = random_items(rng, L, d, m)
    attractive = rng.random(L) * 0.5
    paper = RELATIVES[name](x, z, 1.0)
    ours = rankfall.POLICIES[name](rankfall.Catalog(x, z), gamma=1.0, forgetting=forgetting)
    history = []
    for step in range(200):
        R, phis, s = paper.rank(K)
        ranking = ours.rank(K)
        assert ranking.items.tolist() == R, f"step {step}"
        assert_close(ranking.widths**2, s, "s", step)
        c = cascade_click(rng, attractive, R)
        ours.update(ranking, in_python(c, K))
        history.append((R, phis, c))
        if isinstance(forgetting, rankfall.Discount):
            paper.O = np.eye(len(paper.O)) + forgetting.rho * (paper.O - np.eye(len(paper.O)))
            paper.b = forgetting.rho * paper.b
            paper.update(R, phis, c)
        else:
            paper = RELATIVES[name](x, z, 1.0)
            for one in history[-forgetting.lists :]:
                paper.update(*one)
        assert_close(ours.weights, paper.estimate(), "w", step)


def test_the_first_list_without_knowledge_is_ordered_by_the_length_of_phi():
    """By hand: with H = I, M = I, u = y = 0 the score of an item is gamma * |[omega, z]|."""
    catalog = rankfall.Catalog(coverage=[[0.8], [0.7], [0.0]], relevance=[[0.0], [0.1], [0.3]])
    ranking = rankfall.CascadeHybrid(catalog, gamma=2.0).rank(3)
    # 0.8 first; then omega of item 1 is 0.7 * 0.2 = 0.14, |(0.14, 0.1)| = 0.172 < 0.3
    assert ranking.items.tolist() == [0, 2, 1]
    np.testing.assert_allclose(ranking.scores, [1.6, 0.6, 2 * np.hypot(0.14, 0.1)], rtol=1e-14)


def test_one_update_by_hand():
    """Shown [0, 2, 1], clicked the second: O = I + phi_0 phi_0' + phi_2 phi_2' = diag(1.64, 1.09), b = phi_2."""
    catalog = rankfall.Catalog(coverage=[[0.8], [0.7], [0.0]], relevance=[[0.0], [0.1], [0.3]])
    policy = rankfall.CascadeHybrid(catalog)
    policy.update(policy.rank(3), 1)
    np.testing.assert_allclose(policy.covariance, np.diag([1 / 1.64, 1 / 1.09]), rtol=1e-14)
    np.testing.assert_allclose(policy.weights, [0.0, 0.3 / 1.09], rtol=1e-14)
