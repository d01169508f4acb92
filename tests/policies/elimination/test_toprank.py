"""TopRank against its algorithm line by line, and what must hold of its partitions whatever the clicks."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_user import PlainUser, slope, users

from rankfall import Catalog, FeedbackError, ProblemError, Ranking, check_policy
from rankfall.experiments.simulation import simulate
from rankfall.policies import make_policy
from rankfall.policies.elimination.toprank import C, TopRank


class Specification:
    """Algorithm 1 of the paper as it is written; G holds (worse, better)."""

    def __init__(self, L: int, delta: float) -> None:
        self.L, self.delta, self.G = L, delta, set()  # type: ignore[var-annotated]
        self.S, self.N = np.zeros((L, L)), np.zeros((L, L))

    def partition(self) -> list[list[int]]:
        left, blocks = list(range(self.L)), []
        while left:
            block = [i for i in left if all((i, j) not in self.G for j in left)]
            assert block, "the relation has a cycle"
            blocks.append(block)
            left = [i for i in left if i not in block]
        return blocks

    def show(self, K: int, uniform: Any) -> list[int]:
        return [i for block in self.partition() for i in sorted(block, key=lambda i: float(uniform[i]))][:K]

    def learn(self, A: list[int], clicks: tuple[int, ...]) -> None:
        clicked = np.zeros(self.L)
        clicked[[A[k] for k in clicks]] = 1
        for block in self.partition():
            for i in block:
                for j in block:
                    self.S[i, j] += clicked[i] - clicked[j]
                    self.N[i, j] += abs(clicked[i] - clicked[j])
        self.G |= {(j, i) for i in range(self.L) for j in range(self.L) if self.decided(i, j)}

    def decided(self, i: int, j: int) -> bool:
        N = self.N[i, j]
        return bool(N > 0 and self.S[i, j] >= math.sqrt(2 * N * math.log(C / self.delta * math.sqrt(N))))


def counts(policy: TopRank) -> tuple[Any, Any]:
    return policy.wins - policy.wins.T, policy.wins + policy.wins.T


def pairs(policy: TopRank) -> set[tuple[int, int]]:
    return {(int(j), int(i)) for i, j in np.argwhere(policy.better)}


def test_the_constant_of_the_bound() -> None:
    assert pytest.approx(4 * math.sqrt(2 / math.pi) / 0.9544997361036416) == C
    assert TopRank(4, steps=500).delta == 1 / 500


@pytest.mark.parametrize("n", [5, 16])
def test_keeps_the_contract(n: int) -> None:
    policy = TopRank(n, delta=0.5)
    check_policy(policy)
    simulate(policy, PlainUser("cascade", np.linspace(0.05, 0.9, n)), 2000, 3)
    assert len(policy.blocks) > 1
    check_policy(policy)


@pytest.mark.parametrize("user", users([0.1, 0.7, 0.3, 0.5, 0.05, 0.9, 0.2], 4), ids=lambda user: user.model)
@pytest.mark.parametrize("K", [2, 4])
def test_is_the_algorithm_of_the_paper_at_every_step(user: PlainUser, K: int) -> None:
    policy, spec = TopRank(7, steps=3000), Specification(7, 1 / 3000)
    rng, same, coins = (np.random.default_rng(seed) for seed in (1, 1, 2))
    for _ in range(3000):
        ranking = policy.rank(K, rng=rng)
        assert ranking.items.tolist() == spec.show(K, same.random(7))
        clicks = user.click(ranking.items, coins.random(K)) or ()
        policy.update(ranking, clicks)
        spec.learn(ranking.items.tolist(), clicks)
        if clicks:
            S, N = counts(policy)
            assert np.array_equal(S, spec.S)
            assert np.array_equal(N, spec.N)
            assert pairs(policy) == spec.G
            assert [list(block) for block in policy.blocks] == spec.partition()
    assert len(policy.blocks) >= 3


def test_within_a_block_every_order_is_equally_likely() -> None:
    policy, rng = TopRank(3), np.random.default_rng(0)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(policy.rank(3, rng=rng).items.tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert max(abs(count - 1000) for count in seen.values()) < 5 * math.sqrt(1000 * 5 / 6)


def assert_valid(policy: TopRank, delta: float) -> None:
    """Blocks are disjoint and hold everything; they follow from the relation, which has no cycle."""
    assert sorted(item for block in policy.blocks for item in block) == list(range(policy.n_items))
    spec = Specification(policy.n_items, delta)
    spec.G = pairs(policy)
    assert [list(block) for block in policy.blocks] == spec.partition()
    for worse, better in spec.G:
        assert policy.level[better] < policy.level[worse]


@given(
    n=st.integers(2, 7),
    seed=st.integers(0, 2**32),
    delta=st.sampled_from([0.01, 0.3, 1.0]),
    many=st.booleans(),
)
def test_whatever_is_clicked_partitions_are_valid_and_follow_from_the_counts(
    n: int, seed: int, delta: float, many: bool
) -> None:
    rng = np.random.default_rng(seed)
    policy, spec = TopRank(n, delta=delta), Specification(n, delta)
    taste = rng.random(n) ** 3
    for step in range(150):
        if step % 50 == 0:
            taste = rng.permutation(taste)  # so that it was wrong before
        ranking = policy.rank(int(rng.integers(1, n + 1)), rng=rng)
        clicks = np.flatnonzero(rng.random(len(ranking)) < taste[ranking.items])
        policy.update(ranking, clicks if many else clicks[:1])
        assert_valid(policy, delta)
    spec.S, spec.N = counts(policy)
    assert pairs(policy) == {(j, i) for i in range(n) for j in range(n) if spec.decided(i, j)}


@given(n=st.integers(2, 6), seed=st.integers(0, 2**32))
def test_late_feedback_never_makes_a_cycle_and_every_pair_was_decided_by_counts(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy, spec = TopRank(n, delta=1.0), Specification(n, 1.0)
    waiting: list[Ranking] = []
    taste = rng.random(n)
    for step in range(200):
        if step % 40 == 0:
            taste = rng.permutation(taste)
        exclude = [int(rng.integers(n))] if rng.random() < 0.3 else []
        waiting.append(policy.rank(int(rng.integers(1, n)), rng=rng, exclude=exclude))
        if rng.random() < 0.6 and step > 60:
            ranking = waiting.pop(int(rng.integers(len(waiting))))
            before = pairs(policy)
            policy.update(ranking, np.flatnonzero(rng.random(len(ranking)) < taste[ranking.items]))
            assert_valid(policy, 1.0)
            spec.S, spec.N = counts(policy)
            assert before <= pairs(policy)
            assert all(spec.decided(i, j) for j, i in pairs(policy) - before)


def test_late_feedback_is_counted_for_the_blocks_of_its_list() -> None:
    policy = TopRank(3, steps=100)
    early = policy.rank(3, rng=np.random.default_rng(0))
    while len(policy.blocks) == 1:
        ranking = policy.rank(3, rng=np.random.default_rng(0))
        policy.update(ranking, ranking.items.tolist().index(1))
    assert policy.blocks == ((1,), (0, 2))
    before = policy.wins.copy()
    policy.update(early, early.items.tolist().index(0))  # 0 was in one block with 1 and 2 then
    assert (policy.wins - before).tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    policy.update(policy.rank(3), 0)  # 1 is alone in its block now
    assert (policy.wins - before).sum() == 2


def test_what_could_not_be_shown_is_compared_with_nothing_and_what_was_not_seen_is() -> None:
    policy = TopRank(4)
    ranking = policy.rank(2, exclude=[3], rng=np.random.default_rng(0))
    policy.update(ranking, 0)
    clicked = int(ranking.items[0])
    assert policy.wins[clicked].tolist() == [int(j not in (clicked, 3)) for j in range(4)]
    assert policy.wins.sum() == 2


def test_refuses_what_it_cannot_learn_from() -> None:
    policy = TopRank(4)
    before = copy.deepcopy(policy.state())
    for ranking in (Ranking([0, 1]), TopRank(5).rank(2), Ranking([0, 9], note=np.zeros(4))):
        with pytest.raises(FeedbackError, match=r"note|blocks"):
            policy.update(ranking, [0, 1])
    with pytest.raises(FeedbackError, match="blocks"):
        policy.update(Ranking([0, 3], note=policy.rank(2, exclude=[3]).note), 1)
    assert all(np.array_equal(before[name], array) for name, array in policy.state().items())


@pytest.mark.parametrize("settings", [{"steps": 0}, {"delta": 0}, {"delta": 1.5}, {"delta": "small"}])
def test_refuses_settings_without_meaning(settings: dict[str, Any]) -> None:
    with pytest.raises(ProblemError, match=r"steps|delta"):
        TopRank(4, **settings)


def test_is_made_by_name_for_a_number_of_steps() -> None:
    catalog = Catalog(coverage=np.full((5, 2), 0.5))
    policy = make_policy("TopRank", catalog, k=2, steps=400)
    assert isinstance(policy, TopRank)
    assert (policy.n_items, policy.delta) == (5, 1 / 400)
    assert repr(policy) == "TopRank(5 items in 1 blocks, delta=0.0025)"


@pytest.mark.parametrize("user", users([0.1, 0.2, 0.8, 0.15, 0.6, 0.7], 3)[::2], ids=lambda user: user.model)
def test_regret_is_sublinear(user: PlainUser) -> None:
    assert slope([simulate(TopRank(6, steps=20_000), user, 20_000, 3, seed) for seed in range(4)]) < 0.8


def test_the_same_seed_gives_the_same_run_and_a_copy_goes_on_the_same() -> None:
    user = users([0.1, 0.2, 0.8, 0.15, 0.6], 3)[2]
    one, two = TopRank(5, steps=1000), TopRank(5, steps=1000)
    assert simulate(one, user, 1000, 3, 7).regret.tolist() == simulate(two, user, 1000, 3, 7).regret.tolist()
    other = copy.deepcopy(one)
    assert simulate(one, user, 500, 3, 8).regret.tolist() == simulate(other, user, 500, 3, 8).regret.tolist()
    assert np.array_equal(one.wins, other.wins)
