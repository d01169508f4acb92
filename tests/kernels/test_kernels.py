"""One list, three ways: compiled loop, general loop, every item scored. All must agree to the last bit."""

import subprocess
import sys

import numpy as np
import pytest
from general_loop import Stepwise

from rankfall import POLICIES, CascadeUser, Catalog, LinearPolicy, ProblemError, RankError, Ranking, generate, simulate
from rankfall.experiments.bench.plain_numpy import PlainNumPy
from rankfall.experiments.paper import PAPER
from rankfall.experiments.simulation import streams
from rankfall.kernels import epochs, ridge
from rankfall.kernels.item_scores import items_of
from rankfall.kernels.item_vectors import vectors_of

TRADEOFFS = [round(0.1 * i, 1) for i in range(11)]


def problem(seed: int, *, items: int, d: int, m: int, tradeoff: float) -> tuple[Catalog, dict[str, np.ndarray]]:
    """A catalog with items without topics, duplicates and negative relevance; and a user."""
    rng = np.random.default_rng(seed)
    x = rng.random((items, d)) * (rng.random((items, d)) < 0.3)
    z = rng.normal(size=(items, m))
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-9)
    x[::7] = 0.0
    x[3::5], z[3::5] = x[0], z[0]
    theta = rng.dirichlet(np.ones(d)) if d else np.empty(0)
    beta = 0.4 * rng.normal(size=m) / np.sqrt(max(m, 1))
    return Catalog(x, z), {"coverage": x, "relevance": z, "theta": theta, "beta": beta, "tradeoff": tradeoff}


def usable(name: str, d: int, m: int) -> bool:
    recipe = POLICIES[name]
    return bool((recipe.coverage != "absent" and d) or (recipe.relevance != "absent" and m))


def states(policy: LinearPolicy) -> bytes:
    return b"".join(array.tobytes() for array in policy.state().values())


@pytest.mark.parametrize("name", list(PAPER))
@pytest.mark.parametrize("tradeoff", TRADEOFFS)
def test_compiled_loop_equals_general_loop_equals_no_pruning(name: str, tradeoff: float) -> None:
    index = TRADEOFFS.index(tradeoff)
    k = 2 * index + 1 if index < 10 else 20
    d, m = [(0, 6), (1, 4), (5, 0), (20, 3), (7, 10), (12, 1)][index % 6]
    if not usable(name, d, m):
        d, m = max(d, 2), max(m, 2)
    catalog, user = problem(index, items=30 + 11 * index, d=d, m=m, tradeoff=tradeoff)
    fast, plain, general = (POLICIES[name](catalog) for _ in range(3))
    plain.pruning = False
    steps = 250
    run = simulate(fast, CascadeUser(**user), steps, k, seed=index)
    unpruned = simulate(plain, CascadeUser(**user), steps, k, seed=index)
    slow = simulate(general, Stepwise(**user), steps, k, seed=index)
    for other, policy in ((unpruned, plain), (slow, general)):
        assert run.regret.tobytes() == other.regret.tobytes()
        assert run.clicks.tobytes() == other.clicks.tobytes()
        assert run.touched.tobytes() == other.touched.tobytes()
        assert run.covered.tobytes() == other.covered.tobytes()
        assert states(fast) == states(policy)


@pytest.mark.parametrize("name", list(PAPER))
@pytest.mark.parametrize(("items", "k", "steps"), [(400, 10, 6000), (1500, 4, 6000), (60, 20, 4000)])
def test_pruning_changes_no_pick_over_many_epochs(name: str, items: int, k: int, steps: int) -> None:
    world = generate(items=items, topics=12, features=6, users=1, seed=items)
    user = CascadeUser(world.catalog.coverage, world.catalog.relevance, world.theta[0], world.beta[0], 0.5)
    fast, plain = POLICIES[name](world.catalog), POLICIES[name](world.catalog)
    plain.pruning = False
    with_pruning = simulate(fast, user, steps, k, seed=1)
    without = simulate(plain, user, steps, k, seed=1)
    assert with_pruning.regret.tobytes() == without.regret.tobytes()
    assert states(fast) == states(plain)
    counts = fast.compiled(k).lists.counts
    assert counts[epochs.EPOCHS] > 10  # it was really put to the test
    assert fast._model.state.counts[ridge.REFRESHES] > 0


@pytest.mark.parametrize("name", list(PAPER))
@pytest.mark.parametrize("gamma", [0.0, 0.1, 5.0])
def test_pruning_holds_for_any_exploration(name: str, gamma: float) -> None:
    catalog, user = problem(9, items=80, d=6, m=4, tradeoff=0.5)
    fast, plain = POLICIES[name](catalog, gamma=gamma), POLICIES[name](catalog, gamma=gamma)
    plain.pruning = False
    runs = [simulate(policy, CascadeUser(**user), 800, 6, seed=2) for policy in (fast, plain)]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    assert states(fast) == states(plain)


@pytest.mark.parametrize("name", list(PAPER))
def test_rank_alone_uses_the_same_lists(name: str) -> None:
    """Late, missing and repeated updates between calls, and lists of different lengths."""
    world = generate(items=200, topics=8, features=5, seed=4)
    fast, plain = POLICIES[name](world.catalog), POLICIES[name](world.catalog)
    plain.pruning = False
    rng = np.random.default_rng(0)
    waiting: list[tuple[Ranking, Ranking]] = []
    for _ in range(600):
        k = int(rng.integers(1, 12))
        pair = fast.rank(k), plain.rank(k)
        for field in ("items", "features", "means", "widths", "scores"):
            assert getattr(pair[0], field).tobytes() == getattr(pair[1], field).tobytes()
        waiting.append(pair)
        while waiting and rng.random() < 0.55:
            first, second = waiting.pop(int(rng.integers(len(waiting))))
            click = None if rng.random() < 0.4 else int(rng.integers(len(first)))
            fast.update(first, click)
            plain.update(second, click)


def test_a_shortlist_of_most_of_many_items_is_not_kept() -> None:
    """Without a click all items are much alike: their shortlist would hold nearly all of them."""
    x = np.random.default_rng(0).uniform(0.49, 0.5, size=(9000, 2))
    fast, plain = POLICIES["CascadeLSB"](Catalog(coverage=x)), POLICIES["CascadeLSB"](Catalog(coverage=x))
    plain.pruning = False
    for click in [None] * 20 + [0, None] * 10:
        shown = fast.rank(3), plain.rank(3)
        assert shown[0].scores.tobytes() == shown[1].scores.tobytes()
        assert shown[0].items.tolist() == shown[1].items.tolist()
        fast.update(shown[0], click)
        plain.update(shown[1], click)
    counts = fast.compiled(3).lists.counts
    assert counts[epochs.EPOCHS] > 2  # tried again and again
    assert counts[epochs.ENTRIES] < 9000


@pytest.mark.parametrize("name", list(PAPER))
def test_the_plain_numpy_form_does_the_same_work(name: str) -> None:
    world = generate(items=60, topics=6, features=4, seed=8)
    # Features of different lengths: with equal ones, rounding alone would order the first list.
    relevance = world.catalog.relevance * np.random.default_rng(0).uniform(0.5, 1.0, size=(60, 1))
    user = CascadeUser(world.catalog.coverage, relevance, world.theta[0], world.beta[0], 0.5)
    policy = POLICIES[name](Catalog(world.catalog.coverage, relevance))
    plain = PlainNumPy(policy, user, 5)
    regret = 0.0
    for coins in streams(3)[0].random((300, 5)):
        ranking = policy.rank(5)
        lost, click = plain.step(coins)
        assert plain.items.tolist() == ranking.items.tolist()
        assert (user.click(ranking.items, coins), lost) == (
            None if click < 0 else click,
            pytest.approx(plain.best - user.reward(ranking.items), abs=1e-12),
        )
        policy.update(ranking, None if click < 0 else click)
        regret += lost
    np.testing.assert_allclose(plain.covariance, policy.covariance, atol=1e-9)


def test_gamma_may_change_at_any_time() -> None:
    world = generate(items=150, topics=8, features=5, seed=4)
    fast, plain = POLICIES["CascadeHybrid"](world.catalog), POLICIES["CascadeHybrid"](world.catalog)
    plain.pruning = False
    for gamma in (1.0, 0.0, 3.0, 0.2):
        for policy in (fast, plain):
            policy.gamma = gamma
        for click in (None, 2, 0, None, 1):
            shown = fast.rank(6), plain.rank(6)
            assert shown[0].scores.tobytes() == shown[1].scores.tobytes()
            fast.update(shown[0], click)
            plain.update(shown[1], click)
    with pytest.raises(ProblemError, match="gamma must be a number"):
        fast.gamma = -1.0
    assert fast.gamma == 0.2


def test_invert_against_lapack() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 9, 28, 60):
        features = rng.normal(size=(3 * n, n)) * 10.0 ** rng.uniform(-2, 2, size=n)
        gram = np.eye(n) + features.T @ features
        inverse = np.empty((n, n))
        ridge.invert(gram, inverse)
        np.testing.assert_allclose(inverse @ gram, np.eye(n), atol=1e-8)
        assert (inverse == inverse.T).all()


def test_features_that_grow_beyond_measure_stop_the_compiled_loop_too() -> None:
    catalog = Catalog(coverage=[[0.1]] * 12, relevance=[[-99.0]] * 12)
    user = {"coverage": [[0.1]] * 12, "relevance": [[0.1]] * 12, "theta": [0.5], "beta": [0.1]}
    for kind in (CascadeUser, Stepwise):
        policy = POLICIES["CascadeLSBFull"](catalog)
        with pytest.raises(RankError, match="grow down the list"):
            simulate(policy, kind(**user), 10, 10)
        assert policy.n_updates == 0


def test_import_compiles_nothing() -> None:
    look = "import sys, rankfall; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("items", "d", "m", "share"),
    [(50, 7, 3, 0.3), (200, 130, 2, 0.05), (10, 0, 3, 0.0), (12, 5, 0, 0.3), (1, 1, 1, 1.0), (40, 20, 3, 0.9)],
)
def test_vectors_hold_every_item_with_its_features(items: int, d: int, m: int, share: float) -> None:
    rng = np.random.default_rng(items)
    x = rng.random((items, d)) * (rng.random((items, d)) < share)
    z = rng.normal(size=(items, m))
    rows = np.flatnonzero(rng.random(items) < 0.7) if items > 1 else np.arange(1)
    vectors = vectors_of(items_of(x, z, True, False), rows)
    x, products = x[rows], np.tril(x[rows, :, None] * x[rows, None, :], -1)
    norms = np.sqrt((x**2).sum(axis=1) + (z[rows] ** 2).sum(axis=1))
    x, z, products = (values.astype(np.float32) for values in (x, z[rows], products))  # each rounded once
    assert vectors.dense[d - vectors.first_dense :].T.tolist() == z.tolist()
    assert vectors.norm == pytest.approx(norms.max())
    if share == 0.9:  # dense coverage has no entries
        assert (vectors.first_dense, len(vectors.row), len(vectors.pair_row)) == (0, 0, 0)
        assert vectors.dense[:d].T.tolist() == x.tolist()
        return
    rebuilt, pairs = np.zeros_like(x), np.zeros((len(rows), d, d))
    for j in range(d):
        of = slice(vectors.first[j], vectors.first[j + 1])
        rebuilt[vectors.row[of], j] = vectors.weight[of]
        assert vectors.copied[:, of].T.tolist() == z[vectors.row[of]].tolist()
        for other in range(d):
            of = slice(vectors.pair_first[j * d + other], vectors.pair_first[j * d + other + 1])
            pairs[vectors.pair_row[of], j, other] = vectors.pair_weight[of]
    assert rebuilt.tolist() == x.tolist()
    assert pairs.tolist() == products.tolist()
