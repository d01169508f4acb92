"""Simulations of many users: compiled loops against the general one, and against those of a single user."""

from collections.abc import Callable

import numpy as np
import pytest
from general_loop import Stepwise

from rankfall import (
    POLICIES,
    AcrossUsers,
    CascadeHybrid,
    CascadeUser,
    ClusteredUsers,
    Discount,
    IndependentUsers,
    LinearPolicy,
    ManyUsers,
    ProblemError,
    Segments,
    SharedModel,
    UsersRun,
    generate,
    simulate,
    simulate_users,
)
from rankfall.experiments.many_users import simulation
from rankfall.experiments.many_users.arrivals import coming_and_going, heavy_tailed, uniform

WAYS: dict[str, Callable[[LinearPolicy], ManyUsers]] = {
    "across": lambda policy: AcrossUsers(policy, first=20),
    "independent": IndependentUsers,
    "shared": SharedModel,
    "segments": lambda policy: Segments(policy, lambda user: user % 3),  # type: ignore[operator]
    "clusters": lambda policy: ClusteredUsers(policy, range(8), alpha=0.6, edges=0.8),
}
WORLD = generate(items=40, topics=5, features=3, users=8, seed=2)


def users(kind: type[CascadeUser] = CascadeUser) -> list[CascadeUser]:
    x, z = WORLD.catalog.coverage, WORLD.catalog.relevance
    return [kind(x, z, theta, 2.0 * beta, 0.5) for theta, beta in zip(WORLD.theta, WORLD.beta, strict=True)]


def same(one: UsersRun, other: UsersRun) -> None:
    assert one.clicked.tolist() == other.clicked.tolist()
    np.testing.assert_allclose(one.regret, other.regret, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["CascadeHybrid", "CascadeHybridTS", "CascadeHybridEpsilon", "LSBGreedy"])
@pytest.mark.parametrize("way", WAYS)
def test_compiled_loops_are_the_general_loop(way: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = POLICIES[name](WORLD.catalog)
    assert isinstance(policy, LinearPolicy)
    arrivals = heavy_tailed(8, 300, seed=3)
    fast, slow = WAYS[way](policy), WAYS[way](policy)
    monkeypatch.setattr(simulation, "_BLOCK", 70)
    one = simulate_users(fast, users(), arrivals, k=4, seed=5)
    other = simulate_users(slow, users(Stepwise), arrivals, k=4, seed=5)
    same(one, other)
    for user in range(8):
        mine, theirs = fast.model_for(user).state(), slow.model_for(user).state()
        for array, values in mine.items():
            assert values.tobytes() == theirs[array].tobytes(), (user, array)


def test_clusters_do_split_in_that_test() -> None:
    many = WAYS["clusters"](CascadeHybrid(WORLD.catalog))
    assert isinstance(many, ClusteredUsers)
    before = len(set(many.clusters.values()))
    simulate_users(many, users(), heavy_tailed(8, 300, seed=3), k=4, seed=5)
    assert len(set(many.clusters.values())) > before + 1


def test_compiled_loops_are_taken_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the general loop")

    monkeypatch.setattr(simulation, "_play_stepwise", never)
    for make in WAYS.values():
        simulate_users(make(CascadeHybrid(WORLD.catalog)), users(), [0, 1, 2, 0], k=3)
    slow = [
        (IndependentUsers(CascadeHybrid(WORLD.catalog)), users(Stepwise)),
        (IndependentUsers(CascadeHybrid(WORLD.catalog, forgetting=Discount(0.9))), users()),
        (IndependentUsers(CascadeHybrid(WORLD.catalog, feedback="last_click")), users()),
        (ClusteredUsers(CascadeHybrid(WORLD.catalog), [*range(7, -1, -1)]), users()),
    ]
    for many, crowd in slow:
        with pytest.raises(AssertionError, match="the general loop"):
            simulate_users(many, crowd, [0, 1, 2, 0], k=3)


def test_one_user_is_a_simulation_of_that_user() -> None:
    run = simulate_users(IndependentUsers(CascadeHybrid(WORLD.catalog)), users(), np.full(500, 3), k=4, seed=7)
    alone = simulate(CascadeHybrid(WORLD.catalog), users()[3], steps=500, k=4, seed=7, checkpoints=[10, 500])
    assert run.clicked.sum() == alone.clicks[-1]
    assert run.total == pytest.approx(alone.regret[-1], abs=1e-9)
    assert run.by_user(10)[3] == pytest.approx(alone.regret[0], abs=1e-9)
    assert np.isnan(run.by_user()[:3]).all()


def test_workers_and_seeds() -> None:
    arrivals = uniform(8, 400, seed=1)
    runs = [
        simulate_users(AcrossUsers(CascadeHybrid(WORLD.catalog)), users(), arrivals, k=4, seed=seed, workers=workers)
        for seed, workers in ((1, 1), (1, 3), (2, 1))
    ]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    assert runs[0].regret.tobytes() != runs[2].regret.tobytes()


def test_a_new_user_gains_from_those_before() -> None:
    """What it is for: 40 users one after the other, with tastes in common; and as good as nothing lost without."""
    rng = np.random.default_rng(11)
    x, z = WORLD.catalog.coverage, WORLD.catalog.relevance
    common = rng.dirichlet(np.full(5, 20.0), size=40), np.array([0.2, 0.1, 0.0]) + 0.03 * rng.normal(size=(40, 3))
    crowd = [CascadeUser(x, z, theta, beta, 0.5) for theta, beta in zip(*common, strict=True)]
    arrivals = np.repeat(np.arange(40), 60)
    alone, across = (
        simulate_users(make(CascadeHybrid(WORLD.catalog)), crowd, arrivals, k=4, seed=1)
        for make in (IndependentUsers, AcrossUsers)
    )
    assert across.by_user()[20:].mean() < 0.6 * alone.by_user()[20:].mean()


def test_streams() -> None:
    even, heavy, going = (
        uniform(20, 4000, seed=1),
        heavy_tailed(20, 4000, seed=1),
        coming_and_going(20, 4000, present=5),
    )
    assert np.bincount(even).min() > 140
    counts = np.sort(np.bincount(heavy, minlength=20))[::-1]
    expected = 4000 / np.arange(1, 21) / (1 / np.arange(1, 21)).sum()
    assert np.abs(counts - expected).max() < 4 * np.sqrt(expected.max())
    first, last = (np.array([np.flatnonzero(going == user)[end] for user in range(20)]) for end in (0, -1))
    assert (np.diff(first) > -200).all()
    assert (last - first < 5 * 260).all()
    assert sorted(set(going.tolist())) == list(range(20))
    for stream in (even, heavy, going):
        assert stream.dtype == np.int64


def test_regret_by_lists_and_by_user() -> None:
    arrivals = heavy_tailed(8, 200, seed=4)
    run = simulate_users(SharedModel(CascadeHybrid(WORLD.catalog)), users(), arrivals, k=4)
    seen: dict[int, list[float]] = {user: [] for user in range(8)}
    for user, regret in zip(arrivals.tolist(), run.regret.tolist(), strict=True):
        seen[user].append(regret)
    for user, regrets in seen.items():
        assert run.by_user()[user] == pytest.approx(sum(regrets))
        expected = sum(regrets[:10]) if len(regrets) >= 10 else np.nan
        assert run.by_user(10)[user] == pytest.approx(expected, nan_ok=True)
    third = [regrets[2] for regrets in seen.values() if len(regrets) > 2]
    assert run.by_lists(5)[2] == pytest.approx(np.mean(third))
    assert run.total == pytest.approx(run.regret.sum())


def test_what_makes_no_sense_is_refused() -> None:
    many = SharedModel(CascadeHybrid(WORLD.catalog))
    for arrivals in ([], [0.5], [[0]], ["a"]):
        with pytest.raises(ProblemError, match="arrivals"):
            simulate_users(many, users(), arrivals, k=3)
    with pytest.raises(ProblemError, match="users from 0 to 7"):
        simulate_users(many, users(), [8], k=3)
    with pytest.raises(ProblemError, match="k must be"):
        simulate_users(many, users(), [0], k=41)
    stranger = CascadeUser([[0.5]], [[1.0]], [1.0], [0.1], 0.5)
    with pytest.raises(ProblemError, match="a user knows 1"):
        simulate_users(many, [stranger], [0], k=1)


def test_policies_are_told_of_the_context_of_each_user() -> None:
    world = generate(items=20, users=2, seed=1)
    x, z = world.catalog.coverage, world.catalog.relevance
    people = [CascadeUser(x, z, theta, beta, 0.5) for theta, beta in zip(world.theta, world.beta, strict=True)]
    contexts = [{"device": "tv", "hour": 3}, {"device": "phone", "hour": 4}]
    declared = {"device": {"kind": "category", "levels": ["tv", "phone"]}}
    policy = SharedModel(CascadeHybrid(world.catalog, context=declared))
    arrivals = [0, 1, 1, 0, 1]
    run = simulation.simulate_users(policy, people, arrivals, 3, seed=2, contexts=contexts)
    by_hand = CascadeHybrid(world.catalog, context=declared)
    coins = simulation.streams(2)[0].random((5, 3))
    for number, flips, regret in zip(arrivals, coins, run.regret, strict=True):
        ranking = by_hand.rank(3, context={"device": contexts[number]["device"]})
        user = people[number]
        assert regret == pytest.approx(user.reward(user.best(3)) - user.reward(ranking.items))
        by_hand.update(ranking, user.click(ranking.items, flips))
    with pytest.raises(ProblemError, match="contexts are 1, and users 2; one for each"):
        simulation.simulate_users(policy, people, arrivals, 3, contexts=contexts[:1])
