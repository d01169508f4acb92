"""The compiled loop of policies that are not linear does what the general loop does, to the bit."""

import numpy as np
import pytest
from general_loop import Wrapped
from user_kinds import ATTRACTIONS, PAIRS, attraction, clicks

import rankfall
from rankfall import Cascade, CascadeUCB1, Catalog, DependentClick, Drifting, PerItem, PositionBased, User, simulate
from rankfall.experiments.episodes import episode_for, is_compiled
from rankfall.experiments.episodes.stepwise import policy_with_compiled_steps, simulated_user
from rankfall.experiments.simulation import streams
from rankfall.policies import Policy
from rankfall.users.mixture import Mixture

RNG = np.random.default_rng(7)
CATALOG = Catalog(relevance=RNG.random((6, 3)))

POLICIES = {
    "CascadeUCB1": {},
    "CascadeKLUCB": {},
    "CascadeTS": {"prior": (0.5, 2.0)},
    "CascadeDUCB": {"discount": 0.99},
    "CascadeSWUCB": {"window": 37},
    "DCMKLUCB": {"termination": (0.2, 0.9, 0.5)},
    "RankedUCB1": {"k": 3},
    "RankedEXP3": {"k": 3, "steps": 300},
    "RankedEXP3, losses": {"k": 3, "steps": 300, "estimates": "losses"},
    "RankedZooming": {"k": 3, "steps": 300, "radius": 0.3},
    "BatchRank": {"k": 3, "steps": 2, "samples": 8.0},
    "BatchRank, code": {"k": 3, "steps": 2, "form": "code"},
    "TopRank": {"delta": 0.9},
    "BubbleRank": {"delta": 0.6},
    "RecurRank": {"k": 3, "delta": 1.0, "effort": 0.05},
    "C2UCB": {},
    "PBMUCB": {"examination": (0.4, 0.9, 0.9), "epsilon": 0.1},
    "PBMTS": {"examination": (0.4, 0.9, 0.9)},
    "GreedyESCB": {},
    "GreedyESCB, apart": {"bonus": "apart"},
    "GreedyESCB, exchanges": {"exchanges": True, "exploration": 2.0},
    "PDGD": {},
    "PDGD, decay": {"decay": 0.99},
}


def made(name: str, **settings: object) -> Policy:
    return getattr(rankfall, name.split(",")[0])(CATALOG, **{**POLICIES[name], **settings})


def check_equal(policy: Policy, user: User, k: int, steps: int = 300, seed: int = 4) -> None:
    """Sums after every step, the state at the end, and the list that comes next."""
    other, every = policy.fresh(), range(1, steps + 1)
    fast, plain = (
        simulate(one, who, steps, k, seed=seed, checkpoints=every)
        for one, who in ((policy, user), (other, Wrapped(user)))
    )
    for name in ("regret", "clicks", "touched", "covered"):
        assert getattr(fast, name).tobytes() == getattr(plain, name).tobytes(), name
    assert policy.n_updates == other.n_updates == steps
    ours, theirs = policy.state(), other.state()
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.tobytes() == theirs[name].tobytes(), name
    coming = [one.rank(k, rng=np.random.default_rng(0)).items.tolist() for one in (policy, other)]
    assert coming[0] == coming[1]


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_every_click_model_and_reward(name, model, reward):
    rng = np.random.default_rng(1)
    user = User(PerItem(rng.random(6)), clicks(model, rng), reward)
    assert is_compiled(made(name), user, 3)
    check_equal(made(name), user, 3)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("kind", ATTRACTIONS)
def test_every_attraction(name, kind):
    rng = np.random.default_rng(2)
    check_equal(made(name), User(attraction(kind, rng), clicks("dependent", rng)), 3)


@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_attraction_that_depends_on_the_list_with_every_click_model(model, reward):
    rng = np.random.default_rng(11)
    user = User(attraction("hybrid", rng), clicks(model, rng), reward)
    assert is_compiled(made("CascadeUCB1"), user, 3) == (model != "chain")  # whose satisfaction depends on it too
    check_equal(made("CascadeUCB1"), user, 3)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_lists_of_any_length(name, k):
    rng = np.random.default_rng(3)
    check_equal(made(name), User(PerItem(rng.random(6)), clicks("position", rng)), k)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_ties(name, alpha):
    """Items all alike: at 0 and 1 their counts stay equal for long."""
    for model in (Cascade(), PositionBased([1.0, 0.5, 0.5])):
        check_equal(made(name), User(PerItem([alpha] * 6), model), 3)


@pytest.mark.parametrize("name", POLICIES)
def test_users_who_change(name):
    """Each stretch begins with the state that the last one left."""
    rng = np.random.default_rng(5)
    people = [User(PerItem(rng.random(6)), DependentClick(rng.random(3))) for _ in range(3)]
    runs, states = [], []
    for who in (people, [Wrapped(one) for one in people]):
        policy = made(name)
        runs.append(simulate(policy, Drifting([(0, who[0]), (70, who[1]), (150, who[2])]), 300, 3, seed=6))
        states.append(policy.state())
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    for key, array in states[0].items():
        assert array.tobytes() == states[1][key].tobytes()


@pytest.mark.parametrize("name", ["CascadeKLUCB", "DCMKLUCB"])
@pytest.mark.parametrize("exploration", [0.0, 3.0])
def test_bounds_that_are_ordered_by_intervals_over_long_runs(name, exploration):
    """Items alike, far apart and near each other; never and always clicked."""
    for alpha in ([0.3, 0.3, 0.3, 0.3001, 0.2999, 0.3], [0.0, 1.0, 0.5, 0.9, 0.999, 0.001], np.linspace(0.05, 0.3, 6)):
        for model in (Cascade(), PositionBased([1.0, 0.8, 0.7])):
            check_equal(made(name, exploration=exploration), User(PerItem(alpha), model), 3, steps=5000)


@pytest.mark.parametrize("name", ["RankedUCB1", "RankedEXP3", "RankedEXP3, losses"])
def test_bandits_that_are_told_of_every_click(name):
    rng = np.random.default_rng(8)
    check_equal(made(name, clicks="all"), User(PerItem(rng.random(6)), clicks("position", rng)), 3)


def test_the_runs_above_are_long_enough_for_what_ends_a_loop():
    """Stages of BatchRank end, and TopRank decides pairs; after that Python goes on, then the loop again."""
    user = User(PerItem([0.9, 0.1, 0.5, 0.7, 0.3, 0.0]), PositionBased([1.0, 0.9, 0.8]))
    for name in ("BatchRank", "BatchRank, code"):
        batches = made(name)
        simulate(batches, user, 300, 3, seed=4)
        assert len(batches.batches) > 1
    for name in ("TopRank", "RecurRank"):
        blocks = made(name)
        simulate(blocks, user, 300, 3, seed=4)
        assert len(blocks.blocks) > 1


def test_more_items_than_c2ucb_keeps_products_of():
    rng = np.random.default_rng(10)
    policy = rankfall.C2UCB(Catalog(relevance=rng.normal(size=(260, 3))), diversity=0.5)
    check_equal(policy, User(PerItem(rng.random(260)), clicks("position", rng)), 3, steps=100)


def test_newcomers():
    rng = np.random.default_rng(9)
    for model in ("position", "cascade"):
        check_equal(made("BubbleRank", newcomers=True), User(PerItem(rng.random(6)), clicks(model, rng)), 3)


def test_a_window_longer_than_the_run_and_one_of_a_single_list():
    user = User(PerItem(np.linspace(0.1, 0.8, 6)), Cascade())
    for window in (1, 2, 16, 17, 1000):
        check_equal(made("CascadeSWUCB", window=window), user, 3)


def test_the_policy_s_generator_stands_where_the_general_loop_leaves_it():
    user = User(PerItem(np.linspace(0.1, 0.8, 6)), Cascade())
    for name in [name for name in POLICIES if made(name).randomised]:
        states = []
        for who in (user, Wrapped(user)):
            coins, rng = streams(3)
            episode_for(made(name), who, 3, 0.5, rng)(coins.random((50, 3)), np.zeros((51, 4)))
            states.append(rng.bit_generator.state)
        assert states[0] == states[1]


def test_what_is_not_compiled():
    class Own(CascadeUCB1):
        """A policy of one's own, which may change anything."""

    class OwnClicks(Cascade):
        def chain(self, k):
            return super().chain(k)

    alpha = np.linspace(0.1, 0.8, 6)
    user = User(PerItem(alpha), Cascade())
    rng = np.random.default_rng(0)
    assert policy_with_compiled_steps(CascadeUCB1(6), user, 3, 0.5, rng) is not None
    assert policy_with_compiled_steps(Own(6), user, 3, 0.5, rng) is None
    assert policy_with_compiled_steps(CascadeUCB1(6), Wrapped(user), 3, 0.5, rng) is None
    assert simulated_user(User(PerItem(alpha), OwnClicks()), 3) is None
    mixed = Mixture(PerItem(alpha), PerItem(alpha[::-1]), 0.5)
    assert simulated_user(User(mixed, Cascade()), 3) is None
    compact = CascadeUCB1(6)
    compact.compact = True
    assert policy_with_compiled_steps(compact.fresh(), user, 3, 0.5, rng) is None
    check_equal(Own(6), user, 3)
