"""C2UCB against its definition."""

import copy

import numpy as np
import pytest

from rankfall import Catalog, CatalogError, FeedbackError, ProblemError, Ranking, check_policy, generate, simulate
from rankfall.policies import make_policy
from rankfall.policies.c2ucb import C2UCB

CATALOG = generate(items=30, topics=5, features=3, seed=3).catalog
X = np.hstack([CATALOG.coverage, CATALOG.relevance])


class Ratings:
    """Looks at every item of a list and clicks all that please; what counts is how many, and how unlike they are."""

    n_items = len(X)

    def __init__(self, diversity: float, sigma: float) -> None:
        rng = np.random.default_rng(2)
        self.pleases = np.clip(X @ rng.uniform(0, 0.5, X.shape[1]), 0, 1)
        self.diversity, self.sigma = diversity, sigma

    def reward(self, items: np.ndarray) -> float:
        return float(self.pleases[items].sum() + self.diversity * entropy(items, self.sigma))

    def click(self, items: np.ndarray, coins: np.ndarray) -> tuple[int, ...]:
        return tuple(np.flatnonzero(coins < self.pleases[items]).tolist())

    def best(self, k: int) -> np.ndarray:
        return np.array(by_definition(self.pleases, k, self.diversity, self.sigma))


def entropy(rows: object, sigma: float) -> float:
    x = X[np.asarray(rows, dtype=int)]
    return 0.5 * float(np.linalg.slogdet(x @ x.T + sigma**2 * np.eye(len(x)))[1])


def by_definition(scores: np.ndarray, k: int, diversity: float, sigma: float) -> list[int]:
    shown: list[int] = []
    for _ in range(k):
        gain = [
            -np.inf if a in shown else scores[a] + diversity * (entropy([*shown, a], sigma) - entropy(shown, sigma))
            for a in range(len(X))
        ]
        shown.append(int(np.argmax(np.round(gain, 9))))
    return shown


def test_contract() -> None:
    policy = make_policy("C2UCB", CATALOG, k=4, steps=100, gamma=0.5)
    check_policy(policy, 4)
    policy.update(policy.rank(4), [0, 2])
    check_policy(policy, 4)


@pytest.mark.parametrize("diversity", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_lists_are_those_of_the_definition(diversity: float, sigma: float) -> None:
    policy, gram, moment = C2UCB(CATALOG, gamma=0.5, diversity=diversity, sigma=sigma), np.eye(8), np.zeros(8)
    rng = np.random.default_rng(1)
    for _ in range(8):
        inverse = np.linalg.inv(gram)
        scores = X @ inverse @ moment + 0.5 * np.sqrt(np.einsum("ij,jk,ik->i", X, inverse, X))
        ranking = policy.rank(6)
        assert ranking.items.tolist() == by_definition(scores, 6, diversity, sigma)
        clicks = np.flatnonzero(rng.random(6) < 0.3)
        policy.update(ranking, clicks)
        gram += X[ranking.items].T @ X[ranking.items]
        moment += X[ranking.items[clicks]].sum(axis=0)
    np.testing.assert_allclose(policy.weights, np.linalg.solve(gram, moment), atol=1e-10)


def test_regret_grows_slower_than_the_steps() -> None:
    regret = np.zeros(2)
    for seed in range(3):
        policy = C2UCB(CATALOG, gamma=0.5, diversity=0.1, sigma=0.5)
        regret += simulate(policy, Ratings(0.1, 0.5), 5000, 4, seed=seed, checkpoints=[500, 5000]).regret
    assert np.log10(regret[1] / regret[0]) < 0.8


def test_more_diversity_more_entropy() -> None:
    lists = [C2UCB(CATALOG, diversity=diversity).rank(6).items for diversity in (0.0, 0.5, 10.0)]
    assert entropy(lists[0], 0.5) < entropy(lists[1], 0.5) <= entropy(lists[2], 0.5)


def test_copies_learn_on_their_own() -> None:
    policy = C2UCB(CATALOG)
    twin = copy.deepcopy(policy)
    twin.update(twin.rank(3), 0)
    assert policy.state()["counts"][0] == 0
    assert "1 updates" in repr(twin)


def test_nonsense() -> None:
    with pytest.raises(ProblemError, match="sigma must be above 0"):
        C2UCB(CATALOG, sigma=0)
    with pytest.raises(CatalogError, match="must be a Catalog, got int"):
        C2UCB(30)  # type: ignore[arg-type]
    with pytest.raises(CatalogError, match="scale features"):
        C2UCB(Catalog(relevance=[[1e4], [1.0]]))
    policy = C2UCB(CATALOG)
    with pytest.raises(FeedbackError, match="shows row 99 of 30"):
        policy.update(Ranking([99]), 0)
    with pytest.raises(FeedbackError, match="expected the Ranking"):
        policy.update([1, 2], 0)  # type: ignore[arg-type]
