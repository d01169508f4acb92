"""GRAB against all lists of small problems, and on problems where the order of positions is not known."""

import itertools
import math

import numpy as np
import pytest

from rankfall import GRAB, PerItem, PositionBased, User, check_policy, simulate
from rankfall.errors import FeedbackError, RankError

KAPPA, THETA = [0.3, 1.0, 0.6], [0.1, 0.5, 0.15, 0.35, 0.05]


def kl(p: float, q: float) -> float:
    return (p * math.log(p / q) if p else 0.0) + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def kl_ucb(mean: float, budget: float) -> float:
    low, high = mean, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < 1 and kl(mean, middle) <= budget else (low, middle)
    return low


class PlainGRAB:
    """What the docstring says, with every list tried one by one."""

    def __init__(self, n: int, k: int, T: int) -> None:
        self.n, self.k, self.budget = n, k, math.log(T)
        self.N, self.S = np.zeros((n, k)), np.zeros((n, k))
        self.led: dict[tuple[int, ...], int] = {}

    def mean(self, item: int, place: int) -> float:
        return self.S[item, place] / self.N[item, place] if self.N[item, place] else 0.0

    def bound(self, item: int, place: int) -> float:
        n = self.N[item, place]
        return kl_ucb(self.mean(item, place), self.budget / n) if n else 1.0

    def worth(self, items: tuple[int, ...], of: str) -> float:
        return sum(getattr(self, of)(item, place) for place, item in enumerate(items))

    def best_mean(self) -> float:
        return max(self.worth(items, "mean") for items in itertools.permutations(range(self.n), self.k))

    def neighbours(self, leader: tuple[int, ...]) -> list[tuple[int, ...]]:
        pi = sorted(range(self.k), key=lambda place: (-self.mean(leader[place], place), place))
        found = []
        for a, b in itertools.pairwise(pi):
            swapped = list(leader)
            swapped[a], swapped[b] = leader[b], leader[a]
            found.append(tuple(swapped))
        outside = set(range(self.n)) - set(leader)
        found += [tuple(i if place == pi[-1] else leader[place] for place in range(self.k)) for i in outside]
        assert len(set(found)) == self.n - 1
        return found


@pytest.mark.parametrize(("n", "k"), [(5, 3), (3, 3), (4, 1)])
def test_grab_shows_the_leader_or_its_most_hopeful_neighbour(n: int, k: int) -> None:
    policy, plain = GRAB(n, k=k, steps=600), PlainGRAB(n, k, 600)
    user, rng = User(PerItem(THETA[:n]), PositionBased(KAPPA[:k])), np.random.default_rng(0)
    moved = 0
    for _ in range(600):
        ranking = policy.rank(k)
        leader, shown = ranking.note, tuple(ranking.items.tolist())
        assert isinstance(leader, tuple)
        assert plain.worth(leader, "mean") == pytest.approx(plain.best_mean(), abs=1e-12)
        if plain.led.get(leader, 0) % n == 0:
            assert shown == leader
        else:
            choices = [leader, *plain.neighbours(leader)]
            assert shown in choices
            assert plain.worth(shown, "bound") == pytest.approx(max(plain.worth(c, "bound") for c in choices), abs=1e-9)
        moved += shown != leader
        clicks = user.click(ranking.items, rng.random(k))
        policy.update(ranking, clicks)
        plain.led[leader] = plain.led.get(leader, 0) + 1
        for place, item in enumerate(shown):
            plain.N[item, place] += 1
            plain.S[item, place] += place in clicks  # type: ignore[operator]
    assert 50 < moved < 590


@pytest.mark.parametrize(
    ("views", "clicks", "leader", "shown"),
    [
        (
            [[20, 21, 30], [38, 4, 8], [33, 38, 12], [14, 35, 18], [13, 33, 12]],
            [[6, 18, 17], [9, 3, 4], [5, 17, 2], [1, 8, 3], [1, 4, 1]],
            (2, 0, 1),
            [4, 0, 1],
        ),
        (
            [[33, 6, 9], [11, 9, 32], [35, 24, 4], [6, 15, 19], [25, 20, 12]],
            [[11, 6, 4], [2, 5, 13], [8, 15, 1], [1, 5, 3], [0, 6, 1]],
            (2, 0, 1),
            [1, 0, 2],
        ),
    ],
    ids=["another item", "exchanged"],
)
def test_the_authors_code_shows_the_same(
    views: list[list[int]], clicks: list[list[int]], leader: tuple[int, ...], shown: list[int]
) -> None:
    """What ``opponents/grab.py`` of github.com/gaudel/ranking_bandits (commit 1fe4a38b) chose, T = 1000, gamma = 5."""
    policy = GRAB(5, k=3, steps=1000)
    counts = {"shown": np.array(views, dtype=float), "clicked": np.array(clicks, dtype=float)}
    for led, expected in ((0, list(leader)), (1, shown)):
        known = {"leaders": np.array([leader]), "led": np.array([led])}
        policy.restore({**policy.state(), **counts, **known})
        ranking = policy.rank(3)
        assert ranking.note == leader
        assert ranking.items.tolist() == expected


def test_it_finds_the_best_list_whatever_the_order_of_positions() -> None:
    user = User(PerItem(THETA), PositionBased(KAPPA))
    policy = GRAB(5, k=3, steps=20_000)
    run = simulate(policy, user, steps=20_000, k=3, seed=1, checkpoints=[10_000, 20_000])
    assert user.best(3).tolist() == [2, 1, 3]
    assert policy.rank(3).note == (2, 1, 3)
    assert run.regret[1] - run.regret[0] < 0.6 * run.regret[0]


def test_the_contract_holds() -> None:
    check_policy(GRAB(7, k=3, steps=100))
    check_policy(GRAB(7, k=3, steps=100, period=2))


def test_lists_of_other_lengths_and_of_some_items() -> None:
    policy = GRAB(6, k=3, steps=100)
    state = policy.state()
    state["shown"][:] = 100.0
    state["clicked"][:] = np.outer([90, 10, 80, 10, 70, 20], [1.0, 0.8, 0.6])
    policy.restore(state)
    assert policy.rank(2).note == (0, 2)
    assert policy.rank(3, exclude=[0]).note == (2, 4, 5)
    assert policy.rank(3, candidates=[1, 5, 4]).items.tolist() == [4, 5, 1]
    assert len(set(policy.rank(6).items.tolist())) == 6
    short = policy.rank(2)
    policy.update(short, 0)
    again = policy.with_state(policy.state())
    assert again.state()["leaders"].tolist() == policy.state()["leaders"].tolist()
    with pytest.raises(RankError, match="cannot hold rows"):
        policy.rank(3, fixed={0: 1})


def test_what_is_not_its_own_is_refused() -> None:
    policy = GRAB(5, k=3, steps=100)
    with pytest.raises(FeedbackError, match="one that GRAB made"):
        policy.update(policy.rank(3).replace(note=None), 0)
    state = policy.state()
    for name, wrong in (
        ("leaders", np.array([[9, 1, 2]])),
        ("leaders", np.zeros((1, 2), dtype=np.int64)),
        ("shown", np.zeros((5, 2))),
    ):
        with pytest.raises(ValueError, match=r"leaders|shown"):
            policy.restore(
                {**state, "led": np.array([1]), name: wrong} if name == "leaders" else {**state, name: wrong}
            )
    with pytest.raises(ValueError, match="needs the arrays"):
        policy.restore({name: array for name, array in state.items() if name != "clicked"})
