"""C4UCB: the rule written out, its promise, and that it is CascadeLinUCB where everything may be spent."""

from typing import Any

import numpy as np
import pytest
from general_loop import Stepwise

from rankfall import (
    C4UCB,
    AtMost,
    CascadeLinUCB,
    CascadeUser,
    Catalog,
    CatalogError,
    Discount,
    FeedbackError,
    Number,
    Prior,
    ProblemError,
    check_policy,
    generate,
    simulate,
)
from rankfall.data import on_sphere

K = 3


class Safe(C4UCB):
    """The hybrid's conservative form."""

    coverage = "diminishing"


def chance(attraction: np.ndarray) -> float:
    return float(1.0 - np.prod(1.0 - np.clip(attraction, 0.0, 1.0)))


def sphere(items: int = 40, seed: int = 0) -> tuple[Catalog, np.ndarray]:
    """Items, and how they attract: linear in their features, within [0, 1]."""
    world = on_sphere(items, 4, seed, appeal=0.4)
    return world.catalog, world.catalog.relevance @ world.beta[0]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_the_rule_written_out(share: float, known: bool) -> None:
    """Every list against the published inequality, with ridge regression solved directly."""
    catalog, attraction = sphere()
    baseline = np.argsort(-attraction)[5 : 5 + K]
    reward = chance(attraction[baseline])
    policy = C4UCB(catalog, gamma=0.5, baseline=baseline, share=share, baseline_reward=reward if known else None)
    z, rng = catalog.relevance, np.random.default_rng(1)
    gram, moment = np.eye(4), np.zeros(4)
    sure_so_far, own, base, decided = 0.0, 0, 0, set()
    for step in range(1, 1200):
        beta, widths = np.linalg.solve(gram, moment), np.sqrt(np.einsum("ij,ji->i", z, np.linalg.solve(gram, z.T)))
        upper, lower = z @ beta + 0.5 * widths, z @ beta - 0.5 * widths
        best = np.argsort(-upper, kind="stable")[:K]
        sure, low, high = chance(lower[best]), chance(lower[baseline]), chance(upper[baseline])
        if known:
            left, right = sure_so_far + sure + base * reward, (1 - share) * step * reward
        else:
            left, right = sure_so_far + sure + share * base * low, (1 - share) * (own + 1) * high
        ranking = policy.rank(K)
        shows_own = not np.array_equal(ranking.items, baseline)
        if abs(left - right) > 1e-9:
            assert shows_own == (left >= right and not np.array_equal(best, baseline)), step
        if shows_own:
            assert ranking.items.tolist() == best.tolist()
            own, sure_so_far = own + 1, sure_so_far + sure
        else:
            base += 1
        decided.add(shows_own)
        clicked = np.flatnonzero(rng.random(K) < attraction[ranking.items])
        click = int(clicked[0]) if len(clicked) else None
        for row, item in enumerate(ranking.items[: K if click is None else click + 1]):
            gram += np.outer(z[item], z[item])
            moment += z[item] * (row == click)
        policy.update(ranking, click)
        assert policy.shown == (own, base)
        np.testing.assert_allclose(policy.account, [sure_so_far, own, base], atol=1e-9)
    assert decided == {True, False}


def worst_shortfall(policy: Any, user: CascadeUser, reward: float, share: float, steps: int, seed: int) -> float:
    """The least, over all steps, of what was earned in expectation beyond what was promised."""
    every = np.arange(1, steps + 1)
    run = simulate(policy, user, steps, K, seed=seed, checkpoints=every)
    return float((every * run.best - run.regret - (1.0 - share) * every * reward).min())


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_never_earns_less_than_promised_and_others_do(seed: int, known: bool) -> None:
    catalog, attraction = sphere(seed=seed)
    user = CascadeUser(catalog.coverage, catalog.relevance, [], on_sphere(40, 4, seed, appeal=0.4).beta[0], 1.0)
    baseline = np.argsort(-attraction)[1 : 1 + K]
    reward = chance(attraction[baseline])
    given = {"baseline": baseline, "share": 0.1, "baseline_reward": reward if known else None}
    assert worst_shortfall(C4UCB(catalog, **given), user, reward, 0.1, 3000, seed) >= -1e-9
    assert worst_shortfall(CascadeLinUCB(catalog), user, reward, 0.1, 3000, seed) < -0.1


@pytest.mark.parametrize("kind", [C4UCB, Safe])
@pytest.mark.parametrize(
    "given", [{}, {"baseline_reward": 0.3, "baseline": [7, 2]}, {"share": 0.5, "feedback": "all", "gamma": 0.2}]
)
def test_the_compiled_loop_has_the_bits_of_the_general_one(kind: type[C4UCB], given: dict[str, Any]) -> None:
    world = generate(items=60, topics=5, features=4, seed=3)
    taste = (world.catalog.coverage, world.catalog.relevance, world.theta[0], world.beta[0], 0.5)
    fast, plain, general = (kind(world.catalog, **given) for _ in range(3))
    plain.pruning = False
    runs = [
        simulate(policy, user, 400, K, seed=2)
        for policy, user in ((fast, CascadeUser(*taste)), (plain, CascadeUser(*taste)), (general, Stepwise(*taste)))
    ]
    for other, policy in zip(runs[1:], (plain, general), strict=True):
        assert runs[0].regret.tobytes() == other.regret.tobytes()
        assert runs[0].clicks.tobytes() == other.clicks.tobytes()
        for name, array in fast.state().items():
            assert array.tobytes() == policy.state()[name].tobytes(), name
    assert min(fast.shown) > 0


def test_with_everything_to_spend_it_is_cascadelinucb() -> None:
    catalog, _ = sphere()
    user = CascadeUser(catalog.coverage, catalog.relevance, [], on_sphere(40, 4, 0, appeal=0.4).beta[0], 1.0)
    free, plain = C4UCB(catalog, share=1.0), CascadeLinUCB(catalog)
    assert simulate(free, user, 300, K).regret.tobytes() == simulate(plain, user, 300, K).regret.tobytes()
    assert free.weights.tobytes() == plain.weights.tobytes()
    bound = C4UCB(catalog, share=0.0, baseline_reward=1.0)
    simulate(bound, user, 300, K)
    assert bound.shown == (0, 300)


def test_the_baseline_keeps_to_what_was_asked_for() -> None:
    catalog = Catalog(relevance=[[1.0], [3.0], [2.0], [4.0]], attributes={"kind": ["a", "a", "b", "b"]})
    policy = C4UCB(catalog, baseline=[2, 0])
    assert policy.rank(3).items.tolist() == [2, 0, 1]
    assert policy.rank(2, exclude=[2]).items.tolist() == [0, 1]
    assert policy.rank(2, candidates=[1, 3]).items.tolist() == [1, 3]
    assert policy.rank(3, fixed={0: 3}).items.tolist() == [3, 2, 0]
    ruled = policy.rank(3, rules=[AtMost(n=1, attribute="kind")])
    assert ruled.items.tolist() == [2, 0, 1]
    assert [one.position for one in ruled.relaxed] == [2]
    assert policy.with_settings(baseline=[3]).rank(2).items.tolist() == [3, 0]


def test_features_of_a_request_are_those_of_the_baseline_too() -> None:
    policy = C4UCB(Catalog(relevance=[[1.0], [0.5]]), request_features={"match": Number()})
    assert policy.rank(2, candidates=[0, 1], features=[[0.2], [0.7]]).features.tolist() == [[1.0, 0.2], [0.5, 0.7]]


def test_one_with_a_prior_keeps_an_account_of_its_own() -> None:
    policy = C4UCB(sphere()[0])
    twin = policy.with_prior(Prior.identity(4))
    twin.update(twin.rank(K), None)
    assert (policy.shown, twin.shown) == ((0, 0), (0, 1))


def test_it_keeps_the_contract() -> None:
    checked = check_policy(C4UCB(sphere()[0], baseline=[5, 3]))
    assert checked.saved
    assert checked.fixed
    assert checked.why_not_served is not None
    assert checked.why_not_rewarded is not None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"baseline": [1, 1]}, "baseline"),
        ({"baseline": [40]}, "baseline"),
        ({"share": 1.5}, r"share must be a number in \[0, 1\], got 1.5"),
        ({"baseline_reward": -1}, r"baseline_reward must be a number in \[0, 1\]"),
        ({"forgetting": Discount(0.9)}, "C4UCB does not forget"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        C4UCB(sphere()[0], **settings)


def test_what_it_cannot_learn_from() -> None:
    catalog, _ = sphere()
    policy = C4UCB(catalog)
    ranking = policy.rank(K)
    before = policy.state()
    with pytest.raises(FeedbackError, match="must be one that C4UCB made"):
        policy.update(ranking.replace(note=None), 0)
    with pytest.raises(ValueError, match="account"):
        policy.restore({name: array for name, array in before.items() if name != "account"})
    with pytest.raises(ValueError, match="nothing in it can be below 0"):
        policy.restore({**before, "account": np.array([-1.0, 0.0, 0.0])})
    with pytest.raises(CatalogError, match="names rows of one catalog"):
        policy.with_catalog(catalog)
    assert all(array.tobytes() == before[name].tobytes() for name, array in policy.state().items())
