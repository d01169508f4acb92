"""PDGD: probabilities, reweighting and gradient against enumeration of all lists; and that it learns."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, FeedbackError, ProblemError
from rankfall.experiments.simulation import simulate
from rankfall.kernels import pdgd as pairs
from rankfall.policies import POLICIES, Ranking, check_policy, make_policy
from rankfall.policies.pdgd import PDGD

Lists = tuple[int, ...]


def probability(scores: np.ndarray, order: Lists) -> float:
    """Plackett-Luce, as it is defined."""
    left, chance = list(range(len(scores))), 1.0
    for item in order:
        chance *= math.exp(scores[item]) / sum(math.exp(scores[a]) for a in left)
        left.remove(item)
    return chance


def exchanged(order: Lists, a: int, b: int) -> Lists:
    return tuple(b if item == a else a if item == b else item for item in order)


def rho(scores: np.ndarray, order: Lists, a: int, b: int) -> float:
    """``P(R*) / (P(R) + P(R*))``, as it is defined."""
    here, there = probability(scores, order), probability(scores, exchanged(order, a, b))
    return there / (here + there)


def preferences(order: Lists, clicked: set[int]) -> Iterator[tuple[int, int]]:
    """Clicked item, unclicked item; of those above a click, and the first unclicked one below the last click."""
    if clicked:
        seen = [p for p in range(len(order)) if p < max(clicked)] + [max(clicked) + 1]
        for c in clicked:
            for u in seen:
                if u < len(order) and u not in clicked:
                    yield order[c], order[u]


def answers(alpha: np.ndarray, order: Lists, model: str) -> Iterator[tuple[float, set[int]]]:
    """Every answer a user may give to a list, with its probability."""
    chances = [alpha[item] for item in order]
    if model == "cascade":
        none = 1.0
        for position, chance in enumerate(chances):
            yield none * chance, {position}
            none *= 1 - chance
        yield none, set()
        return
    examined = [1 / (1 + position) for position in range(len(order))]
    for pattern in itertools.product((False, True), repeat=len(order)):
        parts = [e * c if hit else 1 - e * c for e, c, hit in zip(examined, chances, pattern, strict=True)]
        yield math.prod(parts), {p for p, hit in enumerate(pattern) if hit}


def shown(policy: PDGD, order: Lists) -> Ranking:
    """The ranking the policy would have made, had it drawn this list."""
    scores = policy.scores
    others = np.delete(scores, list(order))
    rest = math.log(np.exp(others).sum()) if len(others) else -math.inf
    return Ranking(np.array(order), features=policy._features[list(order)], scores=scores[list(order)], note=rest)


def policy_with(scores: np.ndarray) -> PDGD:
    """One feature for each item: the scores are the weights, and the gradient is by item."""
    policy = PDGD(Catalog(relevance=np.eye(len(scores))))
    policy.restore({"n_updates": np.array(0), "weights": np.array(scores, dtype=np.float64)})
    return policy


some_scores = st.lists(st.floats(-4, 4), min_size=2, max_size=5).map(np.array)


# probabilities


@given(some_scores, st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_probabilities_are_those_of_the_definition_and_sum_to_one(scores: np.ndarray, k: int) -> None:
    k = min(k, len(scores))
    policy, total = policy_with(scores), 0.0
    for order in itertools.permutations(range(len(scores)), k):
        ranking = shown(policy, order)
        chance = math.exp(pairs.log_probability(ranking.scores, ranking.note))
        assert chance == pytest.approx(probability(scores, order))
        total += chance
    assert total == pytest.approx(1)


@given(some_scores, st.data())
@settings(max_examples=60, deadline=None)
def test_rho_is_that_of_the_exchanged_list(scores: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, len(scores)))
    order = tuple(data.draw(st.permutations(range(len(scores))))[:k])
    i, j = sorted(data.draw(st.permutations(range(k)))[:2])
    ranking = shown(policy_with(scores), order)
    left = pairs.left_over(ranking.scores, ranking.note)
    ours = pairs.logistic(pairs.log_ratio(ranking.scores, left, i, j))
    assert ours == pytest.approx(rho(scores, order, order[i], order[j]))


def test_far_apart_scores_neither_overflow_nor_cancel() -> None:
    scores = np.array([900.0, -900.0, 0.0])
    clicked, weights = np.array([False, True, False]), np.empty(3)
    assert pairs.gradient(scores, -math.inf, clicked, np.eye(3), np.empty(4), np.empty(3), weights)
    assert np.isfinite(weights).all()
    left = pairs.left_over(scores, -2000.0)
    # D_1 = e^-900 + e^0, with the first item in place of the second: e^900 + e^0
    assert pairs.log_ratio(scores, left, 0, 1) == pytest.approx(-900.0)


def test_lists_are_drawn_as_often_as_they_are_likely() -> None:
    scores = np.array([0.7, -0.4, 0.0, 1.2])
    policy, rng, draws = policy_with(scores), np.random.default_rng(0), 10_000
    counts: dict[Lists, int] = {}
    for _ in range(draws):
        order = tuple(policy.rank(2, rng=rng).items.tolist())
        counts[order] = counts.get(order, 0) + 1
    for order in itertools.permutations(range(4), 2):
        chance = probability(scores, order)
        assert abs(counts.get(order, 0) / draws - chance) < 5 * math.sqrt(chance * (1 - chance) / draws)


def test_long_catalogs_are_drawn_from_the_same_way() -> None:
    """Beyond some length the highest keys are found by partition; the list is the same."""
    policy = policy_with(np.random.default_rng(1).normal(size=60))
    keys = policy.scores + np.random.default_rng(7).gumbel(size=60)
    for k in (1, 3, 7, 8, 60):
        ranking = policy.rank(k, rng=np.random.default_rng(7))
        assert ranking.items.tolist() == np.argsort(-keys)[:k].tolist()
        others = np.delete(policy.scores, ranking.items)
        assert math.exp(ranking.note) == pytest.approx(np.exp(others).sum())


def test_among_candidates_the_rest_is_what_was_allowed() -> None:
    policy = policy_with(np.array([0.0, 1.0, 2.0, 3.0]))
    ranking = policy.rank(1, candidates=[1, 2, 3], exclude=[2])
    (other,) = {1, 3} - set(ranking.items.tolist())
    assert ranking.note == pytest.approx(float(other))


# the gradient


@pytest.mark.parametrize("clicked", [set(), {0}, {2}, {3}, {0, 2}, {1, 3}, {0, 1, 2, 3}])
def test_gradient_of_one_answer(clicked: set[int]) -> None:
    scores, order = np.array([0.3, -1.0, 0.8, 0.1, 0.5]), (4, 1, 0, 2)
    policy = policy_with(scores)
    expected = np.zeros(5)
    for c, u in preferences(order, clicked):
        s = 1 / (1 + math.exp(scores[u] - scores[c]))
        weight = rho(scores, order, c, u) * s * (1 - s)
        expected[c] += weight
        expected[u] -= weight
    assert policy.gradient(shown(policy, order), sorted(clicked)) == pytest.approx(expected)
    assert policy.gradient(shown(policy, order), sorted(clicked)).sum() == pytest.approx(0, abs=1e-12)


def test_gradient_is_of_features() -> None:
    features = np.random.default_rng(0).normal(size=(5, 3))
    policy = PDGD(Catalog(relevance=features), learning_rate=0.25)
    plain = policy_with(np.zeros(5))
    order = (3, 0, 2)
    by_item = plain.gradient(shown(plain, order), 1)
    assert policy.gradient(shown(policy, order), 1) == pytest.approx(by_item @ features)
    policy.update(shown(policy, order), 1)
    assert policy.weights == pytest.approx(0.25 * by_item @ features)
    assert policy.scores == pytest.approx(features @ policy.weights)


def pair_forces(policy: PDGD, alpha: np.ndarray, k: int, model: str) -> np.ndarray:
    """Expected weight of every pair (i, j) by enumerating lists and answers: how much i is raised above j."""
    scores, n = policy.scores, len(alpha)
    force = np.zeros((n, n))
    for order in itertools.permutations(range(n), k):
        for chance, clicked in answers(alpha, order, model):
            for c, u in preferences(order, clicked):
                s = 1 / (1 + math.exp(scores[u] - scores[c]))
                weight = probability(scores, order) * chance * rho(scores, order, c, u) * s * (1 - s)
                force[c, u] += weight
                force[u, c] -= weight
    return force


PROBLEMS = [
    (np.array([0.9, 0.2, 0.5, 0.5]), np.array([0.0, 0.0, 0.0, 0.0]), 3),
    (np.array([0.9, 0.2, 0.5, 0.5]), np.array([-1.0, 2.0, 1.5, -0.5]), 3),
    (np.array([0.4, 0.4, 0.7, 0.1]), np.array([2.0, -1.0, 0.3, 0.6]), 2),
    (np.array([0.3, 0.3, 0.6, 0.8]), np.array([1.5, 0.0, 0.5, -0.5]), 4),
]


@pytest.mark.parametrize("model", ["cascade", "position"])
@pytest.mark.parametrize(("alpha", "scores", "k"), PROBLEMS)
def test_expected_gradient_is_unbiased(alpha: np.ndarray, scores: np.ndarray, k: int, model: str) -> None:
    """The paper's theorem: each pair is moved in the direction of the user's preference; equals are not moved."""
    policy = policy_with(scores)
    force = pair_forces(policy, alpha, k, model)
    for i, j in itertools.combinations(range(len(alpha)), 2):
        if alpha[i] == alpha[j]:
            assert force[i, j] == pytest.approx(0, abs=1e-14)
        else:
            assert np.sign(force[i, j]) == np.sign(alpha[i] - alpha[j])
            assert abs(force[i, j]) > 1e-6
    ours = sum(
        probability(scores, order) * chance * policy.gradient(shown(policy, order), sorted(clicked))
        for order in itertools.permutations(range(len(alpha)), k)
        for chance, clicked in answers(alpha, order, model)
    )
    assert ours == pytest.approx(force.sum(axis=1))


def test_without_reweighting_equals_would_be_moved() -> None:
    """That the test above can fail: with rho = 1/2 the item shown higher by chance loses to the one below it."""
    alpha, scores, k = PROBLEMS[1]
    biased = 0.0
    for order in itertools.permutations(range(4), k):
        for chance, clicked in answers(alpha, order, "position"):
            for c, u in preferences(order, clicked):
                if {c, u} == {2, 3}:
                    biased += (1 if c == 2 else -1) * 0.5 * probability(scores, order) * chance
    assert abs(biased) > 1e-3


def test_drawn_lists_give_the_expected_gradient() -> None:
    alpha, scores, k = PROBLEMS[1]
    policy, rng, draws = policy_with(scores), np.random.default_rng(2), 8_000
    got = np.empty((draws, 4))
    for step in range(draws):
        ranking = policy.rank(k, rng=rng)
        clicked = np.flatnonzero(rng.random(k) < alpha[ranking.items] / np.arange(1, k + 1))
        got[step] = policy.gradient(ranking, clicked.tolist())
    expected = pair_forces(policy, alpha, k, "position").sum(axis=1)
    assert (np.abs(got.mean(axis=0) - expected) < 5 * got.std(axis=0) / math.sqrt(draws)).all()


# the policy


def catalog(n: int = 8, d: int = 3) -> Catalog:
    return Catalog(relevance=np.random.default_rng(0).normal(size=(n, d)))


def test_keeps_the_contract() -> None:
    check_policy(PDGD(catalog()))
    check_policy(PDGD(catalog(4)), k=3)
    check_policy(PDGD(Catalog(coverage=np.eye(5), relevance=np.ones((5, 1))), coverage=True))
    learned = PDGD(catalog(), learning_rate=5.0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        learned.update(learned.rank(4, rng=rng), 1)
    check_policy(learned)


def test_is_in_the_table() -> None:
    kind = POLICIES["PDGD"]
    assert isinstance(make_policy(kind, catalog(), k=4, steps=400), PDGD)
    assert kind(catalog(), learning_rate=0.5).settings.learning_rate == 0.5
    assert kind.needs == {"relevance"}


def test_coverage_is_used_if_asked() -> None:
    both = Catalog(coverage=np.eye(4), relevance=np.ones((4, 2)))
    assert len(PDGD(both).weights) == 2
    assert len(PDGD(both, coverage=True).weights) == 6


def test_order_of_late_answers_does_not_matter() -> None:
    policy = PDGD(catalog(), learning_rate=2.0)
    rng = np.random.default_rng(0)
    answered = [(policy.rank(4, rng=rng), int(rng.integers(4))) for _ in range(20)]
    twin = copy.deepcopy(policy)
    for ranking, click in answered:
        policy.update(ranking, click)
    for ranking, click in reversed(answered):
        twin.update(ranking, click)
    assert twin.weights == pytest.approx(policy.weights)
    assert np.abs(policy.weights).max() > 0.1


def test_no_click_teaches_nothing_and_all_clicks_neither() -> None:
    policy = PDGD(catalog())
    for click in (None, [], [0, 1, 2]):
        policy.update(policy.rank(3), click)
    assert not policy.weights.any()


@pytest.mark.parametrize(
    "strange",
    [
        Ranking([0, 1]),
        Ranking([0, 1], note=0.0),
        Ranking([0, 1], note=math.nan, features=np.zeros((2, 3)), scores=np.zeros(2)),
        Ranking([0, 1], note=0.0, features=np.zeros((2, 2)), scores=np.zeros(2)),
        Ranking([0, 1], note=0.0, features=np.zeros((2, 3)), scores=np.zeros(3)),
        Ranking([0, 1], note=0.0, features=np.full((2, 3), np.nan), scores=np.zeros(2)),
    ],
)
def test_refuses_rankings_of_others(strange: Ranking) -> None:
    policy = PDGD(catalog())
    with pytest.raises(FeedbackError):
        policy.update(strange, 0)
    assert not policy.weights.any()


def test_refuses_settings() -> None:
    with pytest.raises(ProblemError, match="learning_rate"):
        PDGD(catalog(), learning_rate=-1)
    with pytest.raises(CatalogError, match="needs relevance"):
        PDGD(Catalog(coverage=np.eye(3)))
    with pytest.raises(CatalogError, match="must be a Catalog"):
        PDGD(np.eye(3))  # type: ignore[arg-type]


class User:
    """Attraction given per item; clicks by the cascade, or by position: examined 1, 1/2, 1/3, ..."""

    def __init__(self, attraction: np.ndarray, model: str) -> None:
        self.attraction, self.model, self.n_items = attraction, model, len(attraction)

    def chances(self, items: np.ndarray) -> np.ndarray:
        alpha = self.attraction[items]
        return alpha if self.model == "cascade" else alpha / np.arange(1, len(items) + 1)

    def reward(self, items: np.ndarray) -> float:
        return float(1 - np.prod(1 - self.chances(items)))

    def click(self, items: np.ndarray, coins: np.ndarray) -> int | tuple[int, ...] | None:
        clicked = np.flatnonzero(coins < self.chances(items)).tolist()
        if self.model == "cascade":
            return clicked[0] if clicked else None
        return tuple(clicked)

    def best(self, k: int) -> np.ndarray:
        return np.argsort(-self.attraction, kind="stable")[:k]


@pytest.mark.parametrize("model", ["cascade", "position"])
def test_click_rate_improves(model: str) -> None:
    rng = np.random.default_rng(4)
    features = rng.normal(size=(50, 4))
    attraction = 0.4 / (1 + np.exp(-2 * features @ np.array([1.0, -1.0, 0.5, 0.0])))
    user, policy, steps = User(attraction, model), PDGD(Catalog(relevance=features)), 4000
    run = simulate(policy, user, steps, 4, checkpoints=[400, 800, 3600, 4000])
    early, late = run.clicks[0] / 400, (run.clicks[3] - run.clicks[2]) / 400
    best = user.reward(user.best(4))
    assert late > early + 0.3 * (best - early)
    learned = user.reward(np.argsort(-policy.scores)[:4])
    assert learned > 0.9 * best


def test_the_rate_falls_with_every_list_that_has_a_pair() -> None:
    """As the authors' public code has it: no click, or nothing unclicked among what was seen, leaves it as it is."""
    catalog = Catalog(relevance=np.random.default_rng(0).normal(size=(6, 3)))
    policy, steady = PDGD(catalog, decay=0.5), PDGD(catalog)
    rng, rate, expected = np.random.default_rng(1), 0.1, np.zeros(3)
    for click, has_pair in ((0, True), (None, False), ((0, 1, 2), False), ((1, 2), True), (2, True), ((0, 1), True)):
        ranking = policy.rank(3, rng=rng)
        expected = expected + rate * policy.gradient(ranking, click)
        policy.update(ranking, click)
        rate *= 0.5 if has_pair else 1.0
        assert policy.weights == pytest.approx(expected, abs=1e-12)
        assert float(policy.state()["rate"]) == pytest.approx(rate)
    assert float(copy.deepcopy(policy).state()["rate"]) == pytest.approx(rate)
    assert "rate" not in steady.state()
    check_policy(policy)


def test_a_rate_cannot_rise() -> None:
    with pytest.raises(ProblemError, match="decay must be a number"):
        PDGD(Catalog(relevance=[[1.0]]), decay=1.5)
