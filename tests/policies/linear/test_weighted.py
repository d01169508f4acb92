"""Linear policies whose observations have weights: their equations written out, and what all of them share."""

from typing import Any

import numpy as np
import pytest
from general_loop import Stepwise
from hypothesis import given
from hypothesis import strategies as st

from rankfall import (
    UCBCCA,
    VAC2UCB,
    AcrossUsers,
    CascadeLinUCB,
    CascadeUser,
    CascadeWOFUL,
    Catalog,
    Discount,
    Prior,
    ProblemError,
    UCBCCAPlus,
    check_policy,
    generate,
    simulate,
)
from rankfall.experiments.episodes.linear import linear_policy_with_cascade_user
from rankfall.kernels import epochs, ridge
from rankfall.kernels.weighted_ridge import largest_variance
from rankfall.policies.linear.weighted import WeightedPolicy

K, GAMMA = 4, 0.7
KINDS: list[type[WeightedPolicy]] = [CascadeWOFUL, VAC2UCB, UCBCCA, UCBCCAPlus]
EVERY = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
WORLD = generate(items=50, topics=4, features=5, seed=2, appeal=0.6)
CATALOG = WORLD.catalog
TASTE = (CATALOG.coverage, CATALOG.relevance, WORLD.theta[0], WORLD.beta[0], 0.6)


class Weighted:
    """Weighted ridge regression, solved directly from all that was seen."""

    def __init__(self, columns: int) -> None:
        self.rows, self.rewards, self.weights = [np.empty((0, columns))], [np.empty(0)], [np.empty(0)]

    def add(self, rows: np.ndarray, rewards: np.ndarray, weights: np.ndarray) -> None:
        self.rows.append(rows)
        self.rewards.append(rewards)
        self.weights.append(weights)

    def believes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and widths of items."""
        rows, rewards, weights = (np.concatenate(each) for each in (self.rows, self.rewards, self.weights))
        gram = np.eye(z.shape[1]) + rows.T @ (weights[:, None] * rows)
        means = z @ np.linalg.solve(gram, rows.T @ (weights * rewards))
        return means, np.sqrt(np.einsum("ij,ji->i", z, np.linalg.solve(gram, z.T)))


def seen_rows(items: np.ndarray, click: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The rows down to the first click, and what they earned."""
    seen = items if click is None else items[: click + 1]
    return CATALOG.relevance[seen], (np.arange(len(seen)) == click).astype(float)


def play(policy: WeightedPolicy, steps: int, seed: int = 0) -> Any:
    """Lists that were shown, and where they were clicked, one after the other; before each is learned from."""
    rng, user = np.random.default_rng(seed), CascadeUser(*TASTE)
    for _ in range(steps):
        ranking = policy.rank(K)
        click = user.click(ranking.items, rng.random(K))
        yield ranking, click
        policy.update(ranking, click)


def test_cascadewoful_written_out() -> None:
    policy, plain, weighted = CascadeWOFUL(CATALOG, gamma=GAMMA), Weighted(5), Weighted(5)
    z, floored = CATALOG.relevance, 0
    for ranking, click in play(policy, 120):
        means, widths = weighted.believes(z)
        best = np.argsort(-(means + GAMMA * widths), kind="stable")[:K]
        assert ranking.items.tolist() == best.tolist()
        np.testing.assert_allclose(ranking.scores, (means + GAMMA * widths)[best], atol=1e-9)
        rows, rewards = seen_rows(ranking.items, click)
        means, widths = plain.believes(rows)
        upper = np.minimum(means + GAMMA * widths, 1.0)
        floored += np.count_nonzero(upper < 1 / K)
        weighted.add(rows, rewards, 1 / np.maximum(upper, 1 / K))
        plain.add(rows, rewards, np.ones(len(rows)))
    assert floored > 0


def test_vac2ucb_written_out() -> None:
    policy, model, z = VAC2UCB(CATALOG, gamma=GAMMA, floor=0.02), Weighted(5), CATALOG.relevance
    variances = []
    for ranking, click in play(policy, 300):
        means, widths = model.believes(z)
        best = np.argsort(-(means + GAMMA * widths), kind="stable")[:K]
        assert ranking.items.tolist() == best.tolist()
        rows, rewards = seen_rows(ranking.items, click)
        means, widths = model.believes(rows)
        low, high = np.clip(means - GAMMA * widths, 0, 1), np.clip(means + GAMMA * widths, 0, 1)
        between = low + np.linspace(0, 1, 4001)[:, None] * (high - low)  # the largest variance, by trying
        grid = (between * (1 - between)).max(axis=0)
        grid[(low <= 0.5) & (high >= 0.5)] = 0.25
        model.add(rows, rewards, 1 / np.maximum(grid, 0.02))
        variances.extend(grid.tolist())
    assert min(variances) < 0.2
    assert max(variances) == 0.25


@given(st.floats(-1, 2), st.floats(0, 2), st.floats(0.001, 0.25))
def test_the_largest_variance_of_a_click(low: float, further: float, least: float) -> None:
    chances = np.clip(
        np.append(np.linspace(low, low + further, 999), 0.5 if low <= 0.5 <= low + further else low), 0, 1
    )
    tried = max((chances * (1 - chances)).max(), least)
    assert largest_variance(low, low + further, least) == pytest.approx(tried, abs=1e-6)


class Hybrid(VAC2UCB):
    """With the columns of the hybrid."""

    coverage = "diminishing"


@pytest.mark.parametrize("kind", [*KINDS, Hybrid], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("given", [{}, {"gamma": 3.0, "feedback": "all"}, {"gamma": 0.0}], ids=str)
def test_the_compiled_loop_has_the_bits_of_the_general_one(kind: type[WeightedPolicy], given: dict[str, Any]) -> None:
    fast, plain, general = (kind(CATALOG, **given) for _ in range(3))
    plain.pruning = False
    runs = [
        simulate(policy, user, 400, K, seed=2)
        for policy, user in ((fast, CascadeUser(*TASTE)), (plain, CascadeUser(*TASTE)), (general, Stepwise(*TASTE)))
    ]
    for other, policy in zip(runs[1:], (plain, general), strict=True):
        assert runs[0].regret.tobytes() == other.regret.tobytes()
        assert runs[0].clicks.tobytes() == other.clicks.tobytes()
        for name, array in fast.state().items():
            assert array.tobytes() == policy.state()[name].tobytes(), name
    assert fast.n_updates == 400


@EVERY
def test_shortlists_change_no_pick_over_many_epochs(kind: type[WeightedPolicy]) -> None:
    world = generate(items=300, topics=0, features=6, seed=5)
    user = CascadeUser(world.catalog.coverage, world.catalog.relevance, [], world.beta[0], 1.0)
    fast, plain = kind(world.catalog), kind(world.catalog)
    plain.pruning = False
    assert simulate(fast, user, 5000, 6).regret.tobytes() == simulate(plain, user, 5000, 6).regret.tobytes()
    assert fast.weights.tobytes() == plain.weights.tobytes()
    assert fast.compiled(6).lists.counts[epochs.EPOCHS] > 10  # it was really put to the test
    assert fast.model.state.counts[ridge.REFRESHES] > 0


@EVERY
def test_no_loop_of_plain_policies_plays_them(kind: type[WeightedPolicy]) -> None:
    user, rng = CascadeUser(*TASTE), np.random.default_rng(0)
    assert linear_policy_with_cascade_user(kind(CATALOG), user, K, 0.5, rng) is None
    assert linear_policy_with_cascade_user(CascadeLinUCB(CATALOG), user, K, 0.5, rng) is not None


@EVERY
def test_they_keep_the_contract(kind: type[WeightedPolicy]) -> None:
    policy = kind(CATALOG)
    for _ in play(policy, 30):
        pass
    checked = check_policy(policy)
    assert checked.saved
    assert checked.fixed
    assert checked.why_not_ruled is None
    assert checked.why_not_served is not None
    newer = policy.with_catalog(CATALOG)
    assert newer.rank(K).scores.tolist() == policy.rank(K).scores.tolist()


@EVERY
def test_what_they_refuse(kind: type[WeightedPolicy]) -> None:
    with pytest.raises(ProblemError, match="take no forgetting"):
        kind(CATALOG, forgetting=Discount(0.9))
    with pytest.raises(ProblemError, match="take no context"):
        kind(CATALOG, context={"hour": {"kind": "hour"}})
    policy = kind(CATALOG)
    for start in (lambda: policy.with_prior(Prior.identity(5)), lambda: AcrossUsers(policy)):
        with pytest.raises(ProblemError, match=f"{kind.__name__} starts from the identity"):
            start()


def test_a_state_without_its_second_model() -> None:
    policy = CascadeWOFUL(CATALOG)
    arrays = policy.state()
    with pytest.raises(ValueError, match=r"needs .*gram"):
        policy.restore({name: array for name, array in arrays.items() if not name.startswith("second_")})
    other = CascadeWOFUL(Catalog(relevance=np.eye(2))).state()
    with pytest.raises(ValueError, match="second model of 2 columns for a policy of 5"):
        policy.restore({**arrays, **{name: array for name, array in other.items() if name.startswith("second_")}})


def test_a_floor_of_nothing() -> None:
    with pytest.raises(ProblemError, match="floor must be above 0"):
        VAC2UCB(CATALOG, floor=0)
