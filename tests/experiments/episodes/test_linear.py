"""Which pairs of policy and user are played by a compiled loop, and that all loops give the bits of 0.1.0."""

import numpy as np
import pytest
from general_loop import Shuffling, Stepwise, Wrapped

import rankfall
from rankfall import (
    Cascade,
    CascadeHybrid,
    CascadeUser,
    Catalog,
    Coverage,
    Discount,
    DocumentBased,
    Drifting,
    Hybrid,
    PerItem,
    User,
    simulate,
)
from rankfall.experiments.episodes import EPISODES, episode_for
from rankfall.experiments.episodes.linear import linear_policy_with_cascade_user

# Eighths and sixteenths: their products and sums are exact, so that no linear algebra library can round otherwise.
RNG = np.random.default_rng(3)
X = RNG.integers(0, 8, size=(12, 3)) * (RNG.random((12, 3)) < 0.6) / 8
Z = RNG.integers(-8, 9, size=(12, 2)) / 8
CATALOG = Catalog(X, Z)
PREFERENCES = {"theta": [0.5, 0.25, 0.25], "beta": [0.5, 0.125], "tradeoff": 0.5}


def compiled(policy: object, user: object) -> bool:
    return linear_policy_with_cascade_user(policy, user, 3, 0.5, np.random.default_rng(0)) is not None  # type: ignore[arg-type]


class MyHybrid(CascadeHybrid):
    """A linear policy of one's own."""


class OwnRank(CascadeHybrid):
    def rank(self, k, **options):
        return super().rank(k, **options)


class OwnAttraction(Hybrid):
    def of(self, lists):
        return super().of(lists)


def test_the_pairs_that_are_compiled() -> None:
    policy, user = CascadeHybrid(CATALOG), CascadeUser(X, Z, **PREFERENCES)
    assert compiled(policy, user)
    assert compiled(policy, User(Hybrid(X, Z, **PREFERENCES), Cascade()))
    assert compiled(policy, User(Coverage(X, [0.5, 0.25, 0.25]), Cascade()))
    assert compiled(rankfall.CascadeHybridTS(CATALOG), user)
    assert compiled(MyHybrid(CATALOG), user)


def test_the_pairs_that_are_not() -> None:
    policy, user = CascadeHybrid(CATALOG), CascadeUser(X, Z, **PREFERENCES)
    assert not compiled(policy, User(PerItem([0.5] * 12), Cascade()))
    assert not compiled(policy, User(Hybrid(X, Z, **PREFERENCES), DocumentBased()))
    assert not compiled(policy, User(Hybrid(X, Z, **PREFERENCES), Cascade(), reward="clicks"))
    assert not compiled(policy, User(OwnAttraction(X, Z, **PREFERENCES), Cascade()))
    assert not compiled(policy, Stepwise(X, Z, **PREFERENCES))
    assert not compiled(policy, Wrapped(user))
    assert not compiled(CascadeHybrid(CATALOG, forgetting=Discount(0.9)), user)
    assert not compiled(OwnRank(CATALOG), user)
    assert not compiled(Shuffling(12), user)


def test_the_last_episode_fits_every_pair() -> None:
    play = EPISODES[-1](Shuffling(12), Wrapped(CascadeUser(X, Z, **PREFERENCES)), 3, 0.5, np.random.default_rng(0))
    assert play is not None
    totals = np.zeros((3, 4))
    play(np.full((2, 3), 0.999), totals)
    assert totals[:, 1].tolist() == [0, 0, 0]
    for policy in (CascadeHybrid(CATALOG), Shuffling(12)):
        assert callable(episode_for(policy, CascadeUser(X, Z, **PREFERENCES), 3, 0.5, np.random.default_rng(0)))


RUNS_OF_0_1_0 = {
    ("CascadeHybrid", "one"): ("0x1.6fd6459920000p+0", 183, "0x1.0d17000000000p+9"),
    ("CascadeHybrid", "drifting"): ("0x1.15528d9d82000p+4", 186, "0x1.3252400000000p+9"),
    ("CascadeLinUCB", "one"): ("0x1.2efc02e000000p-3", 184, "0x1.049cc00000000p+9"),
    ("CascadeLinUCB", "drifting"): ("0x1.5479145db0000p+4", 187, "0x1.049cc00000000p+9"),
    ("CascadeLSBFull", "one"): ("0x1.b269e914c0000p+5", 132, "0x1.784af00000000p+9"),
    ("CascadeLSBFull", "drifting"): ("0x1.4d4e37f47be00p+4", 181, "0x1.7ba5700000000p+9"),
    ("CascadeHybridTS", "one"): ("0x1.38527a7e88000p+4", 173, "0x1.2196300000000p+9"),
    ("CascadeHybridTS", "drifting"): ("0x1.e0aec5320e694p+4", 174, "0x1.2a98400000000p+9"),
    ("CascadeHybridEpsilon", "one"): ("0x1.7088fce868000p+3", 175, "0x1.0475c00000000p+9"),
    ("CascadeHybridEpsilon", "drifting"): ("0x1.98b5b057d5000p+4", 178, "0x1.0d3c400000000p+9"),
    ("LSBGreedy", "one"): ("0x1.0e70596cc0000p+5", 156, "0x1.6dce200000000p+9"),
    ("LSBGreedy", "drifting"): ("0x1.e21a0a6e70000p+4", 177, "0x1.6dce200000000p+9"),
    ("Shuffling", "one"): ("0x1.b01174755e000p+6", 80, "0x1.0aa0f80000000p+9"),
    ("Shuffling", "drifting"): ("0x1.6bd03000c3ed9p+6", 112, "0x1.0aa0f80000000p+9"),
}


@pytest.mark.parametrize(("name", "kind"), RUNS_OF_0_1_0)
def test_runs_have_the_bits_they_had_in_0_1_0(name: str, kind: str) -> None:
    """Regret, lists clicked and topics covered after 300 steps."""
    policy = Shuffling(12) if name == "Shuffling" else getattr(rankfall, name)(CATALOG)
    user = CascadeUser(X, Z, **PREFERENCES)
    if kind == "drifting":
        user = Drifting([(0, user), (100, CascadeUser(X, Z, [0.125, 0.75, 0.125], [-0.25, 0.5], 0.25))])
    run = simulate(policy, user, 300, 4, seed=5)
    assert (float(run.regret[-1]).hex(), run.clicks[-1], float(run.covered[-1]).hex()) == RUNS_OF_0_1_0[name, kind]
