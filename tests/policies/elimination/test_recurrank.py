"""RecurRank: its designs against Kiefer and Wolfowitz, its blocks as invariants, its regret on simulated users."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
from clickers import PositionBased
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall.catalog import Catalog
from rankfall.data import on_sphere as made_up
from rankfall.errors import CatalogError, FeedbackError, ProblemError
from rankfall.experiments.simulation import simulate
from rankfall.policies import POLICIES, Ranking, check_policy, make_policy
from rankfall.policies.elimination.g_optimal import g_optimal, in_span
from rankfall.policies.elimination.recurrank import Block, RecurRank, split


def on_sphere(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Features as in the paper's experiments: a point of the sphere and a constant, so that products are in [0, 1]."""
    points = rng.normal(size=(n, d - 1))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.hstack([points, np.ones((n, 1))]) / math.sqrt(2)


class LinearUser:
    """Attraction given per item; clicks by the cascade (the first) or by position (any, examined 1, 1/2, 1/3, ...)."""

    def __init__(self, attraction: np.ndarray, model: str) -> None:
        self.attraction, self.model, self.n_items = attraction, model, len(attraction)

    def chances(self, items: np.ndarray) -> list[float]:
        alpha = self.attraction[items].tolist()
        return alpha if self.model == "cascade" else [a / (1 + i) for i, a in enumerate(alpha)]

    def reward(self, items: np.ndarray) -> float:
        chances = self.chances(items)
        return 1 - math.prod(1 - a for a in chances) if self.model == "cascade" else sum(chances)

    def click(self, items: np.ndarray, coins: np.ndarray) -> int | tuple[int, ...] | None:
        clicked = [i for i, chance in enumerate(self.chances(items)) if coins[i] < chance]
        if self.model == "cascade":
            return clicked[0] if clicked else None
        return tuple(clicked)

    def best(self, k: int) -> np.ndarray:
        return np.argsort(-self.attraction, kind="stable")[:k]


def spread_of(features: np.ndarray, shares: np.ndarray) -> float:
    V = features.T @ (shares[:, None] * features)
    return float(np.einsum("ij,jk,ik->i", features, np.linalg.pinv(V, rcond=1e-10, hermitian=True), features).max())


def play(policy: RecurRank, user: LinearUser, steps: int, k: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        shown = policy.rank(k, rng=rng)
        policy.update(shown, user.click(shown.items, rng.random(k)))


# designs

matrices = st.builds(
    lambda n, d, rank, seed: (
        np.random.default_rng(seed).normal(size=(n, min(rank, d)))
        @ np.random.default_rng(seed + 1).normal(size=(min(rank, d), d))
    ),
    st.integers(1, 30),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 10_000),
)


@given(matrices, st.sampled_from([0.3, 0.01, 1e-5]))
@settings(max_examples=80, deadline=None)
def test_design_reaches_the_bound_of_kiefer_and_wolfowitz(features: np.ndarray, tolerance: float) -> None:
    design = g_optimal(features, tolerance)
    rank = np.linalg.matrix_rank(features)
    shares = np.zeros(len(features))
    shares[design.rows] = design.shares
    assert design.rank == rank
    assert (design.shares > 0).all()
    assert shares.sum() == pytest.approx(1)
    assert design.spread == pytest.approx(spread_of(features, shares), rel=1e-6)
    assert rank * (1 - 1e-9) <= design.spread <= rank * (1 + tolerance)


def test_at_the_optimum_every_row_in_use_has_the_same_spread() -> None:
    features = np.random.default_rng(3).normal(size=(40, 4))
    design = g_optimal(features, 1e-9)
    used = features[design.rows]
    V = used.T @ (design.shares[:, None] * used)
    assert np.einsum("ij,jk,ik->i", used, np.linalg.inv(V), used) == pytest.approx(4.0, rel=1e-4)
    assert len(design.rows) <= 4 * 5 // 2


@pytest.mark.parametrize("seed", range(6))
def test_no_design_on_a_grid_is_better(seed: int) -> None:
    features = np.random.default_rng(seed).normal(size=(4, 2))
    n = 24
    grid = [np.diff((-1, *cut, n + 3)) - 1 for cut in itertools.combinations(range(n + 3), 3)]
    best = min(spread_of(features, shares / n) for shares in grid if np.linalg.matrix_rank(features[shares > 0]) == 2)
    design = g_optimal(features, 1e-6)
    assert design.spread <= best + 1e-6
    assert best == pytest.approx(2.0, rel=0.1)  # the grid comes near, so the comparison means something


def test_design_of_nothing_and_of_one() -> None:
    assert g_optimal(np.zeros((3, 2))).rank == 0
    alone = g_optimal(np.array([[0.0, 2.0]]))
    assert alone.rows.tolist() == [0]
    assert alone.spread == pytest.approx(1)


def test_design_of_many_items_is_small() -> None:
    features = on_sphere(5000, 5, np.random.default_rng(0))
    design = g_optimal(features)
    assert design.spread <= 5.05
    assert len(design.rows) < 40


def test_span_keeps_products() -> None:
    features = np.random.default_rng(0).normal(size=(7, 2)) @ np.random.default_rng(1).normal(size=(2, 5))
    inside = in_span(features)
    assert inside.shape == (7, 2)
    assert inside @ inside.T == pytest.approx(features @ features.T)


# splitting


@given(st.data())
@settings(deadline=None)
def test_split_keeps_order_positions_and_what_is_near(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    m = data.draw(st.integers(1, n))
    phase = data.draw(st.integers(1, 4))
    estimates = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n)))
    items = np.array(data.draw(st.permutations(range(20)))[:n])
    block = Block(5, m, phase, items)
    parts = split(block, estimates)
    value = dict(zip(items.tolist(), estimates.tolist(), strict=True))
    gap = 2 * 2.0**-phase
    kept = [a for part in parts for a in part.items.tolist()]
    ordered = sorted(value.values(), reverse=True)
    assert [value[a] for a in kept] == ordered[: len(kept)]
    assert all(ordered[m - 1] - value[a] >= gap for a in value if a not in kept)
    assert all(ordered[m - 1] - value[a] < gap for a in kept)
    assert parts[0].first == 5
    assert sum(part.positions for part in parts) == m
    for part, after in itertools.pairwise(parts):
        assert part.first + part.positions == after.first
        assert len(part.items) == part.positions
        assert value[part.items[-1]] - value[after.items[0]] >= gap
    for part in parts:
        assert part.phase == phase + 1
        assert len(part.items) >= part.positions >= 1
        inside = [value[a] for a in part.items.tolist()[: part.positions]]
        assert all(a - b < gap for a, b in itertools.pairwise(inside))


@given(st.data())
@settings(deadline=None)
def test_split_below_a_gap_drops_what_no_chain_of_near_neighbours_leads_to(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    m = data.draw(st.integers(1, n))
    phase = data.draw(st.integers(1, 4))
    estimates = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n)))
    parts = split(Block(0, m, phase, np.arange(n)), estimates, "below_gap")
    gap, ordered = 2 * 2.0**-phase, sorted(estimates.tolist(), reverse=True)
    kept = m
    while kept < n and ordered[kept - 1] - ordered[kept] < gap:
        kept += 1
    assert [estimates[a] for part in parts for a in part.items.tolist()] == ordered[:kept]
    fewer = split(Block(0, m, phase, np.arange(n)), estimates, "below_last")
    assert sum(len(part.items) for part in fewer) <= kept
    assert [part.positions for part in fewer] == [part.positions for part in parts]


def test_both_rules_end_with_the_best_list_where_items_are_far_apart() -> None:
    features = np.eye(4)
    for drops in ("below_last", "below_gap"):
        policy = RecurRank(Catalog(relevance=features), k=2, steps=20_000, drops=drops)
        user = PositionBased(np.array([0.05, 0.9, 0.3, 0.6]), [1.0, 0.8])
        simulate(policy, user, 20_000, 2, seed=3)
        assert policy.rank(2, rng=np.random.default_rng(0)).items.tolist() == [1, 3]


def valid(policy: RecurRank) -> None:
    blocks = policy.blocks
    assert blocks[0].first == 0
    assert sum(block.positions for block in blocks) == policy.k
    for block, after in itertools.pairwise(blocks):
        assert block.first + block.positions == after.first
        assert len(block.items) == block.positions  # only the last one has items to spare
    items = np.concatenate([block.items for block in blocks])
    assert len(set(items.tolist())) == len(items)
    assert all(len(block.items) >= block.positions >= 1 for block in blocks)


@given(st.integers(0, 1000), st.data())
@settings(max_examples=25, deadline=None)
def test_blocks_stay_valid_whatever_is_clicked_and_however_late(seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    n, k = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 4))
    k = min(k, n)
    features = rng.normal(size=(n, data.draw(st.integers(1, 3)))).round(data.draw(st.integers(0, 2)))
    policy = RecurRank(Catalog(relevance=features), k=k, steps=10, effort=0.05)
    waiting: list[Ranking] = []
    for _ in range(150):
        length = int(rng.integers(1, n + 1))
        barred = rng.permutation(n)[: rng.integers(0, n - length + 1)] if rng.random() < 0.3 else None
        waiting.append(policy.rank(length, rng=rng, exclude=barred))
        assert len(set(waiting[-1].items.tolist())) == length
        if rng.random() < 0.7:
            answered = waiting.pop(int(rng.integers(len(waiting))))
            policy.update(answered, np.flatnonzero(rng.random(len(answered)) < 0.4).tolist())
        valid(policy)


# the policy


def catalog(n: int = 12, d: int = 3, seed: int = 0) -> Catalog:
    return Catalog(relevance=on_sphere(n, d, np.random.default_rng(seed)))


def test_keeps_the_contract() -> None:
    check_policy(RecurRank(catalog(), k=3))
    check_policy(RecurRank(catalog(), k=5), k=3)
    check_policy(RecurRank(catalog(), k=2), k=4)
    check_policy(RecurRank(Catalog(relevance=np.eye(6)), k=6, delta=0.5))
    check_policy(RecurRank(Catalog(relevance=np.zeros((6, 2))), k=3))
    check_policy(RecurRank(Catalog(coverage=np.eye(6)), k=3, coverage=True))


def test_keeps_the_contract_once_it_has_split() -> None:
    policy = RecurRank(Catalog(relevance=np.eye(6)), k=3, steps=100)
    play(policy, LinearUser(np.array([1.0, 0.0, 0.6, 0.0, 0.2, 0.0]), "position"), 4000, 3)
    assert len(policy.blocks) > 1
    check_policy(policy)
    check_policy(policy, k=2)
    check_policy(policy, k=5)


def test_is_in_the_table() -> None:
    kind = POLICIES["RecurRank"]
    made = make_policy(kind, catalog(), k=4, steps=400)
    assert isinstance(made, RecurRank)
    assert made.k == 4
    assert made.delta == pytest.approx(0.05)
    assert kind.needs == {"relevance"}


def test_trials_are_those_of_the_paper() -> None:
    """Orthogonal items: the design is uniform, and T(a) = ceil(d / L / (2 Delta^2) log(L K l (l + 1) / delta))."""
    policy = RecurRank(Catalog(relevance=np.eye(6)), k=2, delta=0.1)
    trials = policy.state()["trials"]
    assert trials[:, 0].tolist() == list(range(6))
    assert set(trials[:, 1].tolist()) == {math.ceil(4 / 2 * math.log(6 * 2 * 1 * 2 / 0.1))}


def test_with_prompt_answers_every_item_is_tried_as_often_as_wanted() -> None:
    policy = RecurRank(Catalog(relevance=np.eye(4)), k=2, delta=0.1)
    wanted = {a: n for a, n, _, _ in policy.state()["trials"].tolist()}
    counts = dict.fromkeys(range(4), 0)
    rng = np.random.default_rng(0)
    for _ in range(sum(wanted.values())):
        assert policy.blocks[0].phase == 1
        shown = policy.rank(2, rng=rng)
        counts[int(shown.items[0])] += 1
        policy.update(shown, None)
    assert counts == wanted
    assert policy.blocks[0].phase == 2


def test_below_the_first_position_a_block_shows_its_best() -> None:
    policy = RecurRank(catalog(), k=4)
    for seed in range(20):
        items = policy.rank(4, rng=np.random.default_rng(seed)).items.tolist()
        assert items[1:] == [a for a in range(5) if a != items[0]][:3]


def test_estimates_are_least_squares_on_the_first_position() -> None:
    rng = np.random.default_rng(1)
    features = on_sphere(8, 3, rng)
    policy = RecurRank(Catalog(relevance=features), k=3, delta=0.9)
    X, y = [], []
    while policy.blocks[0].phase == 1:
        shown = policy.rank(3, rng=rng)
        clicks = np.flatnonzero(rng.random(3) < 0.5).tolist()
        X.append(features[shown.items[0]])
        y.append(float(0 in clicks))
        policy.update(shown, clicks)
    theta, *_ = np.linalg.lstsq(np.array(X), np.array(y), rcond=None)
    expected = split(Block(0, 3, 1, np.arange(8)), features @ theta)
    assert [(b.first, b.positions, b.items.tolist()) for b in policy.blocks] == [
        (b.first, b.positions, b.items.tolist()) for b in expected
    ]


def test_answers_to_a_phase_that_is_over_are_ignored() -> None:
    policy = RecurRank(Catalog(relevance=np.eye(4)), k=2, delta=0.5)
    old = policy.rank(2)
    rng = np.random.default_rng(0)
    while policy.blocks[0].phase == 1:
        policy.update(policy.rank(2, rng=rng), None)
    before = {name: array.tolist() for name, array in policy.state().items()}
    policy.update(old, 0)
    before["n_updates"] += 1
    assert {name: array.tolist() for name, array in policy.state().items()} == before


def test_a_block_that_stands_elsewhere_than_it_should_is_not_counted() -> None:
    policy = RecurRank(Catalog(relevance=np.eye(6)), k=3, steps=100)
    play(policy, LinearUser(np.array([1.0, 0.0, 0.6, 0.0, 0.2, 0.0]), "position"), 4000, 3)
    first, second = policy.blocks[:2]
    assert first.items.tolist() == [0]
    assert policy.rank(3).note
    assert second.first == 1
    assert not policy.rank(3, exclude=[0]).note


def test_one_item_rests() -> None:
    policy = RecurRank(Catalog(relevance=[[1.0]]), k=1)
    for _ in range(3):
        policy.update(policy.rank(1), 0)
    assert policy.blocks[0].phase == 1


@pytest.mark.parametrize("note", [None, 3, (1, 1), ("a",), ([1],), (99,), (0,)])
def test_refuses_rankings_of_others(note: object) -> None:
    with pytest.raises(FeedbackError):
        RecurRank(catalog(), k=3).update(Ranking([0, 1, 2], note=note), 0)


def test_refuses_an_item_the_block_did_not_want() -> None:
    policy = RecurRank(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]), k=2)
    with pytest.raises(FeedbackError, match="row 2"):
        policy.update(Ranking([2, 0], note=policy.rank(2).note), 0)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": 13}, {"delta": 0}, {"effort": -1}, {"steps": 0}, {"tolerance": 0}])
def test_refuses_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(ProblemError):
        RecurRank(catalog(), **{"k": 2, **wrong})  # type: ignore[arg-type]


def test_refuses_catalogs_without_features() -> None:
    with pytest.raises(CatalogError, match="needs relevance"):
        RecurRank(Catalog(coverage=np.eye(3)), k=1)
    with pytest.raises(CatalogError, match="scale features"):
        RecurRank(Catalog(relevance=[[1e4], [1.0]]), k=1)


def test_a_copy_learns_on_its_own() -> None:
    policy = RecurRank(catalog(), k=3)
    twin = copy.deepcopy(policy)
    twin.update(twin.rank(3), 0)
    assert policy.state()["trials"][:, 2].sum() == 0
    assert twin.state()["trials"][:, 2].sum() == 1


@pytest.mark.parametrize("model", ["cascade", "position"])
def test_regret_is_sublinear(model: str) -> None:
    """Slope of log regret over log steps in the last decade; the user is linear, the click model unknown."""
    steps, marks = 30_000, np.unique(np.geomspace(3000, 30_000, 11).astype(int))
    slopes = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        features = on_sphere(20, 3, rng)
        attraction = 0.5 * features @ on_sphere(1, 3, rng)[0]
        policy = RecurRank(Catalog(relevance=features), k=3, steps=steps)
        run = simulate(policy, LinearUser(attraction, model), steps, 3, seed=seed, checkpoints=marks)
        slopes.append(np.polyfit(np.log(marks), np.log(run.regret), 1)[0])
        valid(policy)
    assert max(slopes) < 0.8, slopes


def test_finds_the_best_under_both_models() -> None:
    attraction = np.array([0.1, 0.9, 0.1, 0.5, 0.1, 0.1])
    for model in ("cascade", "position"):
        policy = RecurRank(Catalog(relevance=np.eye(6)), k=2, steps=1000)
        play(policy, LinearUser(attraction, model), 8000, 2)
        assert policy.blocks[0].items.tolist() == [1]
        assert policy.rank(2).items.tolist()[0] == 1


def test_made_up_users_are_linear_from_0_to_1() -> None:
    world = made_up(items=400, features=4, seed=3, appeal=0.5)
    attraction = world.catalog.relevance @ world.beta[0]
    assert np.linalg.norm(world.catalog.relevance, axis=1) == pytest.approx(1)
    assert attraction.min() >= 0
    assert 0.4 < attraction.max() <= 0.5
    assert (made_up(items=5, seed=1).catalog.relevance == made_up(items=5, seed=1).catalog.relevance).all()
    with pytest.raises(ProblemError, match="features"):
        made_up(features=1)
