"""Exploration and feedback of the linear policies: three choices that compose."""

from pathlib import Path

import numpy as np
import pytest
from engines import FakeClock, arrays, make_model, open_engine
from general_loop import Stepwise
from linear_policies import LINEAR, varied
from one_by_one import one_by_one

from rankfall import CascadeHybrid, CascadeUser, Catalog, ProblemError, RankError, check_policy, generate, load
from rankfall.experiments.simulation import simulate
from rankfall.kernels import greedy
from rankfall.kernels.item_scores import items_of
from rankfall.kernels.item_vectors import vectors_of
from rankfall.kernels.linear_bounds import new_bounds
from rankfall.kernels.ridge import new_state
from rankfall.policies import LinearPolicy
from rankfall.users import Drifting

WORLD = generate(items=40, topics=6, features=4, users=3, seed=3)
CATALOG = WORLD.catalog
DRAWN = ("CascadeHybridTS", "CascadeLinTS", "CascadeLSBTS")
NEW = (*DRAWN, "CascadeHybridGreedy", "CascadeHybridEpsilon", "LSBGreedy")
EVERY_TS = [
    varied(name, exploration="thompson")
    for name in ("CascadeHybrid", "CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull")
]


def user(kind: type[CascadeUser] = CascadeUser, tradeoff: float = 0.5) -> CascadeUser:
    return kind(CATALOG.coverage, CATALOG.relevance, WORLD.theta[0], WORLD.beta[0], tradeoff)


def taught(name: str, steps: int = 60, **settings: float) -> LinearPolicy:
    policy = LINEAR[name](CATALOG, **settings)
    simulate(policy, user(), steps, 5, seed=1)
    return policy


@pytest.mark.parametrize("feedback", ["cascade", "last_click", "all"])
@pytest.mark.parametrize("name", NEW)
def test_contract(name: str, feedback: str) -> None:
    policy = LINEAR[name](CATALOG, feedback=feedback)
    check_policy(policy, 5)
    simulate(policy, user(), 30, 5)
    check_policy(policy, 5)


def test_drawn_weights_have_the_mean_and_covariance_of_the_posterior() -> None:
    policy, rng, n = taught("CascadeHybridTS", gamma=0.7), np.random.default_rng(0), 100_000
    drawn = np.array([policy.draw(rng) for _ in range(n)])
    expected = 0.49 * policy.covariance
    spread = np.sqrt(np.diag(expected))
    assert (np.abs(drawn.mean(axis=0) - policy.weights) < 5 * spread / np.sqrt(n)).all()
    # The variance of an entry of a sampled covariance is (s_ii s_jj + s_ij^2) / n.
    error = np.sqrt((np.outer(spread, spread) ** 2 + expected**2) / n)
    assert (np.abs(np.cov(drawn.T) - expected) < 5 * error).all()


def test_a_draw_is_the_textbook_one() -> None:
    policy = taught("CascadeHybridTS", gamma=0.7)
    normals = np.random.default_rng(4).standard_normal(len(policy.weights))
    upper = np.linalg.cholesky(policy.model.gram).T
    expected = policy.weights + 0.7 * np.linalg.solve(upper, normals)
    np.testing.assert_allclose(policy.draw(np.random.default_rng(4)), expected, rtol=1e-10)


@pytest.mark.parametrize("kind", EVERY_TS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("feedback", ["cascade", "last_click", "all"])
@pytest.mark.parametrize("gamma", [0.0, 0.3, 5.0])
def test_compiled_loop_equals_general_loop_equals_every_item_scored(
    kind: type[LinearPolicy], feedback: str, gamma: float
) -> None:
    fast, plain, general = (kind(CATALOG, gamma=gamma, feedback=feedback) for _ in range(3))
    plain.pruning = False
    runs = [
        simulate(policy, user(user_kind), 150, 7, seed=5)
        for policy, user_kind in ((fast, CascadeUser), (plain, CascadeUser), (general, Stepwise))
    ]
    for run, policy in zip(runs[1:], (plain, general), strict=True):
        assert run.regret.tobytes() == runs[0].regret.tobytes()
        assert run.covered.tobytes() == runs[0].covered.tobytes()
        assert policy.weights.tobytes() == fast.weights.tobytes()
        assert policy.covariance.tobytes() == fast.covariance.tobytes()


@pytest.mark.parametrize(
    "name", ["CascadeHybrid", "CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull"]
)
@pytest.mark.parametrize("feedback", ["cascade", "all"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_is_the_same_in_every_loop(name: str, feedback: str, epsilon: float) -> None:
    kind = varied(name, exploration="epsilon")
    fast, plain, general = (kind(CATALOG, feedback=feedback, epsilon=epsilon) for _ in range(3))
    plain.pruning = False
    runs = [
        simulate(policy, user(user_kind), 150, 7, seed=5)
        for policy, user_kind in ((fast, CascadeUser), (plain, CascadeUser), (general, Stepwise))
    ]
    for run, policy in zip(runs[1:], (plain, general), strict=True):
        for what in ("regret", "clicks", "touched", "covered"):
            assert getattr(run, what).tobytes() == getattr(runs[0], what).tobytes()
        for what, array in policy.state().items():
            assert array.tobytes() == fast.state()[what].tobytes()
    assert fast.scored == general.scored


def test_epsilon_draws_the_same_lists_from_users_who_change() -> None:
    """The compiled loop goes on with the stream where it was when the user became another."""
    policies = [LINEAR["CascadeHybridEpsilon"](CATALOG, epsilon=0.4) for _ in range(2)]
    runs = [
        simulate(policy, Drifting([(0, user(kind)), (37, user(kind, 0.9))]), 200, 5, seed=3, checkpoints=marks)
        for policy, kind, marks in zip(policies, (CascadeUser, Stepwise), ([200], range(1, 201)), strict=True)
    ]
    assert runs[0].regret[-1] == runs[1].regret[-1]
    assert policies[0].weights.tobytes() == policies[1].weights.tobytes()


@pytest.mark.parametrize("name", ["LSBGreedy", "CascadeHybridGreedy", "CascadeHybridEpsilon"])
def test_the_others_give_the_same_in_both_loops(name: str) -> None:
    fast, general = LINEAR[name](CATALOG), LINEAR[name](CATALOG)
    runs = [simulate(policy, user(kind), 300, 5, seed=5) for policy, kind in ((fast, CascadeUser), (general, Stepwise))]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    assert fast.weights.tobytes() == general.weights.tobytes()


def test_the_size_of_chunks_changes_nothing() -> None:
    coarse, fine = (
        simulate(LINEAR["CascadeHybridTS"](CATALOG), user(), 400, 5, seed=2, checkpoints=marks)
        for marks in ([400], range(1, 401))
    )
    assert coarse.regret[-1] == fine.regret[-1]


@pytest.mark.parametrize(("diminishing", "grows"), [(True, False), (False, False), (True, True), (False, True)])
def test_the_list_for_drawn_weights_is_the_one_of_every_item_scored(diminishing: bool, grows: bool) -> None:
    """Duplicates, items without topics, weights of both signs, and all of the items ranked."""
    rng = np.random.default_rng(7)
    for trial in range(60):
        d, m = int(rng.integers(0, 6)), int(rng.integers(1, 4))
        n = int(rng.integers(2, 90))
        x = np.round(rng.random((n, d)), 1) * (rng.random((n, d)) < 0.5)
        z = np.round(rng.normal(size=(n, m)), 1) * (trial % 3 > 0)
        items, state = items_of(x, z, diminishing, grows), new_state(d + m)
        state.weights[:] = np.round(rng.normal(size=d + m), 1)
        k = n if trial % 2 else min(n, 5)
        vectors = vectors_of(items, np.arange(n))
        out, means, widths, features = np.full(k, -1), np.empty(k), np.empty(k), np.empty((k, d + m))
        room, bounds = greedy.new_room(items, vectors, d + m, k), new_bounds(vectors)
        greedy.rank_in(room, items, vectors, out[:0], state, 0.0, bounds, out, features, means, widths)
        expected = one_by_one(items, state, 0.0, list(range(n)), {}, k)
        assert (out.tolist(), means.tolist(), widths.tolist()) == expected[:3]
        assert features.tobytes() == expected[3].tobytes()


@pytest.mark.parametrize("name", DRAWN)
def test_scores_are_of_the_draw_and_explanations_add_up(name: str) -> None:
    policy = taught(name)
    ranking = policy.rank(6, rng=np.random.default_rng(9))
    drawn = policy.draw(np.random.default_rng(9))
    np.testing.assert_allclose(ranking.scores, ranking.features @ drawn, atol=1e-12)
    np.testing.assert_allclose(ranking.means, ranking.features @ policy.weights, atol=1e-12)
    variance = np.diag(ranking.features @ policy.covariance @ ranking.features.T)
    np.testing.assert_allclose(ranking.widths, np.sqrt(variance), atol=1e-12)
    for why, score in zip(policy.explain(ranking), ranking.scores, strict=True):
        assert why.relevance + sum(why.coverage.values()) + why.bonus == pytest.approx(score)


def test_one_draw_makes_the_whole_list_whatever_may_be_shown() -> None:
    policy = taught("CascadeHybridTS")
    top = policy.rank(8, rng=np.random.default_rng(1)).items
    some = policy.rank(4, rng=np.random.default_rng(1), candidates=top).items
    assert some.tolist() == top[:4].tolist()
    pinned = policy.rank(4, rng=np.random.default_rng(1), fixed={1: int(top[7])}).items
    assert pinned[0] == top[0]
    assert pinned[1] == top[7]
    with pytest.raises(RankError, match=r"rng must be a numpy\.random\.Generator"):
        policy.rank(4, rng=7)  # type: ignore[arg-type]


def test_greedy_is_ucb_without_exploration() -> None:
    greedy_policy, without = LINEAR["CascadeHybridGreedy"](CATALOG, gamma=3.0), CascadeHybrid(CATALOG, gamma=0.0)
    runs = [simulate(policy, user(), 200, 5, seed=3) for policy in (greedy_policy, without)]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    ranking = greedy_policy.rank(3)
    assert ranking.scores.tolist() == ranking.means.tolist()


def test_epsilon_is_the_share_of_random_lists() -> None:
    policy, rng = taught("CascadeHybridEpsilon", epsilon=0.3), np.random.default_rng(0)
    best = CascadeHybrid(CATALOG, gamma=0.0).sharing(policy).rank(3).items.tolist()
    lists = [policy.rank(3, rng=rng).items.tolist() for _ in range(3000)]
    assert np.mean([shown == best for shown in lists]) == pytest.approx(0.7, abs=0.05)
    first = np.bincount([shown[0] for shown in lists if shown != best], minlength=40)
    assert first.max() < 3 * first.mean()  # any item as likely as any other
    assert first.min() > 0
    fixed = [policy.rank(3, rng=rng, fixed={1: 4}, exclude=[0]).items for _ in range(50)]
    assert all(shown[1] == 4 and 0 not in shown for shown in fixed)
    with pytest.raises(ProblemError, match="epsilon must be a number"):
        LINEAR["CascadeHybridEpsilon"](CATALOG, epsilon=1.5)


def test_unknown_exploration_or_feedback() -> None:
    with pytest.raises(ProblemError, match="exploration of CascadeHybridVaried is 'luck'; choose ucb, thompson"):
        varied("CascadeHybrid", exploration="luck")
    with pytest.raises(ProblemError, match="feedback must be one of cascade, last_click, all, got 'some'"):
        CascadeHybrid(CATALOG, feedback="some")


@pytest.mark.parametrize(
    ("feedback", "clicks", "rewards"),
    [
        ("cascade", [3, 1], [0, 1]),
        ("cascade", None, [0, 0, 0, 0, 0]),
        ("last_click", [3, 1], [0, 1, 0, 1]),
        ("last_click", 0, [1]),
        ("last_click", None, [0, 0, 0, 0, 0]),
        ("all", [3, 1], [0, 1, 0, 1, 0]),
        ("all", None, [0, 0, 0, 0, 0]),
    ],
)
def test_what_feedback_says(feedback: str, clicks: object, rewards: list[int]) -> None:
    policy = CascadeHybrid(CATALOG, feedback=feedback)
    ranking = policy.rank(5)
    policy.update(ranking, clicks)  # type: ignore[arg-type]
    seen = ranking.features[: len(rewards)]
    gram = np.eye(10) + seen.T @ seen
    np.testing.assert_allclose(policy.model.gram, gram, atol=1e-12)
    np.testing.assert_allclose(
        policy.weights, np.linalg.solve(gram, seen.T @ np.array(rewards, dtype=float)), atol=1e-12
    )


def test_everything_is_saved(tmp_path: Path) -> None:
    policy = LINEAR["CascadeHybridEpsilon"](CATALOG, gamma=0.5, epsilon=0.35, feedback="last_click")
    policy.update(policy.rank(3), [0, 2])
    policy.save(tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert (type(again), again.settings) == (type(policy), policy.settings)
    assert again.weights.tobytes() == policy.weights.tobytes()
    assert again.with_catalog(CATALOG).settings.epsilon == 0.35


@pytest.mark.parametrize("name", ["CascadeHybridTS", "CascadeLinTS", "CascadeLSBTS", "LSBGreedy"])
def test_regret_grows_slower_than_the_steps(name: str) -> None:
    """On users each can learn: of relevance, of coverage, or of both."""
    tradeoff = {"CascadeHybridTS": 0.5, "CascadeLinTS": 1.0}.get(name, 0.0)
    regret = np.zeros(2)
    for seed in range(4):
        policy = LINEAR[name](CATALOG, gamma=0.3)
        regret += simulate(policy, user(tradeoff=tradeoff), 10_000, 5, seed=seed, checkpoints=[1000, 10_000]).regret
    slope = np.log10(regret[1] / regret[0])
    assert slope < 0.8


@pytest.mark.parametrize("kind", EVERY_TS, ids=lambda kind: kind.__name__)
def test_features_that_do_not_fit_are_refused_before_anything_is_learned(kind: type[LinearPolicy]) -> None:
    if kind.relevance != "diminishing":
        return
    catalog = Catalog(coverage=[[0.1]] * 12, relevance=[[-99.0]] * 12)
    for user_kind in (CascadeUser, Stepwise):
        policy = kind(catalog)
        with pytest.raises(RankError, match="grow down the list"):
            simulate(policy, user_kind([[0.1]] * 12, [[0.1]] * 12, [0.5], [0.1]), 10, 10)
        assert policy.n_updates == 0


def feed(engine: object, event: object, *clicked: int) -> None:
    (fed,) = engine.feed_now((event.id, list(clicked)))  # type: ignore[attr-defined]
    assert fed.result == "accepted"


@pytest.mark.parametrize("policy", ["CascadeHybridTS", "CascadeHybridEpsilon", "LSBGreedy"])
def test_a_service_serves_learns_and_starts_again_bit_for_bit(tmp_path: Path, policy: str) -> None:
    clock = FakeClock()
    engine = open_engine(tmp_path / "data", clock)
    make_model(engine, policy=policy, gamma=0.5)
    shown = set()
    for step in range(30):
        clock.now += 1
        event = engine.rank_now(explain=True)
        shown.add(event.response[event.response.index("items") : event.response.index("model_version")])
        assert (event.propensity is None) == LINEAR[policy].randomised
        if step % 3:
            feed(engine, event, 1, 3)
        else:
            feed(engine, event)
    assert len(shown) > 1
    learned = arrays(engine)
    engine.crash()
    engine = open_engine(tmp_path / "data", clock)
    assert arrays(engine) == learned
    assert engine.view_now().policy.n_updates == 30
    engine.stop()


def test_a_service_draws_anew_for_every_list(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "data", FakeClock())
    make_model(engine, policy="CascadeHybridTS", gamma=1.0)
    scores = {engine.rank_now().response.split('"score":')[1].split(",")[0] for _ in range(10)}
    assert len(scores) == 10
    assert len({engine.rank_now(exclude=["i0"]).response.split('"score":')[1].split(",")[0] for _ in range(10)}) == 10
    engine.stop()


def test_a_service_learns_by_the_feedback_of_the_policy(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "data", FakeClock())
    make_model(engine, policy="LSBGreedy")
    event = engine.rank_now()
    feed(engine, event, 1, 3)
    features = np.frombuffer(event.features).reshape(3, 2)
    np.testing.assert_allclose(engine.view_now().policy.state()["moment"], features[0] + features[2])
    np.testing.assert_allclose(engine.view_now().policy.state()["gram"], np.eye(2) + features.T @ features)
    engine.stop()


def test_lists_drawn_uniformly_have_a_propensity_under_thompson_sampling(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "data", FakeClock())
    make_model(engine, policy="CascadeHybridTS", randomize=0.5)
    said = [engine.rank_now().propensity for _ in range(60)]
    np.testing.assert_allclose([p for p in said if p is not None], 1 / (8 * 7 * 6))
    assert 10 < sum(p is None for p in said) < 50
    engine.stop()
